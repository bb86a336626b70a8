package middleware

import (
	"net/http"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/answer"
)

// levelsOf returns the levels that a request of a key counts against. It leaves out levels
// that a mount further out has charged already. For a level without a key it returns a
// problem instead, with the error for OnError, if any.
func (c *charger) levelsOf(r *http.Request, key string) (*levels, *answer.Problem, error) {
	cost, err := c.cost(r)
	if err != nil {
		return nil, &broken, err
	}
	n := 1 + len(c.wider)
	s := &levels{make([]weir.Level, 0, n), make([]answer.Level, 0, n)}
	own := Level{Limiter: c.cfg.Limiter, Limits: c.cfg.Limits}
	if !passed(r.Context(), own.Limiter, key, c.cfg.OnStoreFailure) {
		if err := s.lookUp(r, &own, key, cost, c.own); err != nil {
			return nil, nil, err
		}
	}
	for i := range c.cfg.Levels {
		l := &c.cfg.Levels[i]
		key, p, err := l.keyOf(r)
		if p != nil {
			return nil, p, err
		}
		if key == "" || passed(r.Context(), l.Limiter, key, c.cfg.OnStoreFailure) {
			continue
		}
		cost := cost
		if l.Cost != nil {
			if cost, err = costBy(r, l.Cost, i); err != nil {
				return nil, &broken, err
			}
		}
		if err := s.lookUp(r, l, key, cost, c.wider[i]); err != nil {
			return nil, nil, err
		}
	}
	return s, nil, nil
}

// keyOf returns the key that a request counts under; "" if the level does not count it. Or
// it returns a problem, with the error for OnError, if any.
func (l *Level) keyOf(r *http.Request) (string, *answer.Problem, error) {
	key, err := l.Key(r)
	if err == nil && key != "" {
		return bounded(key), nil, nil
	}
	if err == nil {
		err = weir.ErrNoKey
	}
	p, failed := withoutKey(err)
	switch {
	case failed:
		return "", &p, &fault{kindKey, err}
	case p == unidentified && l.SkipNoKey:
		return "", nil, nil
	}
	return "", &p, nil
}

// lookUp adds a level with the limits of the request: own, unless the level looks them up.
func (s *levels) lookUp(r *http.Request, l *Level, key string, cost int64, own []weir.Limit) error {
	limits, err := limitsOf(r, l.Limits, own)
	if err != nil {
		return err
	}
	s.add(weir.Level{Limiter: l.Limiter, Key: key, Cost: cost, Peek: cost == 0}, limits, l.Limits != nil)
	return nil
}

// takeLevels charges a request on all its levels.
func (c *charger) takeLevels(w http.ResponseWriter, r *http.Request, m *mark) (weir.Decision, error) {
	d, err := c.chargeLevels(r, m)
	if err == nil && d.Reason == weir.ReasonLimited && d.Scope == c.cfg.Limiter.Name() && c.punish(r, m.key) {
		if blocked, err := c.chargeLevels(r, m); err == nil {
			d = blocked // Refused, with the end of the block. Otherwise the refusal stays.
		}
	}
	// A mount further out may have counted the request's own level, and asked the shadows.
	if own := &m.levels.list[0]; err == nil && d.Allowed && own.Limiter == c.cfg.Limiter {
		c.shadow(w, r, m.key, own.Cost)
	}
	return d, err
}

func (c *charger) chargeLevels(r *http.Request, m *mark) (weir.Decision, error) {
	if c.cfg.Settle == nil && c.cfg.Delay.Max == 0 {
		return weir.AllowLevels(r.Context(), m.levels.list...)
	}
	maxWait := c.queue.enter()
	defer c.queue.leave()
	booked, d, err := weir.WaitLevels(r.Context(), maxWait, m.levels.list...)
	if c.cfg.Settle != nil {
		m.booked = booked
	}
	return d, err
}
