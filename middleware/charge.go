package middleware

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/answer"
	"github.com/goweir/weir/internal/deadline"
)

type charger struct {
	cfg    *Config
	levels []level // the request's own one first
	// waiting counts the requests that may wait.
	waiting atomic.Int64
}

type level struct {
	Level
	limits []weir.Limit // the Limiter's, with their names derived once
	seen   identities
}

func (c *charger) init(cfg *Config) {
	c.cfg, c.levels = cfg, make([]level, 1+len(cfg.Levels))
	for i, l := range slices.Concat([]Level{{Limiter: cfg.Limiter, Key: cfg.Key, Limits: cfg.Limits}}, cfg.Levels) {
		limits := l.Limiter.Config().Limits
		for j, limit := range limits {
			limits[j] = limit.WithName(limit.Policy())
		}
		c.levels[i].Level, c.levels[i].limits = l, limits
	}
}

// take charges a request on its levels, and sets d to the decision. An error that matches
// weir.ErrStore means that nothing could be decided.
func (c *charger) take(w http.ResponseWriter, r *http.Request, m *mark, d *weir.Decision) error {
	if _, ok := r.Context().Deadline(); ok {
		r = r.WithContext(patient{r.Context()})
	}
	if err := c.charge(r, m, d); err != nil {
		return err
	}
	if d.Reason == weir.ReasonLimited && c.cfg.isOwn(d) && c.punish(r, m.list[0].Key) {
		if blocked := (weir.Decision{}); c.charge(r, m, &blocked) == nil {
			*d = blocked // Refused, with the end of the block. Without an answer the refusal stays.
		}
	}
	// A mount further out may have counted the request's own level, and asked the shadows.
	if own := &m.list[0]; d.Allowed && own.Limiter == c.cfg.Limiter {
		c.shadow(w, r, own.Key, own.Cost)
	}
	return nil
}

// charge decides about a request, which waits for its slot if it may. If the charge can be
// corrected, m gets it.
func (c *charger) charge(r *http.Request, m *mark, d *weir.Decision) (err error) {
	own, delay, maxWait := &m.list[0], &c.cfg.Delay, time.Duration(0)
	switch {
	case delay.Max > 0:
		defer c.waiting.Add(-1)
		if c.waiting.Add(1) <= int64(delay.MaxWaiting) {
			maxWait, _ = deadline.Max(m, time.Now(), delay.Max)
		}
		fallthrough
	case c.cfg.Settle != nil:
		m.booked, *d, err = weir.WaitLevels(r.Context(), maxWait, m.list...)
	case len(c.levels) == 1 && own.Limits == nil: // This way is shorter.
		*d, err = own.Limiter.AllowN(r.Context(), own.Key, own.Cost)
	default:
		*d, err = weir.AllowLevels(r.Context(), m.list...)
	}
	return err
}

// costOf asks a function for the units that a request takes; nil: it takes so many. Each
// error is a mistake, also a weir.ErrStore.
func costOf(r *http.Request, f func(*http.Request) (int64, error), field string, otherwise int64) (int64, error) {
	if f == nil {
		return otherwise, nil
	}
	cost, err := f(r)
	switch {
	case err != nil:
		return 0, &fault{kindCost, err}
	case cost < 0:
		return 0, invalid(field, "a cost of 0 or more", strconv.FormatInt(cost, 10))
	}
	return cost, nil
}

// punish counts a refusal and reports whether the key is blocked for it.
func (c *charger) punish(r *http.Request, key string) bool {
	penalty, ctx := &c.cfg.Penalty, r.Context()
	if penalty.Limiter == nil || c.cfg.Shadow {
		return false
	}
	d, err := penalty.Limiter.Allow(ctx, key)
	switch {
	case err == nil && d.Allowed && d.Remaining > 0:
		return false
	case err == nil:
		err = c.cfg.Limiter.PauseBy(ctx, key, penalty.For, "penalty")
	}
	if err != nil && ctx.Err() == nil {
		c.cfg.OnError(r, &fault{kindPenalty, err})
	}
	return err == nil
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

// lookUp returns the limits of a request. A failed lookup becomes a failure of the store,
// because both mean that nothing can be decided. The error of a wrong configuration stays
// as it is.
func lookUp(r *http.Request, limitsOf func(*http.Request) ([]weir.Limit, error)) ([]weir.Limit, error) {
	switch limits, err := limitsOf(r); {
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
