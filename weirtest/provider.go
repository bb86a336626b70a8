package weirtest

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
)

// Provider is an http.Handler that enforces limits by its own clock, which is
// time.Now: the fake one inside a bubble of testing/synctest. It is safe for
// concurrent use.
//
// A request is counted at the instant at which the provider decides, and its
// headers speak of that instant, as does the Date header. A refused request is
// charged nothing.
type Provider struct {
	cfg   ProviderConfig
	start time.Time
	epoch int64 // start in ns since the Unix epoch
	open  atomic.Int64

	mu       sync.Mutex
	limits   []weir.Limit
	accounts map[string]*account
	sweepAt  int // so many accounts are looked through for lapsed ones
	command  command
	counts   Counts
	arrivals ring
}

// account is what is known of a key.
type account struct {
	meters   []meter // one for each limit
	inFlight int
}

// command is what the provider was told to refuse.
type command struct {
	requests   int           // the next so many
	retryAfter time.Duration // what they are told
	until      time.Time     // and all before this instant
}

// NewProvider returns a Provider, or a *store.ConfigError that names the wrong
// field.
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

// Limits returns a copy of the limits that hold now.
func (p *Provider) Limits() []weir.Limit {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.limits)
}

// SetLimits puts others in the place of the limits, in the same order: as many,
// counted by the same algorithms. They hold at once, for every key and for the
// window that is running: what was used in it stays used, and units that were
// free again by the old limit stay free. It returns a *store.ConfigError, and
// changes nothing, when they do not.
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

// Refuse makes the provider refuse the next n requests of any key, telling them
// to come back after retryAfter; 0: it doesn't say when. It takes the place of
// what an earlier Refuse left over, so n = 0 lifts it.
func (p *Provider) Refuse(n int, retryAfter time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.command.requests, p.command.retryAfter = max(0, n), max(0, retryAfter)
}

// RefuseFor makes the provider refuse every request from now on for d, telling
// them how much of it is left. It takes the place of an earlier RefuseFor, so
// d = 0 lifts it.
func (p *Provider) RefuseFor(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.command.until = time.Now().Add(d)
}

// Arrivals returns a copy of the requests that were counted, or of the last
// MaxArrivals of them.
func (p *Provider) Arrivals() Arrivals {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.arrivals.list()
}

// MaxIn returns the largest number of kept arrivals, admitted or not, in any
// half-open interval of that length.
func (p *Provider) MaxIn(window time.Duration) int { return p.Arrivals().MaxIn(window) }

// Counts returns what was counted so far.
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

// account returns what is known of a key, and forgets keys that are as if never
// used before there are twice as many as were of use the last time. The
// provider is locked.
func (p *Provider) account(at int64, key string) *account {
	if a := p.accounts[key]; a != nil {
		return a
	}
	if len(p.accounts) >= p.sweepAt {
		for k, a := range p.accounts {
			if a.lapsed(at) {
				delete(p.accounts, k)
			}
		}
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
	for _, m := range a.meters {
		if m.reset(at) > 0 {
			return false
		}
	}
	return a.inFlight == 0
}

// key returns who is counted.
func (p *Provider) key(r *http.Request) string {
	if p.cfg.Key == nil {
		return ""
	}
	return p.cfg.Key(r)
}
