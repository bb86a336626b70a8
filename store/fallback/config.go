package fallback

import (
	"cmp"
	"log/slog"
	"strconv"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// Policy says how calls are decided while the primary store is away.
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

var strictness = [policies]int{Open: 0, Local: 1, LocalThenClosed: 2, Closed: 3}

// Change says that the primary store went away, as the breaker has opened, or came back.
type Change = store.Change

// Config has the parts of a Store. Only Primary is required.
type Config struct {
	// Primary decides while it answers. Required.
	Primary store.Store

	// Budget is the maximum delay by this store of a call that wants its answer now,
	// whatever the client's own timeouts are. The call waits for the primary for nine
	// tenths of it. A call with a MaxWait waits for a tenth of that, if that is longer, up
	// to 1 s. Before the primary's first answer, calls wait up to 1 s. 0: 50 ms.
	Budget time.Duration
	// Probe is the maximum time between two probes while the primary is away. The first
	// comes after up to 100 ms, and each interval is up to twice the one before. While
	// connections are refused, an eighth of Probe is the maximum. So the primary decides
	// again at most this long after its return. Probes end after a minute without calls,
	// until the next call. 0: 2 s.
	Probe time.Duration
	// MaxKeys is the maximum number of keys in memory, at about 110 bytes each. A loss of
	// any other key is not restored, and its local units are not charged. In an outage the
	// local store holds as many, and at least 1 048 576. 0: 1 048 576.
	MaxKeys int

	// Replicas is the number of processes that share the limits. Each one's local share
	// is a limit divided by it. It can't be combined with ReplicasFunc. 0: 1, that is the
	// whole limit.
	Replicas int
	// ReplicasFunc returns a number of processes that changes. Every call calls it, from
	// many goroutines: it must be quick and must not panic. Below 1 counts as 1. Nil:
	// Replicas.
	ReplicasFunc func() int

	// Policy applies while the primary is away. The zero value is Local.
	Policy Policy
	// Policies overrides Policy for limiters, by their names. A call at several levels
	// follows the strictest: Closed, then LocalThenClosed, Local, Open. A misspelt name has
	// no effect. The map must not change after New.
	Policies map[string]Policy
	// Grace is how long LocalThenClosed decides locally. It must be above 0 if Policy or
	// one of Policies is LocalThenClosed, and 0 otherwise.
	Grace time.Duration

	// OnChange gets each change once and in order: the primary goes away, or comes back.
	// It runs on the goroutine of a call or a probe, so it must be quick. It may use the
	// store. weir.ObserveFallback turns changes into events of a weir.Hook. Nil: no call.
	OnChange func(Change)
	// Logger logs each change, losses, and the first decision without the primary. Nil:
	// slog.Default().
	Logger *slog.Logger
}

func (c *Config) check() error {
	if err := store.CheckStore("fallback.Config.Primary", c.Primary); err != nil {
		return err
	}
	policy, of, grace := c.Policy, "Policy", c.Policy == LocalThenClosed
	for name, p := range c.Policies {
		if p >= policies {
			policy, of = p, "Policies["+strconv.Quote(name)+"]"
		}
		grace = grace || p == LocalThenClosed
	}
	for _, f := range []struct {
		wrong            bool
		field, want, got string
	}{
		{c.Budget < 0, "Budget", "0 or more", c.Budget.String()},
		{c.MaxKeys < 0, "MaxKeys", "0 or more", strconv.Itoa(c.MaxKeys)},
		{c.Probe < 0, "Probe", "0 or more", c.Probe.String()},
		{c.Replicas < 0, "Replicas", "0 or more", strconv.Itoa(c.Replicas)},
		{c.Replicas > 0 && c.ReplicasFunc != nil, "ReplicasFunc", "nil when Replicas is set", "a function"},
		{policy >= policies, of, "one of the four policies", strconv.Itoa(int(policy))},
		{grace != (c.Grace > 0), "Grace", "more than 0 with LocalThenClosed, else 0", c.Grace.String()},
	} {
		if f.wrong {
			return &store.ConfigError{Field: "fallback.Config." + f.field, Want: f.want, Got: f.got}
		}
	}
	return nil
}

// defaults replaces zero values.
func (c *Config) defaults() {
	c.Budget = cmp.Or(c.Budget, 50*time.Millisecond)
	c.Probe = cmp.Or(c.Probe, 2*time.Second)
	c.MaxKeys = cmp.Or(c.MaxKeys, localstore.DefaultMaxKeys)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	if c.ReplicasFunc == nil {
		n := max(c.Replicas, 1)
		c.ReplicasFunc = func() int { return n }
	}
}

// patience returns how long a call waits for the primary. The last tenth of the budget is
// for the local decision and for late timers.
func (c *Config) patience() time.Duration { return c.Budget - c.Budget/10 }

// replicas returns the number of processes that share the limits.
func (c *Config) replicas() int64 { return int64(max(c.ReplicasFunc(), 1)) }

// policy returns the strictest policy of the charges' limiters.
func (c *Config) policy(charges []store.Charge) Policy {
	strictest := Open
	for i := range charges {
		p, ok := c.Policies[charges[i].Scope]
		if !ok {
			p = c.Policy
		}
		if strictness[p] > strictness[strictest] {
			strictest = p
		}
	}
	return strictest
}
