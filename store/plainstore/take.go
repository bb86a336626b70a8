package plainstore

import (
	"context"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/rediscall"
	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store"
)

// Take implements [store.Store]. An allowed call takes one round trip, a refused one mostly
// one or two.
func (s *Store) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if err := req.Validate(); err != nil {
		return store.Decision{}, err
	}
	if s.client == nil {
		return store.Decision{}, errZero
	}
	if err := supported(&req); err != nil {
		return store.Decision{}, err
	}
	state := rediskey.State(s.prefix, req.Charges[0].Scope, req.Charges[0].Key)
	windows := make([]window, len(req.Charges))
	for i := range req.Charges {
		c := &req.Charges[i]
		period := int64((c.Limit.Period + time.Millisecond - 1) / time.Millisecond)
		windows[i] = window{key: rediskey.Counter(state, i), cost: c.Cost, rate: c.Limit.Rate, period: period}
	}
	ask := s.charge
	if req.Free() || req.NeverFits() >= 0 {
		ask = func(ctx context.Context, windows []window) error {
			return exchange(ctx, s.client.Pipelined, windows, func(w *window) []rediscall.Once { return w.view(ctx) }, (*window).read)
		}
	}
	if err := ask(ctx, windows); err != nil {
		return store.Decision{}, classify(err)
	}
	return decide(&req, windows), nil
}

// Reset implements [store.Resetter].
func (s *Store) Reset(ctx context.Context, scope, key string) error {
	if s.client == nil {
		return errZero
	}
	state, args := rediskey.State(s.prefix, scope, key), []any{"del"}
	for i := range maxLimits {
		args = append(args, rediskey.Counter(state, i))
	}
	return classify(s.client.Process(ctx, rediscall.New(ctx, args...)))
}

// decide returns the decision on a request from its windows, in the same order. The process
// has no clock of the server, so instants count from the decision.
func decide(req *store.Request, windows []window) store.Decision {
	var room [maxLimits]exact.Outcome
	outcomes := room[:len(windows)]
	v := exact.Verdict{Allowed: req.NeverFits() < 0}
	for i := range windows {
		w, o := &windows[i], &outcomes[i]
		o.Remaining = min(max(w.rate-w.used, 0), w.rate)
		rest := w.rest().Microseconds()
		if w.used > 0 {
			o.Reset = rest
		}
		if w.refuses {
			v.Allowed, o.Slot = false, rest
			v.Slot = max(v.Slot, rest)
		}
	}
	return exact.Decide(req, &v, outcomes)
}
