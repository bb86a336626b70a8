package middleware

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/answer"
)

// charger charges requests to limiters.
type charger struct {
	cfg   *Config
	own   []weir.Limit   // of Config.Limiter, with their names derived once
	wider [][]weir.Limit // the same of each of Config.Levels
	queue queue
}

func (c *charger) init(cfg *Config) {
	c.cfg, c.own = cfg, namedLimits(cfg.Limiter)
	for i := range cfg.Levels {
		c.wider = append(c.wider, namedLimits(cfg.Levels[i].Limiter))
	}
	if !cfg.Shadow {
		c.queue.delay = cfg.Delay
	}
}

// namedLimits returns a limiter's limits with their names derived.
func namedLimits(limiter *weir.Limiter) []weir.Limit {
	own := limiter.Config().Limits
	for i, l := range own {
		own[i] = l.WithName(l.Policy())
	}
	return own
}

// take charges a request without levels, sets d to the decision, and returns the limits of
// that decision. An error that matches weir.ErrStore means that nothing could be decided.
func (c *charger) take(w http.ResponseWriter, r *http.Request, m *mark, cost int64, d *weir.Decision) (limits []weir.Limit, err error) {
	if limits, err = limitsOf(r, c.cfg.Limits, c.own); err != nil {
		return nil, err
	}
	err = c.charge(r, m, cost, limits, d)
	if err == nil && d.Reason == weir.ReasonLimited && c.punish(r, m.key) {
		if blocked := (weir.Decision{}); c.charge(r, m, cost, limits, &blocked) == nil {
			*d = blocked // Refused, with the end of the block. Without an answer the refusal stays.
		}
	}
	if err == nil && d.Allowed {
		c.shadow(w, r, m.key, cost)
	}
	return limits, err
}

func (c *charger) charge(r *http.Request, m *mark, cost int64, limits []weir.Limit, d *weir.Decision) (err error) {
	switch correctable := c.cfg.Settle != nil || c.cfg.Delay.Max > 0; {
	case correctable && c.cfg.Limits == nil:
		*d, err = c.reserve(r, m, cost, nil) // The own limits have other names than the limiter's.
	case correctable:
		*d, err = c.reserve(r, m, cost, limits)
	case c.cfg.Limits == nil:
		*d, err = c.cfg.Limiter.AllowN(r.Context(), m.key, cost)
	default:
		*d, err = c.cfg.Limiter.AllowLimits(r.Context(), m.key, cost, limits)
	}
	return err
}

// reserve charges a request so that the charge can be corrected, and waits for the slot if
// the request may wait. Nil limits are the limiter's.
func (c *charger) reserve(r *http.Request, m *mark, cost int64, limits []weir.Limit) (weir.Decision, error) {
	maxWait := c.queue.enter()
	defer c.queue.leave()
	booked, d, err := c.cfg.Limiter.ReserveLimits(r.Context(), m.key, cost, limits, maxWait)
	if err != nil || !d.Allowed {
		return d, err
	}
	if d.Delay > 0 {
		if err := await(r.Context(), booked); err != nil {
			return weir.Decision{}, err
		}
		pass(&d)
	}
	if c.cfg.Settle != nil && cost > 0 {
		m.booked = booked
	}
	return d, nil
}

// cost returns the units of a request. Each error is a mistake, also a weir.ErrStore.
func (c *charger) cost(r *http.Request) (int64, error) {
	if c.cfg.Cost == nil {
		return 1, nil
	}
	return costBy(r, c.cfg.Cost, -1)
}

// costBy asks a function for the cost of a request on a wider level, or on none: -1.
func costBy(r *http.Request, f func(*http.Request) (int64, error), level int) (int64, error) {
	cost, err := f(r)
	switch {
	case err != nil:
		return 0, &fault{kindCost, err}
	case cost < 0 && level < 0:
		return 0, invalid("Cost", "a cost of 0 or more", strconv.FormatInt(cost, 10))
	case cost < 0:
		return 0, invalid("Levels["+strconv.Itoa(level)+"].Cost", "a cost of 0 or more", strconv.FormatInt(cost, 10))
	}
	return cost, nil
}

// punish counts a refusal and reports whether the key is blocked for it.
func (c *charger) punish(r *http.Request, key string) bool {
	if c.cfg.Penalty.Limiter == nil || c.cfg.Shadow {
		return false
	}
	blocked, err := c.cfg.Penalty.punish(r.Context(), c.cfg.Limiter, key)
	if err != nil && r.Context().Err() == nil {
		c.cfg.OnError(r, &fault{kindPenalty, err})
	}
	return blocked
}

// shadow asks the limiters in shadow about a request that the enforced limits admitted.
func (c *charger) shadow(w http.ResponseWriter, r *http.Request, key string, cost int64) {
	for _, l := range c.cfg.Shadows {
		switch d, err := l.AllowN(r.Context(), key, cost); {
		case err == nil && c.cfg.OnWarning != nil:
			c.cfg.warn(w, r, &answer.Decision{Decision: &d, Levels: []answer.Level{{Limiter: l.Name(), Key: key, Limits: l.Config().Limits}}})
		case err != nil && r.Context().Err() == nil:
			c.cfg.OnError(r, &fault{kindShadows, err})
		}
	}
}

// limitsOf returns the limits of a request: own without a lookup. A failed lookup becomes
// a failure of the store, because both mean that nothing can be decided. The error of a
// wrong configuration stays as it is.
func limitsOf(r *http.Request, lookUp func(*http.Request) ([]weir.Limit, error), own []weir.Limit) ([]weir.Limit, error) {
	if lookUp == nil {
		return own, nil
	}
	switch limits, err := lookUp(r); {
	case errors.Is(err, weir.ErrConfig):
		return nil, &fault{kindLimits, err}
	case err != nil:
		return nil, &fault{kindLimits, &weir.StoreError{Op: "limits", Err: err}}
	case len(limits) == 0:
		return nil, &fault{kindNoPlan, invalid("Limits", "a plan for every key, or Config.Skip for no limit", "none")}
	default:
		return limits, nil
	}
}
