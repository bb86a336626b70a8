package simulate

import (
	"math/rand/v2"
	"slices"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

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
	r := newRun(&Config{}, &Candidate{Limits: []store.Limit{p.Limit}})
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
		if p.first == 0 {
			p.first = at
		}
		p.last = at
	}
}

func (p *provider) served() *Served {
	if l := p.run.charges[0].Limit; p.result.Admitted > 0 {
		period := l.Period.Microseconds()
		most := float64(l.Rate) * float64(p.last-p.first+period) / float64(period)
		p.result.Share = float64(p.result.Admitted) / most
	}
	return &p.result
}
