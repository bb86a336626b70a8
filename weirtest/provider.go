package weirtest

import (
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
)

// Provider is an http.Handler that enforces limits by the clock of time.Now: the
// fake one in a bubble of testing/synctest. It is safe for concurrent use.
//
// A request is counted at the instant of the decision. All its headers are about
// that instant, and so is Date. A refused request is charged nothing.
type Provider struct {
	cfg   ProviderConfig
	start time.Time
	epoch int64 // start in ns since the Unix epoch
	open  atomic.Int64

	mu       sync.Mutex
	limits   []weir.Limit
	accounts map[string]*account
	sweepAt  int // the number of accounts at which lapsed ones are removed
	command  command
	counts   Counts
	arrivals ring
}

type account struct {
	meters   []meter // one for each limit
	inFlight int
}

// command holds the refusals on command.
type command struct {
	requests   int           // the number of next requests to refuse
	retryAfter time.Duration // their Retry-After
	until      time.Time     // all requests before this instant are refused
}

// NewProvider returns a Provider, or a *store.ConfigError for the wrong field.
func NewProvider(cfg ProviderConfig) (*Provider, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.defaults()
	now := time.Now()
	return &Provider{
		cfg:      cfg,
		start:    now,
		epoch:    max(now.UnixNano(), 0),
		limits:   slices.Clone(cfg.Limits),
		accounts: make(map[string]*account),
		sweepAt:  64,
		arrivals: ring{max: cfg.MaxArrivals},
	}, nil
}

// Limits returns a copy of the present limits.
func (p *Provider) Limits() []weir.Limit {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.limits)
}

// SetLimits replaces the limits by as many others, with the same algorithms in the
// same order. They hold at once, for every key and in running windows. Used units
// stay used, and units that were free again by the old limit stay free. Limits that
// do not match are a *store.ConfigError, and change nothing.
func (p *Provider) SetLimits(limits ...weir.Limit) error {
	if err := checkLimits("limits", limits); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(limits) != len(p.limits) {
		return &store.ConfigError{Field: "limits", Want: "as many as before, " + strconv.Itoa(len(p.limits)), Got: strconv.Itoa(len(limits))}
	}
	for i := range limits {
		if was := p.limits[i].Algorithm; limits[i].Algorithm != was {
			return &store.ConfigError{Field: "limits[" + strconv.Itoa(i) + "].Algorithm", Want: "that of before, " + was.String(), Got: limits[i].Algorithm.String()}
		}
	}
	at := p.instant(time.Now())
	p.limits = slices.Clone(limits)
	for _, a := range p.accounts {
		for i, m := range a.meters {
			m.change(at, limits[i])
		}
	}
	return nil
}

// Refuse makes the provider refuse the next n requests of any key, with that
// Retry-After; 0: without one. It replaces an earlier Refuse, so n = 0 lifts it.
func (p *Provider) Refuse(n int, retryAfter time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.command.requests, p.command.retryAfter = max(0, n), max(0, retryAfter)
}

// RefuseFor makes the provider refuse every request for d from now on. Retry-After
// is the time left. It replaces an earlier RefuseFor, so d = 0 lifts it.
func (p *Provider) RefuseFor(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.command.until = time.Now().Add(d)
}

// Arrivals returns a copy of the last MaxArrivals counted requests.
func (p *Provider) Arrivals() Arrivals {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.arrivals.list()
}

// MaxIn returns the largest number of kept arrivals, admitted or not, in any
// half-open interval of that length.
func (p *Provider) MaxIn(window time.Duration) int { return p.Arrivals().MaxIn(window) }

// Counts returns the counts so far.
func (p *Provider) Counts() Counts {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.counts
	c.Keys = len(p.accounts)
	c.OpenBodies = int(p.open.Load())
	c.Forgotten = c.Arrived() - int64(len(p.arrivals.all))
	return c
}

// instant returns the time in ns since the Unix epoch, which never goes back.
func (p *Provider) instant(now time.Time) int64 { return p.epoch + int64(now.Sub(p.start)) }

// account returns the account of a key. It removes lapsed accounts each time the
// number of accounts has doubled. The provider is locked.
func (p *Provider) account(at int64, key string) *account {
	if a := p.accounts[key]; a != nil {
		return a
	}
	if len(p.accounts) >= p.sweepAt {
		maps.DeleteFunc(p.accounts, func(_ string, a *account) bool { return a.lapsed(at) })
		p.sweepAt = max(64, 2*len(p.accounts))
	}
	a := &account{meters: make([]meter, len(p.limits))}
	for i, l := range p.limits {
		a.meters[i] = newMeter(at, l)
	}
	p.accounts[key] = a
	return a
}

func (a *account) lapsed(at int64) bool {
	used := func(m meter) bool { return m.reset(at) > 0 }
	return a.inFlight == 0 && !slices.ContainsFunc(a.meters, used)
}
