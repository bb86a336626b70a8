package localstore

import "github.com/goweir/weir"

// Seed sets the state of the limits of one key, as another store last answered:
// what is remaining of each, and after how long it is as if never used. A
// fallback store keeps this one warm with it. It does nothing for a new key
// when the store is full.
func (s *Store) Seed(charges []weir.Charge, states []weir.ChargeState) {
	k := id{charges[0].Scope, charges[0].Key}
	sh := s.shard(k)
	sh.Lock()
	defer sh.Unlock()
	now := s.now()
	e, err := sh.open(k, now, s.most)
	if err != nil {
		return
	}
	e.match(charges, places{n: len(charges)}, now)
	for i := range e.states {
		st := &e.states[i]
		used := max(st.limit.Max()-states[i].Remaining, 0)
		st.seed(used, states[i].ResetAfter.Microseconds(), now)
	}
	e.last = 0
	e.change()
	e.settle()
}

// seed makes used units count until reset µs from now.
func (s *state) seed(used, reset, now int64) {
	p := s.period()
	switch s.limit.Algorithm {
	case weir.GCRA:
		s.gcra.at = now
		s.gcra.set(float64(reset) * 1000)
		s.gcra.tracked = false
	case weir.SlidingWindow:
		*s.log = log{entries: s.log.entries[:0]}
		if used > 0 {
			s.log.add(now+min(reset-p, 0), used)
		}
	case weir.SlidingCounter:
		s.win = window{start: align(now, p)}
		if reset > p {
			s.win.cur = used
		} else {
			s.win.prev = used
		}
	case weir.FixedWindow:
		s.win = window{start: now + min(reset-p, 0), cur: used}
	case weir.AlignedWindow:
		s.win = window{start: align(now, p), cur: used}
	}
}
