package middleware

import (
	"strconv"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/answer"
)

// levels are the levels that a request counts against, from narrow to wide.
type levels struct {
	list   []weir.Level
	limits []weir.Limit   // of all levels, under the names that clients read
	parts  []answer.Level // of limits
}

func newLevels(n int) *levels {
	return &levels{make([]weir.Level, 0, n), make([]weir.Limit, 0, n), make([]answer.Level, 0, n)}
}

// add adds a level with limits that are looked up for this request, or are known
// in advance, where no two levels share a name.
func (s *levels) add(level weir.Level, limits []weir.Limit, lookedUp bool) {
	if lookedUp {
		level.Limits = limits
	}
	limiter := level.Limiter.Name()
	s.list, s.parts = append(s.list, level), append(s.parts, answer.Level{Limiter: limiter, Key: level.Key, Limits: len(limits)})
	narrower := len(s.limits)
	s.limits = append(s.limits, limits...)
	for i := narrower; i < len(s.limits); i++ {
		if lookedUp || hasPolicy(s.limits[:narrower], s.limits[i].Policy()) {
			s.limits[i].Name = policyOf(limiter, s.limits, i, narrower)
		}
	}
}

// policyOf returns the name of the i-th policy. If a narrower level has that name, the
// result is another one: no narrower policy has it, and no other policy of its level.
func policyOf(limiter string, limits []weir.Limit, i, narrower int) string {
	name := limits[i].Policy()
	if !hasPolicy(limits[:narrower], name) {
		return name
	}
	name = limiter + ":" + name
	for n, base := 2, name; hasPolicy(limits[:i], name) || hasPolicy(limits[i+1:], name); n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	return name
}

func hasPolicy(limits []weir.Limit, name string) bool {
	for i := range limits {
		if limits[i].Policy() == name {
			return true
		}
	}
	return false
}
