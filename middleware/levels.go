package middleware

import (
	"net/http"
	"strconv"

	"github.com/goweir/weir"
)

// Level is a wider limit that a request counts against, beside Config.Limiter's.
type Level struct {
	// Limiter is whose limits hold. Required, over the same store as
	// Config.Limiter and with a Name of its own, which Decision.Scope tells of a
	// refusal. The policy names of its limits must differ from those of all other
	// levels. Config.Limiter's Hook is told of decisions, this one's is not.
	Limiter *weir.Limiter

	// Key says who is counted, as the organisation of the request's user, or
	// weir.KeyStatic for everybody. Required. An empty key counts as none.
	Key weir.KeyFunc

	// Limits returns the limits of a request's key, as Config.Limits does. A
	// policy name that a narrower level has already is told with the Limiter's
	// name before it, as "org:10-in-1m". Nil: the Limiter's own.
	Limits func(*http.Request) ([]weir.Limit, error)

	// Cost returns how many units a request takes of this level, as Config.Cost
	// does. Nil: as many as of the request's own.
	Cost func(*http.Request) (int64, error)

	// SkipNoKey leaves requests uncounted by this level if Key finds no identity.
	// False: they are answered with 401. Either way a bad identity is answered with
	// 400 and a failure of Key with 500. Config.OnNoKey is not asked.
	SkipNoKey bool
}

// levels is what a request counts against.
type levels struct {
	list   []weir.Level
	limits []weir.Limit // of all levels, under the names that clients are told
	counts []int        // how many of these each level has
}

// levelsOf returns what a request of a key counts against, without what a mount
// further out has counted it against. It returns a problem instead where a level
// has no key, with the error that it is told with, if any.
func (g *Guard) levelsOf(r *http.Request, key string) (*levels, *problem, error) {
	n := 1 + len(g.cfg.Levels)
	s := &levels{list: make([]weir.Level, 0, n), limits: make([]weir.Limit, 0, n), counts: make([]int, 0, n)}
	cost, err := g.cost(r)
	if err != nil {
		return nil, &broken, err
	}
	own := Level{Limiter: g.cfg.Limiter, Limits: g.cfg.Limits}
	if !g.passed(r.Context(), g.cfg.Limiter, key) {
		if err := s.add(r, &own, key, cost, g.own); err != nil {
			return nil, nil, err
		}
	}
	for i := range g.cfg.Levels {
		l := &g.cfg.Levels[i]
		key, err := l.Key(r)
		if err == nil && key == "" {
			err = weir.ErrNoKey
		}
		if err != nil {
			p, failed := withoutKey(err)
			switch {
			case failed:
				return nil, &p, err
			case p == unidentified && l.SkipNoKey:
				continue
			}
			return nil, &p, nil
		}
		key = bounded(key)
		if g.passed(r.Context(), l.Limiter, key) {
			continue
		}
		cost := cost
		if l.Cost != nil {
			if cost, err = l.Cost(r); err != nil {
				return nil, &broken, err
			}
		}
		if err := s.add(r, l, key, cost, g.levels[i]); err != nil {
			return nil, nil, err
		}
	}
	return s, nil, nil
}

// add adds a level whose own limits are called so.
func (s *levels) add(r *http.Request, l *Level, key string, cost int64, own []weir.Limit) error {
	level := weir.Level{Limiter: l.Limiter, Key: key, Cost: cost, Peek: cost == 0}
	limits := own
	if l.Limits != nil {
		var err error
		if limits, err = l.Limits(r); err != nil {
			return undecided(err)
		}
		if level.Limits = limits; limits == nil {
			level.Limits = []weir.Limit{} // none, where nil would be the Limiter's
		}
	}
	s.list, s.counts = append(s.list, level), append(s.counts, len(limits))
	narrower := len(s.limits)
	s.limits = append(s.limits, limits...)
	for i := narrower; i < len(s.limits); i++ {
		if l.Limits != nil || hasPolicy(s.limits[:narrower], s.limits[i].Policy()) {
			s.limits[i].Name = policyOf(l.Limiter.Name(), s.limits, i, narrower)
		}
	}
	return nil
}

// policyOf returns the name of the i-th policy, or where those before its level,
// which are narrower, have that already, one that neither they nor its own level's
// others have.
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
