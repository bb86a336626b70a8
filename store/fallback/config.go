package fallback

import (
	"log/slog"
	"strconv"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
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

var policyNames = [policies]string{"local", "open", "closed", "local_then_closed"}

// String returns the policy in lower case with underscores, fit for a metric's label.
func (p Policy) String() string {
	if p >= policies {
		return "unknown"
	}
	return policyNames[p]
}

// Config is what New makes a Store from. Only Primary is required.
type Config struct {
	// Primary decides as long as it can. Required.
	Primary store.Store
	// Local decides while the primary is away. Nil: a new localstore. A store
	// of your own is kept warm only if it is a [Seeder]. It has to book ahead, or
	// calls that cost more than this process's share exceed that.
	Local store.Store

	// Budget is the longest that a call which wants its answer now is held up, whatever the
	// client's own timeouts are. It waits for the primary for nine tenths of it. A call
	// that may wait asks for a tenth of its MaxWait, if that is longer, up to 1 s. Until
	// the primary has answered for the first time, calls wait up to 1 s. 0: 50 ms.
	Budget time.Duration
	// Probe is the longest time between two probes while the primary is away. The first
	// comes after up to 100 ms, and each one up to twice as late as the one before. So
	// the primary is used again within this time of its return. Probes end after a
	// minute without calls, until the next call. 0: 2 s.
	Probe time.Duration
	// MaxKeys is the maximum number of keys in memory: about 110 bytes each. Losses of
	// other keys are not restored, and their local units are not charged. 0: 1 048 576.
	MaxKeys int

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
	// quick. It may use the store. weir.ObserveFallback makes it an event for a
	// weir.Hook. Nil: it is called for no change.
	OnChange func(Change)
	// Logger logs the same, and the first decision without the primary. Nil:
	// slog.Default().
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
	case c.MaxKeys < 0:
		return invalid("MaxKeys", "0 or more", strconv.Itoa(c.MaxKeys))
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

// defaults fills in what was left zero.
func (c *Config) defaults() {
	if c.Budget == 0 {
		c.Budget = 50 * time.Millisecond
	}
	if c.Probe == 0 {
		c.Probe = 2 * time.Second
	}
	if c.MaxKeys == 0 {
		c.MaxKeys = localstore.DefaultMaxKeys
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.ReplicasFunc == nil {
		n := max(c.Replicas, 1)
		c.ReplicasFunc = func() int { return n }
	}
}
