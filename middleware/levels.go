package middleware

import (
	"slices"
	"strconv"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/answer"
)

// levels are the levels that a request counts against, from narrow to wide.
type levels struct {
	list  []weir.Level
	named []answer.Level // the same, with the limits under the names that clients read
}

// add adds a level with limits that are looked up for this request, or are known
// in advance, where no two levels share a name.
func (s *levels) add(level weir.Level, limits []weir.Limit, lookedUp bool) {
	if lookedUp {
		level.Limits = limits
	}
	limiter := level.Limiter.Name()
	if lookedUp || slices.ContainsFunc(limits, func(l weir.Limit) bool { return s.have(l.Policy()) }) {
		limits = slices.Clone(limits)
		for i := range limits {
			limits[i].Name = s.policyOf(limiter, limits, i)
		}
	}
	s.list = append(s.list, level)
	s.named = append(s.named, answer.Level{Limiter: limiter, Key: level.Key, Limits: limits})
}

// policyOf returns the name of the i-th policy of a level. If a narrower level has that
// name, the result is another one, which no other policy has.
func (s *levels) policyOf(limiter string, limits []weir.Limit, i int) string {
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

// have reports whether a level has a policy of that name.
func (s *levels) have(policy string) bool {
	return slices.ContainsFunc(s.named, func(l answer.Level) bool { return hasPolicy(l.Limits, policy) })
}

func hasPolicy(limits []weir.Limit, name string) bool {
	return slices.ContainsFunc(limits, func(l weir.Limit) bool { return l.Policy() == name })
}

// rename gives the binding limit of a decision the name that clients read.
func (s *levels) rename(d *weir.Decision) {
	for _, level := range s.named {
		for _, limit := range level.Limits {
			if level.Limiter == d.Scope && limit.WithName(d.Limit.Name) == d.Limit {
				d.Limit = limit
				return
			}
		}
	}
}
