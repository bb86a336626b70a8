package middleware

import (
	"net/http"
	"slices"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
)

// decideLevels is decide for a request that counts against several levels.
func (g *Guard) decideLevels(w http.ResponseWriter, r *http.Request, key string) (*http.Request, bool) {
	m := &mark{Context: r.Context(), guard: g, key: key}
	s, p, err := g.levelsOf(r, key)
	switch {
	case p != nil && err == nil:
		return g.challenge(w, r, p)
	case p != nil:
		return g.fail(w, r, p, err)
	case err != nil:
		return g.answer(w, r, m, nil, &weir.Decision{}, err)
	case len(s.list) == 0: // all counted by mounts further out
		return r, true
	}
	m.levels = s
	d, err := g.takeLevels(r, m)
	return g.answer(w, r, m, s.limits, &d, err)
}

// takeLevels charges the request on all its levels.
func (g *Guard) takeLevels(r *http.Request, m *mark) (weir.Decision, error) {
	own := &m.levels.list[0] // The request's own, unless a mount further out has counted that.
	d, err := g.chargeLevels(r, m)
	if err == nil && d.Reason == weir.Limited && d.Scope == g.cfg.Limiter.Name() && g.punish(r, m.key) {
		d, err = g.chargeLevels(r, m) // refused, with the block's end
	}
	if err == nil && d.Allowed && own.Limiter == g.cfg.Limiter {
		g.shadow(r, m.key, own.Cost)
	}
	return d, err
}

// chargeLevels has the limiters of all levels decide together.
func (g *Guard) chargeLevels(r *http.Request, m *mark) (weir.Decision, error) {
	if g.cfg.Settle == nil && g.cfg.Delay.Max == 0 {
		return weir.AllowLevels(r.Context(), m.levels.list...)
	}
	maxWait := g.enter()
	defer g.leave()
	booked, d, err := weir.WaitLevels(r.Context(), maxWait, m.levels.list...)
	if g.cfg.Settle != nil {
		m.booked = booked
	}
	return d, err
}

// actualCosts asks Config.Settle what a request really took of each level, once
// for each cost.
func (g *Guard) actualCosts(passed *http.Request, m *mark, o Outcome) []int64 {
	list := m.levels.list
	actual := make([]int64, len(list))
	for i := range list {
		if list[i].Cost == 0 {
			continue // Nothing was taken, so nothing is corrected.
		}
		same := slices.IndexFunc(list[:i], func(l weir.Level) bool { return l.Cost == list[i].Cost })
		if same >= 0 {
			actual[i] = actual[same]
			continue
		}
		o.Cost = list[i].Cost
		actual[i] = min(g.cfg.Settle(passed, o), store.MaxUnits)
	}
	return actual
}

// setLevels sets the headers of HeadersDraft11: the policies of all levels are one
// list, and their states another.
func (g *Guard) setLevels(h http.Header, m *mark, d *weir.Decision) {
	s := m.levels
	var room [2][320]byte
	policies, states := room[0][:0], room[1][:0]
	tell := known(d, len(s.limits))
	for i, from := 0, 0; i < len(s.list); i++ {
		limits, pk := s.limits[from:from+s.counts[i]], g.partition(s.list[i].Limiter.Name(), s.list[i].Key)
		if i > 0 {
			policies, states = append(policies, ", "...), append(states, ", "...)
		}
		policies = appendPolicies(policies, limits, pk)
		if tell {
			states = appendStates(states, limits, d, from, pk)
		}
		from += s.counts[i]
	}
	m.values.put(h, headerPolicy, 0, string(policies))
	if tell {
		m.values.put(h, headerState, 1, string(states))
	}
}
