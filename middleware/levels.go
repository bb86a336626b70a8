package middleware

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/answer"
)

// levels are the levels that a request counts against, from narrow to wide, with the limits
// under the names that clients read.
type levels []answer.Level

// levelsOf finds the levels that a request with its own key counts against. It leaves out
// levels that a mount further out has charged already. For a level without a key it returns
// a problem, with the error for OnError, if any. An error without a problem means that
// nothing could be decided.
func (c *charger) levelsOf(r *http.Request, m *mark, own string, named levels) (levels, *answer.Problem, error) {
	if m.list = m.one[:0]; len(c.levels) > 1 {
		m.list, named = make([]weir.Level, 0, len(c.levels)), make(levels, 0, len(c.levels))
	}
	units, err := costOf(r, c.cfg.Cost, "Cost", 1)
	if err != nil {
		return nil, &broken, err
	}
	for i := range c.levels {
		l, key, cost := &c.levels[i], own, units
		if i > 0 {
			var p *answer.Problem
			switch key, p, err = c.keyOf(r, l); {
			case p == &broken:
				return nil, p, err
			case p != nil && (p != &unidentified || !l.SkipNoKey):
				return nil, p, nil
			}
			key = bounded(key)
		}
		if key == "" || hasPassed(r.Context(), l.Limiter, key, c.cfg.OnStoreFailure) {
			continue
		}
		if i > 0 {
			if cost, err = costOf(r, l.Cost, "Levels["+strconv.Itoa(i-1)+"].Cost", units); err != nil {
				return nil, &broken, err
			}
		}
		m.list = append(m.list, weir.Level{Limiter: l.Limiter, Key: key, Cost: cost, Peek: cost == 0})
		limits := l.limits
		if l.Limits != nil {
			if limits, err = lookUp(r, l.Limits); err != nil {
				return nil, nil, err
			}
			m.list[len(m.list)-1].Limits = limits
		}
		named = named.add(l.Limiter.Name(), key, limits)
	}
	return named, nil, nil
}

// add adds the limits of a level, under names that no narrower level has.
func (s levels) add(limiter, key string, limits []weir.Limit) levels {
	if len(s) > 0 && slices.ContainsFunc(limits, func(l weir.Limit) bool { return s.have(l.Policy()) }) {
		limits = slices.Clone(limits)
		for i := range limits {
			limits[i].Name = s.policyOf(limiter, limits, i)
		}
	}
	return append(s, answer.Level{Limiter: limiter, Key: key, Limits: limits})
}

// policyOf returns the name of the i-th policy of a level. If a narrower level has that
// name, the result is another one, which no other policy has.
func (s levels) policyOf(limiter string, limits []weir.Limit, i int) string {
	name := limits[i].Policy()
	if !s.have(name) {
		return name
	}
	name = limiter + ":" + name
	for n, base := 2, name; s.have(name) || hasPolicy(limits[:i], name) || hasPolicy(limits[i+1:], name); n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	return name
}

func (s levels) have(policy string) bool {
	return slices.ContainsFunc(s, func(l answer.Level) bool { return hasPolicy(l.Limits, policy) })
}

func hasPolicy(limits []weir.Limit, name string) bool {
	return slices.ContainsFunc(limits, func(l weir.Limit) bool { return l.Policy() == name })
}

// rename gives the binding limit of a decision the name that clients read.
func (s levels) rename(d *weir.Decision) {
	for _, level := range s {
		for _, limit := range level.Limits {
			if level.Limiter == d.Scope && limit.WithName(d.Limit.Name) == d.Limit {
				d.Limit = limit
				return
			}
		}
	}
}
