package fallback

import (
	"log/slog"
	"strconv"
	"time"

	"github.com/goweir/weir/store"
)

// Policy says who decides while the primary store is away.
type Policy uint8

const (
	// Local decides on this process's share of the limits.
	Local Policy = iota
	// Open allows every call.
	Open
	// Closed fails every call with [ErrAway].
	Closed
	// LocalThenClosed is Local for Config.Grace, then Closed.
	LocalThenClosed

	policies
)

// Config is what New makes a Store from. Only Primary is required.
type Config struct {
	// Primary decides as long as it can. Required.
	Primary store.Store
	// Local decides while the primary is away. Nil: a new localstore. A store
	// of your own is kept warm only if it is a [Seeder]. It has to book ahead, or
	// calls that cost more than this process's share exceed that.
	Local store.Store

	// Budget is the longest a call is held up, whatever the client's own timeouts
	// are. It waits for the primary for nine tenths of it, and a call that has to
	// settle first, or to book in several steps, does all that in the one budget:
	// choose at least five round trips. 0: 50 ms.
	Budget time.Duration
	// Failures is how many calls in a row must fail for the breaker to open. Of the
	// first calls of a process those that wait at the same time for connections are
	// one, twice. 0: 3.
	Failures int
	// Probe is within what time of its return the primary is used again, if there
	// are calls: one of them sets off a probe each time the breaker has been open
	// for four fifths of it. That is also the least time from one outage that
	// OnChange is told of to the next. It should be at least twenty times Budget,
	// so that the rest holds a probe that came too early and one that finds the
	// primary. A probe has to connect and be answered in the Budget too: where it
	// is not, the next one comes as much later. 0: 1 s.
	Probe time.Duration

	// Replicas is the number of processes that share the limits: the local
	// share is a limit divided by it. 0: 1, that is the whole limit. It can't
	// be combined with ReplicasFunc.
	Replicas int
	// ReplicasFunc returns the number of processes, where that changes. It is
	// called for every call, from many goroutines, so it must be quick and must
	// not panic; below 1 counts as 1. Nil: Replicas.
	ReplicasFunc func() int

	// Policy says who decides while the primary is away. The zero value is
	// Local.
	Policy Policy
	// Policies are the policies of limiters that have another one, by the
	// limiter's name. Of a call that several levels decide the strictest counts:
	// Closed, LocalThenClosed, Local, Open. It must not be changed afterwards.
	Policies map[string]Policy
	// Grace is how long LocalThenClosed decides locally. It must be set with
	// that policy, and 0 where neither Policy nor one of Policies is that.
	Grace time.Duration

	// OnChange is told when the primary goes away and when it is back, once
	// each and in order, on the goroutine of a call or a probe: it must be
	// quick. It may use the store. Nil: nobody is.
	OnChange func(Change)
	// Logger is told the same. Nil: slog.Default().
	Logger *slog.Logger
}

func (c *Config) check() error {
	invalid := func(field, want, got string) error {
		return &store.ConfigError{Field: "fallback.Config." + field, Want: want, Got: got}
	}
	switch {
	case c.Primary == nil:
		return invalid("Primary", "a store", "nil")
	case c.Budget < 0:
		return invalid("Budget", "0 or more", c.Budget.String())
	case c.Failures < 0:
		return invalid("Failures", "0 or more", strconv.Itoa(c.Failures))
	case c.Probe < 0:
		return invalid("Probe", "0 or more", c.Probe.String())
	case c.Replicas < 0:
		return invalid("Replicas", "0 or more", strconv.Itoa(c.Replicas))
	case c.Replicas > 0 && c.ReplicasFunc != nil:
		return invalid("ReplicasFunc", "nil when Replicas is set", "a function")
	case c.Policy >= policies:
		return invalid("Policy", "one of the four policies", strconv.Itoa(int(c.Policy)))
	}
	grace := c.Policy == LocalThenClosed
	for name, p := range c.Policies {
		if p >= policies {
			return invalid("Policies["+strconv.Quote(name)+"]", "one of the four policies", strconv.Itoa(int(p)))
		}
		grace = grace || p == LocalThenClosed
	}
	if grace != (c.Grace > 0) {
		return invalid("Grace", "more than 0 with LocalThenClosed, else 0", c.Grace.String())
	}
	return nil
}

// open is how long the breaker stays open before a probe. The rest of the probe
// interval is for the probe that was under way when the primary came back, and
// for the next one.
func (c *Config) open() time.Duration { return max(c.Probe/5*4, 1) }

// defaults fills in what was left zero.
func (c *Config) defaults() {
	if c.Budget == 0 {
		c.Budget = 50 * time.Millisecond
	}
	if c.Failures == 0 {
		c.Failures = 3
	}
	if c.Probe == 0 {
		c.Probe = time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.ReplicasFunc == nil {
		n := max(c.Replicas, 1)
		c.ReplicasFunc = func() int { return n }
	}
}
