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
	Fault   Level = "fault"   // decisions fail
	Warning Level = "warning" // decisions work, but exceed limits, take long or lack an ability
	Unknown Level = "unknown" // the server does not answer this question
)

// Finding is one result of [Store.Check].
type Finding struct {
	Name         string // the kind of finding, as "eviction": docs/redis.md lists all
	Level        Level  // how much the finding matters
	Server       string // the address of the server; empty: the finding is about the client
	What, Remedy string // the fault and its repair, for people
	Err          error  // of the client or the server; nil: none
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
// Log the findings rather than exit: behind package fallback a service works without Redis. A
// call takes some milliseconds, and waits for an absent server as long as ctx and the
// client's timeouts allow.
func (s *Store) Check(ctx context.Context) (findings []Finding) {
	take := func(ctx context.Context, scope, key string) error {
		charge := store.Charge{Scope: scope, Key: key, Limit: store.Per(1000, time.Second), Cost: 1}
		_, err := s.takeAlone(ctx, &store.Request{Charges: []store.Charge{charge}, Cancelable: true})
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
