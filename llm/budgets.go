package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/deadline"
	"github.com/goweir/weir/store"
)

// parts are the parts of a call that a budget counts, each 0 or 1.
type parts struct{ request, in, out int64 }

// cost returns the units of a call with so many tokens.
func (p *parts) cost(in, out int64) int64 { return p.request + p.in*in + p.out*out }

// budget is one limit of a family of models.
type budget struct {
	parts
	limiter *weir.Limiter
	max     int64 // the largest cost that it admits
	most    int64 // the largest cost that it settles
}

// maxDebt bounds the debt of one call, in minutes: no provider serves a call that costs
// more, and a wrong usage must not stop a model for years.
const maxDebt = 15

// budgets are all limits of a family, and the requests that wait for them.
type budgets struct {
	all   []budget
	send  *weir.Transport // sends admitted requests, and heeds the responses
	queue *queue
}

// newBudgets makes the limiters of a family; "" is for all other models.
func newBudgets(on weir.Store, cfg *Config, family string, limits Limits, base http.RoundTripper) (*budgets, error) {
	b := &budgets{queue: newQueue()}
	for _, v := range []struct {
		name string
		n    int64
		parts
	}{
		{"rpm", limits.RPM, parts{request: 1}}, {"tpm", limits.TPM, parts{in: 1, out: 1}},
		{"itpm", limits.ITPM, parts{in: 1}}, {"otpm", limits.OTPM, parts{out: 1}},
	} {
		if v.n == 0 {
			continue
		}
		l, err := weir.New(weir.Config{
			Name: strings.Join(strings.Fields(cfg.Name+" "+family+" "+v.name), " "), Store: on,
			Limits: []weir.Limit{limits.perMinute(v.n)}, Reserve: cfg.Reserve, MaxPause: cfg.MaxPause, Hook: quiet(cfg.Hook),
		})
		if err != nil {
			return nil, inConfig(err, family)
		}
		if _, ok := on.(store.Settler); !ok {
			return nil, &weir.ConfigError{Field: "llm.NewTransport.store", Want: "a store.Settler", Got: "a store that can't settle"}
		}
		most := l.Config().Limits[0].Max()
		b.all = append(b.all, budget{v.parts, l, most, most + maxDebt*v.n})
	}
	send := weir.TransportConfig{Limiter: b.all[0].limiter, Base: base, Key: keyOf, Cost: noCost, Upstream: cfg.Upstream}
	for _, v := range b.all[1:] {
		send.Levels = append(send.Levels, weir.TransportLevel{Limiter: v.limiter, Key: keyOf, Cost: noCost})
	}
	var err error
	b.send, err = weir.NewTransport(send)
	return b, inConfig(err, family)
}

// inConfig makes an error about a field of package weir name the field of Config.
func inConfig(err error, family string) error {
	e, ok := errors.AsType[*weir.ConfigError](err)
	if !ok {
		return err
	}
	_, field, _ := strings.Cut(e.Field, ".")
	switch {
	case field == "Store":
		return &weir.ConfigError{Field: "llm.NewTransport.store", Want: e.Want, Got: e.Got}
	case field == "Name" && family != "":
		field = modelField(family)
	}
	return wrong(field, e.Want, e.Got)
}

// keyOf returns the key of an admitted request. Its response may pause that.
func keyOf(req *http.Request) (string, error) { return callOf(req.Context()).key, nil }

// noCost makes the inner Transport charge nothing: the request is admitted already.
func noCost(*http.Request) (int64, error) { return 0, nil }

// levels returns the parts of a call in all budgets. An estimate over a limit's maximum
// is cut to it: such a call would never fit, though its real cost may.
func (b *budgets) levels(c *call) []weir.Level {
	levels := make([]weir.Level, len(b.all))
	for i, v := range b.all {
		cost := min(v.cost(c.in, c.out), v.max)
		levels[i] = weir.Level{Limiter: v.limiter, Key: c.key, Cost: cost, Peek: cost == 0}
	}
	return levels
}

// settle corrects all costs of a call, in one call of the store. A count of -1 leaves
// the estimate.
func (b *budgets) settle(ctx context.Context, c *call, in, out int64) {
	costs := make([]int64, len(b.all))
	for i, v := range b.all {
		costs[i] = v.cost(orElse(in, c.in), orElse(out, c.out))
		if in < 0 && v.in > 0 || out < 0 && v.out > 0 {
			costs[i] = min(costs[i], v.max)
		}
		costs[i] = min(costs[i], v.most)
	}
	c.conclude(ctx, func(ctx context.Context) error { return c.booked.Settle(ctx, costs...) })
}

func orElse(n, other int64) int64 {
	if n < 0 {
		return other
	}
	return n
}

// admit books a call's units in all budgets at one instant, or in none. While it waits it
// books nothing ahead, so units that other calls return are free at once.
func (b *budgets) admit(ctx context.Context, cfg *Config, c *call) (err error) {
	levels, start := b.levels(c), time.Now()
	end := start.Add(cmp.Or(cfg.MaxWait, longest))
	ask := func(maxWait time.Duration) (d weir.Decision, err error) {
		c.booked, d, err = weir.WaitLevels(withCall(ctx, c), maxWait, levels...)
		return d, err
	}
	var d weir.Decision
	if cfg.Refuse || !b.queue.busy(ctx) {
		d, err = ask(0)
	}
	if !cfg.Refuse && err == nil && !d.Allowed && !hopeless(ctx, &d, end) {
		first := binding(levels, &d)
		show(ctx, cfg.Hook, first, weir.Event{Kind: weir.EventWaitBegin, Decision: d})
		defer func() {
			show(ctx, cfg.Hook, first, weir.Event{Kind: weir.EventWait, Decision: d, Took: time.Since(start), Err: err})
		}()
		d, err = b.queue.wait(ctx, end, d, ask)
		if err == nil && d.Scope == "" { // It was never first.
			d, err = ask(0)
		}
	}
	if err == nil && !d.Allowed {
		at := binding(levels, &d)
		show(ctx, cfg.Hook, at, weir.Event{Kind: weir.EventDecision, Decision: d})
		e := &weir.LimitedError{Scope: d.Scope, Key: at.Key, Limit: d.Limit, Cost: at.Cost, RetryAfter: d.RetryAfter, Reason: d.Reason}
		if _, e.PastDeadline = deadline.Max(ctx, start, cfg.MaxWait); cfg.Refuse || !e.PastDeadline {
			e.PastDeadline, e.MaxWait = false, cfg.MaxWait
		}
		err = e
	}
	return err
}

// binding returns the level that binds; the first if none was asked.
func binding(levels []weir.Level, d *weir.Decision) *weir.Level {
	return &levels[max(slices.IndexFunc(levels, func(v weir.Level) bool { return v.Limiter.Name() == d.Scope }), 0)]
}

// noLimits returns the error of a request for a model without limits.
func noLimits(model string) error {
	if model == "" {
		return errors.New("llm: the request names no model: set Config.Limits, which then hold, or send it with another client")
	}
	return fmt.Errorf("llm: no limits for the model %.100q: set Config.Limits or name it in Config.Models", model)
}
