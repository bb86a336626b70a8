package simulate

import (
	"cmp"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// run is a candidate under way.
type run struct {
	cfg      *Config
	result   Report
	callers  map[string]*caller
	room     int // of callers, until lapsed ones are dropped
	waits    histogram
	timeline Timeline
	provider *provider

	charges  []store.Charge
	group    []exact.Group
	outcomes []exact.Outcome
	verdict  exact.Verdict
}

type caller struct {
	key    exact.Key
	recent recent
}

func newRun(cfg *Config, c *Candidate) *run {
	r := &run{cfg: cfg, callers: map[string]*caller{}, room: 1024}
	r.result.Name, r.result.Window = c.Name, cfg.Window
	if len(c.Limits) > 0 {
		r.result.Window = c.Limits[0].Period
	}
	for _, l := range c.Limits {
		r.charges = append(r.charges, store.Charge{Limit: l, Cost: 1})
	}
	r.group = []exact.Group{{Charges: r.charges}}
	r.outcomes = make([]exact.Outcome, len(r.charges))
	r.timeline = Timeline{Start: cfg.Start, Step: cfg.Step}
	if cfg.Provider != nil {
		r.provider = newProvider(cfg.Provider, cfg.Seed)
	}
	return r
}

func (r *run) arrive(a Arrival) error {
	r.timeline.Start = cmp.Or(r.timeline.Start, a.At)
	c, err := r.caller(a.Key, a.At)
	if err != nil {
		return err
	}
	r.result.Offered++
	r.timeline.at(a.At).Offered++
	slot, ok := r.decide(&c.key, a.At)
	if !ok {
		r.result.Refused++
		r.timeline.at(a.At).Refused++
		return nil
	}
	r.result.Admitted++
	r.timeline.at(slot).Admitted++
	r.waits.add(slot - a.At)
	if n := c.recent.add(slot, r.result.Window.Microseconds()); n > r.result.Worst {
		r.result.Worst, r.result.WorstEnd = n, slot
	}
	if r.provider != nil {
		r.provider.send(slot)
		r.provider.receive(a.At, &r.timeline)
	}
	return nil
}

// decide returns the instant at which a call leaves, or false if it is refused.
func (r *run) decide(k *exact.Key, now int64) (slot int64, ok bool) {
	if len(r.charges) == 0 {
		return now, true
	}
	req := store.Request{Charges: r.charges, MaxWait: r.cfg.MaxWait}
	r.group[0].Key = k
	exact.Take(&req, r.group, r.outcomes, &r.verdict, now, 0, nil)
	return r.verdict.Slot, r.verdict.Allowed
}

// caller returns a key, as if it were new when it has lapsed.
func (r *run) caller(key string, now int64) (*caller, error) {
	c := r.callers[key]
	switch {
	case c == nil:
		if len(r.callers) >= r.room {
			if r.drop(now); len(r.callers) > maxKeys {
				return nil, &store.ConfigError{Field: "key", Want: "at most " + strconv.Itoa(maxKeys) + " in use at once", Got: "more"}
			}
		}
		c = &caller{}
		r.callers[key] = c
	case c.key.Born != 0 && c.key.Lapse() <= now:
		c.key = exact.Key{}
	}
	return c, nil
}

// drop forgets keys without a call in their window and with unused limits.
func (r *run) drop(now int64) {
	maps.DeleteFunc(r.callers, func(_ string, c *caller) bool {
		return c.key.Lapse() <= now && c.recent.newest()+r.result.Window.Microseconds() <= now
	})
	r.room = max(2*len(r.callers), 1024)
}

func (r *run) report() Report {
	if r.provider != nil {
		r.provider.receive(math.MaxInt64, &r.timeline)
		r.result.Served = r.provider.served()
	}
	r.result.Timeline = r.timeline
	r.result.P50, r.result.P90 = r.waits.percentile(50), r.waits.percentile(90)
	r.result.Max = time.Duration(r.waits.max) * time.Microsecond
	return r.result
}

// provider counts arriving calls, and admits or refuses each at once.
type provider struct {
	run         *run // with one key
	key         exact.Key
	travel      int64
	random      *rand.Rand
	way         []int64 // arrivals of calls on their way, the earliest first
	result      Served
	first, last int64 // admitted
}

func newProvider(p *Provider, seed uint64) *provider {
	r := newRun(&Config{}, &Candidate{Limits: p.Limits})
	return &provider{run: r, travel: p.Travel.Microseconds(), random: rand.New(rand.NewPCG(seed, 2))}
}

// send puts a call on its way. It overtakes only calls of about the same time.
func (p *provider) send(at int64) {
	at += p.random.Int64N(p.travel + 1)
	i, _ := slices.BinarySearch(p.way, at)
	p.way = slices.Insert(p.way, i, at)
}

// receive counts all calls that arrive until an instant.
func (p *provider) receive(until int64, t *Timeline) {
	for len(p.way) > 0 && p.way[0] <= until {
		at := p.way[0]
		p.way = p.way[1:]
		if _, ok := p.run.decide(&p.key, at); !ok {
			p.result.Refused++
			t.at(at).Rejected++
			continue
		}
		p.result.Admitted++
		t.at(at).Served++
		p.first, p.last = cmp.Or(p.first, at), at
	}
}

func (p *provider) served() *Served {
	for _, c := range p.run.charges {
		period := c.Limit.Period.Microseconds()
		most := float64(c.Limit.Rate) * float64(p.last-p.first+period) / float64(period)
		p.result.Share = max(p.result.Share, float64(p.result.Admitted)/most)
	}
	return &p.result
}
