package simulate

import (
	"container/heap"
	"math/rand/v2"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// provider counts arriving calls, and admits or refuses each at once.
type provider struct {
	run         *run // with one key
	key         exact.Key
	travel      int64
	random      *rand.Rand
	way         heap64 // calls on their way: their arrivals
	result      Served
	first, last int64 // admitted
}

func newProvider(p *Provider, seed uint64) *provider {
	r := newRun(&Config{}, &Candidate{Limits: []store.Limit{p.Limit}})
	return &provider{run: r, travel: p.Travel.Microseconds(), random: rand.New(rand.NewPCG(seed, 2))}
}

// send puts a call on its way.
func (p *provider) send(at int64) { heap.Push(&p.way, at+p.random.Int64N(p.travel+1)) }

// receive counts all calls that arrive until an instant.
func (p *provider) receive(until int64, t *Timeline) {
	for len(p.way) > 0 && p.way[0] <= until {
		at := heap.Pop(&p.way).(int64)
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

// heap64 is a heap of instants, the earliest first.
type heap64 []int64

func (h heap64) Len() int           { return len(h) }
func (h heap64) Less(i, j int) bool { return h[i] < h[j] }
func (h heap64) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *heap64) Push(x any)        { *h = append(*h, x.(int64)) }
func (h *heap64) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}
