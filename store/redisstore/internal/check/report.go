package check

import (
	"context"
	"slices"

	"github.com/goweir/weir/internal/redisclient"
	"github.com/redis/go-redis/v9"
)

// Store is a store as a check needs it.
type Store struct {
	Client          redis.UniversalClient
	Owned           bool  // the client was made from a URL
	Ended           error // of all calls; nil: the store is open
	PassTime        bool  // decisions need no TIME
	Prefix, Channel string
	RoundTrips      int                                                // the connections that shared round trips use
	Take            func(ctx context.Context, scope, key string) error // takes a decision
	ErrClosed       error                                              // of Take, like ErrTime
	ErrTime         error
}

// The levels of findings.
const (
	Fault   = "fault"
	Warning = "warning"
	Unknown = "unknown"
)

// Finding is one result, see redisstore.Finding.
type Finding struct {
	Name, Level, Server, What, Remedy string
	Err                               error
}

// report collects the findings of one check.
type report struct {
	Store
	id       string // of its keys
	findings []Finding
}

// target is a server that decides, and a key that it has.
type target struct {
	redisclient.Server
	key string
}

// scope starts the keys of a check, as the name of a limiter does.
const scope = "weir-check"

// ring reports whether the client is a Ring.
func (r *report) ring() bool {
	_, ring := r.Client.(*redis.Ring)
	return ring
}

// add adds a finding, unless the server has one of that name already.
func (r *report) add(f Finding) {
	same := func(g Finding) bool { return g.Name == f.Name && g.Server == f.Server }
	if !slices.ContainsFunc(r.findings, same) {
		r.findings = append(r.findings, f)
	}
}
