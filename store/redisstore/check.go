package redisstore

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/check"
	"github.com/goweir/weir/store/redisstore/internal/combine"
)

// Level says how much a [Finding] matters.
type Level string

const (
	// Fault means that decisions fail.
	Fault Level = "fault"
	// Warning means that decisions work, with a defect: limits may be exceeded, calls may
	// take long, or an ability is missing.
	Warning Level = "warning"
	// Unknown means that the server does not answer this question.
	Unknown Level = "unknown"
)

// Finding is one result of [Store.Check].
type Finding struct {
	// Name is the kind of finding, as "eviction". docs/redis.md lists all.
	Name  string
	Level Level // how much the finding matters
	// Server is the address of the server. Empty: the finding is about the client.
	Server string
	// What names the fault, and Remedy the repair, for people.
	What, Remedy string
	// Err is the error of the client or the server; nil: none.
	Err error
}

// String returns the finding in one line.
func (f Finding) String() string {
	server, cause := "", ""
	if f.Server != "" {
		server = " at " + f.Server
	}
	if f.Err != nil {
		cause = " (" + strings.ReplaceAll(f.Err.Error(), "\n", "; ") + ")"
	}
	return string(f.Level) + ": " + f.Name + server + ": " + f.What + cause + ". Remedy: " + f.Remedy
}

// Check looks for faults of the client and of each server that decides: the server, each
// master of a cluster, each shard of a Ring. It takes a decision and tries each command
// of docs/redis.md on keys of its own under the Store's prefix, deletes them, and reads
// INFO. It returns the findings, client first. None means that all is well.
//
// Check is for the start of a program, for tests of a deployment, and for people. Log its
// findings rather than exit: behind package fallback a service works without Redis. A call
// takes some milliseconds. It waits for an absent server as long as ctx and the client's
// timeouts allow.
func (s *Store) Check(ctx context.Context) (findings []Finding) {
	take := func(ctx context.Context, scope, key string) error {
		charge := store.Charge{Scope: scope, Key: key, Limit: store.Per(1000, time.Second), Cost: 1}
		_, err := s.Take(ctx, store.Request{Charges: []store.Charge{charge}, Cancelable: true}) // in a script call of its own
		return err
	}
	for _, f := range check.Run(ctx, check.Store{
		Client: s.client, Owned: s.owned, Ended: s.ended(), PassTime: s.passTime, Prefix: s.prefix, Channel: s.watches.Channel,
		RoundTrips: cmp.Or(s.queues.config.RoundTrips, combine.DefaultRoundTrips), Take: take, ErrClosed: ErrClosed, ErrTime: ErrTime,
	}) {
		findings = append(findings, Finding{f.Name, Level(f.Level), f.Server, f.What, f.Remedy, f.Err})
	}
	return findings
}
