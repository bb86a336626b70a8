package redisstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/deny"
	"github.com/redis/go-redis/v9"
)

// stillCounted returns a store with a clock that stands still, the function that moves it,
// and the counter of its commands.
func stillCounted(t *testing.T) (*Store, func(time.Duration), *gate) {
	t.Helper()
	_, c := miniClient(t)
	g := new(gate)
	c.AddHook(g)
	s, sleep := newStill(t, c, "")
	return s, sleep, g
}

// deniedBy returns the remembered refusal of a request.
func deniedBy(s *Store, req *store.Request) (d store.Decision, ok bool) {
	if !s.combines(req) {
		return d, false
	}
	q := s.question(req)
	return s.denied(&q, req)
}

func TestRefusedKeyIsRefusedWithoutRedis(t *testing.T) {
	t.Parallel()
	s, sleep, g := stillCounted(t)
	limit := store.Per(10, time.Second).WithBurst(3)
	take(t, s, charge("key", 3, limit))
	first := take(t, s, charge("key", 1, limit))
	if first.Allowed || first.RetryAfter != 100*time.Millisecond {
		t.Fatalf("%+v, want a refusal for 100ms", first)
	}
	before := g.commands.Load()
	for i := range time.Duration(100) {
		d := take(t, s, charge("key", 1, limit))
		want := first
		want.RetryAfter -= i * time.Millisecond
		want.ResetAfter -= i * time.Millisecond
		want.At += store.Instant(i * 1000)
		if diff := differ(d, want); diff != "" || d.Allowed {
			t.Fatalf("after %d ms: %s", i, diff)
		}
		req := charge("key", 1, limit)
		if denied, ok := deniedBy(s, &req); !ok || differ(denied, d) != "" || d.Source != store.SourceDenyCache {
			t.Fatalf("after %d ms: %+v, %t, want %+v", i, denied, ok, d)
		}
		sleep(time.Millisecond)
	}
	if n := g.commands.Load() - before; n != 0 {
		t.Errorf("%d commands while the key was refused, want none", n)
	}
	for name, req := range map[string]store.Request{
		"after RetryAfter": charge("key", 1, limit),
		"another key":      charge("other", 1, limit),
		"another cost":     charge("key", 2, limit),
		"a look":           charge("key", 0, limit),
		"more than fits":   charge("key", 4, limit),
		"another limit":    charge("key", 1, store.Per(1, time.Hour)),
		"two limits":       charge("key", 1, limit, store.Per(1, time.Hour)),
		"one that waits":   {Charges: charge("key", 1, limit).Charges, MaxWait: time.Second},
	} {
		if d, ok := deniedBy(s, &req); ok {
			t.Errorf("%s: refused without asking: %+v", name, d)
		}
	}
	if d := take(t, s, charge("key", 1, limit)); !d.Allowed {
		t.Errorf("%+v after RetryAfter, want it allowed", d)
	}
	take(t, s, charge("key", 1, limit))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Take(ctx, charge("key", 2, limit)); !errors.Is(err, context.Canceled) {
		t.Errorf("%v with a context that is over", err)
	}
}

// TestRefusedKeyOfEachAlgorithm: a remembered refusal equals Redis's answer, except that a
// sliding window may have more free units.
func TestRefusedKeyOfEachAlgorithm(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string][]store.Limit{
		"two buckets":      {store.Per(3, time.Second), store.Per(5, time.Minute)},
		"a fixed window":   {store.Per(3, time.Second).By(store.FixedWindow)},
		"an aligned one":   {store.Per(3, time.Second).By(store.AlignedWindow)},
		"a counter":        {store.Per(3, time.Second).By(store.SlidingCounter)},
		"of all but a log": {store.Per(3, time.Second), store.Per(4, time.Minute).By(store.FixedWindow), store.Per(5, time.Hour).By(store.SlidingCounter)},
		"a log":            {store.Per(3, time.Second).By(store.SlidingWindow)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, sleep, g := stillCounted(t)
			model, sleepModel := newStill(t, s.client, "model:")
			one := charge("key", 1, limits...)
			for range 3 {
				take(t, s, one)
				single(t, model, one)
			}
			known := false
			for step := range 60 {
				before := g.commands.Load()
				denied, ok := deniedBy(s, &one)
				got := take(t, s, one)
				if asked := g.commands.Load() > before; asked == known || asked != (got.Source == store.SourceStore) || ok && denied.Source != store.SourceDenyCache {
					t.Fatalf("step %d: it asked: %t, %+v", step, asked, got)
				}
				if diff := differ(got, single(t, model, one)); diff != "" {
					t.Fatalf("step %d: %s", step, diff)
				}
				if ok && differ(denied, got) != "" {
					t.Fatalf("step %d: denied with %+v, want %+v", step, denied, got)
				}
				d := 7 * time.Millisecond
				if step%10 == 9 {
					d = max(got.RetryAfter, 2*time.Second)
				}
				known = d < got.RetryAfter && d < deny.Life
				sleep(d)
				sleepModel(d)
			}
		})
	}
}

// TestRememberedRefusalsAdmitAsMany compares each decision with a store that remembers no
// refusals.
func TestRememberedRefusalsAdmitAsMany(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for seed := range uint64(long.Of(96)) {
		rng := rand.New(rand.NewPCG(seed, 4))
		limits := []store.Limit{store.Per(1+rng.Int64N(12), time.Duration(1+rng.IntN(100))*time.Millisecond).WithBurst(1 + rng.Int64N(6))}
		if seed%4 > 1 {
			limits = randomLimits(rng, false)
			limits[0].Rate, limits[0].Burst = min(limits[0].Rate, 12), min(limits[0].Burst, 6)
		}
		c := server.Client()
		one, sleep := newStill(t, c, fmt.Sprintf("one%d:", seed))
		other, sleepToo := newStill(t, c, fmt.Sprintf("one%d:", seed)) // another process
		model, sleepModel := newStill(t, c, fmt.Sprintf("model%d:", seed))
		var mine, theirs any
		most := slices.MinFunc(limits, func(a, b store.Limit) int { return cmp.Compare(a.Max(), b.Max()) }).Max()
		logged := slices.ContainsFunc(limits, func(l store.Limit) bool { return l.Algorithm == store.SlidingWindow })
		for step := range 200 {
			d := time.Duration(rng.Int64N(int64(limits[0].Period / time.Duration(limits[0].Rate)))).Truncate(time.Microsecond)
			sleep(d)
			sleepToo(d)
			sleepModel(d)
			s, req := one, charge("key", 1+rng.Int64N(most), limits...)
			if rng.IntN(3) == 0 {
				req.Charges[0].Reserve = rng.Int64N(limits[0].Max() + 2)
			}
			switch choice := rng.IntN(8); {
			case seed%2 == 0:
			case choice < 3:
				s = other
			case choice == 3:
				s = other
				req.Cancelable = true
			}
			if req.Cancelable && mine == nil {
				a, b := take(t, s, req), take(t, model, req)
				if a.Allowed != b.Allowed {
					t.Fatalf("seed %d, step %d: %+v, want %+v", seed, step, a, b)
				}
				mine, theirs = a.Receipt, b.Receipt
				continue
			}
			if mine != nil && rng.IntN(4) == 0 {
				if err := errors.Join(other.Cancel(t.Context(), mine), model.Cancel(t.Context(), theirs)); err != nil {
					t.Fatal(err)
				}
				mine, theirs = nil, nil
			}
			req.Cancelable = false
			got, want := take(t, s, req), single(t, model, req)
			diff := differ(got, want)
			if got.Allowed == want.Allowed && (seed%2 == 1 && got.RetryAfter <= want.RetryAfter || logged && got.RetryAfter == want.RetryAfter) {
				diff = "" // Another process may have taken less meanwhile.
			}
			if diff != "" {
				t.Fatalf("seed %d, step %d, %d of %v: %s", seed, step, req.Charges[0].Cost, limits, diff)
			}
		}
	}
}

func TestRefusalIsForgotten(t *testing.T) {
	t.Parallel()
	limit := store.Per(3, time.Hour)
	for name, test := range map[string]struct {
		change  func(t *testing.T, s *Store, sleep func(time.Duration))
		allowed bool
	}{
		"after a Reset": {func(t *testing.T, s *Store, _ func(time.Duration)) {
			if err := s.Reset(t.Context(), "", "key"); err != nil {
				t.Fatal(err)
			}
		}, true},
		"after a brake": {func(t *testing.T, s *Store, _ func(time.Duration)) {
			if err := s.Brake(t.Context(), charge("key", 0, limit).Charges, store.Brake{Pause: time.Minute}); err != nil {
				t.Fatal(err)
			}
		}, false},
		"after a call under other limits": {func(t *testing.T, s *Store, _ func(time.Duration)) {
			take(t, s, charge("key", 1, store.Per(300, time.Hour)))
		}, false},
		"after a call under more limits": {func(t *testing.T, s *Store, _ func(time.Duration)) {
			take(t, s, charge("key", 1, limit, store.Per(100, time.Minute)))
		}, false},
		"after a second": {func(_ *testing.T, _ *Store, sleep func(time.Duration)) {
			sleep(deny.Life + time.Microsecond)
		}, false},
		"when the clock steps back": {func(_ *testing.T, _ *Store, sleep func(time.Duration)) {
			sleep(-time.Second)
		}, false},
		"after a Cancel": {func(t *testing.T, s *Store, _ func(time.Duration)) {
			d := reserve(t, s, "key", 0, 0, limit)
			if err := s.Cancel(t.Context(), d.Receipt); d.Receipt != nil && err != nil {
				t.Fatal(err)
			}
			if err := s.Reset(t.Context(), "", "key"); err != nil {
				t.Fatal(err)
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, sleep, g := stillCounted(t)
			take(t, s, charge("key", 3, limit))
			take(t, s, charge("key", 1, limit))
			before := g.commands.Load()
			if take(t, s, charge("key", 1, limit)); g.commands.Load() != before {
				t.Fatal("a refused key should not ask")
			}
			test.change(t, s, sleep)
			before = g.commands.Load()
			if d := take(t, s, charge("key", 1, limit)); d.Allowed != test.allowed {
				t.Errorf("%+v, want allowed %t", d, test.allowed)
			}
			if g.commands.Load() == before {
				t.Error("it did not ask")
			}
		})
	}
}

// TestKeyWithBookingsIsAsked: while a booking can be given back, another process may give
// it back.
func TestKeyWithBookingsIsAsked(t *testing.T) {
	t.Parallel()
	for _, l := range every(3, time.Hour) {
		for name, back := range map[string]func(s *Store, receipt any) error{
			"cancel": func(s *Store, r any) error { return s.Cancel(t.Context(), r) },
			"settle": func(s *Store, r any) error { return s.Settle(t.Context(), r, 1) },
		} {
			s, _, g := stillCounted(t)
			d := reserve(t, s, "key", 3, 0, l)
			for range 2 {
				before := g.commands.Load()
				if d := take(t, s, charge("key", 1, l)); d.Allowed || g.commands.Load() == before {
					t.Fatalf("%v: allowed, or not asked: %+v", l.Algorithm, d)
				}
			}
			if err := back(s, d.Receipt); err != nil {
				t.Fatal(err)
			}
			if d := take(t, s, charge("key", 1, l)); !d.Allowed {
				t.Errorf("%v, %s: %+v", l.Algorithm, name, d)
			}
		}
	}
}

// Every failed connection ends the remembered refusals. An answer of the server, and a
// caller that leaves, do not.
func TestRefusalsAndFailures(t *testing.T) {
	t.Parallel()
	limit := store.Per(3, time.Hour)
	waiting := charge("another", 1, limit)
	waiting.MaxWait = time.Minute
	calls := map[string]func(ctx context.Context, s *Store) error{
		"a call": func(ctx context.Context, s *Store) error {
			_, err := s.Take(ctx, charge("another", 1, limit))
			return err
		},
		"a call that may wait": func(ctx context.Context, s *Store) error { _, err := s.Take(ctx, waiting); return err },
		"a brake": func(ctx context.Context, s *Store) error {
			return s.Brake(ctx, waiting.Charges, store.Brake{Pause: time.Minute})
		},
		"a Reset": func(ctx context.Context, s *Store) error { return s.Reset(ctx, "", "another") },
	}
	for name, call := range calls {
		for _, failure := range []error{errors.New("a connection was lost"), redis.ErrClosed, serverError("ERR busy"), context.Canceled} {
			t.Run(fmt.Sprint(name, ", ", failure), func(t *testing.T) {
				t.Parallel()
				s, _, g := stillCounted(t)
				take(t, s, charge("key", 3, limit))
				take(t, s, charge("key", 1, limit))
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				answer := func() error {
					if failure == context.Canceled {
						leave()
					}
					return failure
				}
				g.answer.Store(&answer)
				if err := call(ctx, s); err == nil {
					t.Fatal("no error")
				}
				g.answer.Store(nil)
				before := g.commands.Load()
				take(t, s, charge("key", 1, limit))
				_, answered := failure.(serverError)
				if asked, want := g.commands.Load() != before, !answered && failure != context.Canceled; asked != want {
					t.Errorf("a refused key asks again: %t, want %t", asked, want)
				}
			})
		}
	}
}

func TestRememberedRefusalDoesNotAllocate(t *testing.T) {
	s, _, g := stillCounted(t)
	l, err := weir.New(weir.Config{Store: s, Limits: []weir.Limit{weir.PerHour(1)}, Name: "api"})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	refused := func() {
		if d, err := l.Allow(ctx, "key"); err != nil || d.Allowed {
			t.Fatal(d, err)
		}
	}
	if _, err := l.Allow(ctx, "key"); err != nil {
		t.Fatal(err)
	}
	refused()
	before := g.commands.Load()
	if n := testing.AllocsPerRun(1000, refused); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if n := g.commands.Load() - before; n != 0 {
		t.Errorf("%d commands", n)
	}
}

// travel makes each command take some time by a store's clock.
type travel struct{ sleep func(time.Duration) }

func (h *travel) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *travel) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *travel) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		defer h.sleep(10 * time.Millisecond)
		return next(ctx, cmd)
	}
}

// TestRefusalThatCameMeanwhile: a call looks at the clock, and then finds the refusal of
// another call that was under way. Its own refusal is no older.
func TestRefusalThatCameMeanwhile(t *testing.T) {
	t.Parallel()
	_, c := miniClient(t)
	s, sleep := newStill(t, c, "")
	limit := store.Per(1, time.Second)
	take(t, s, charge("key", 1, limit))
	c.AddHook(&travel{sleep})
	first := take(t, s, charge("key", 1, limit))
	sleep(-5 * time.Millisecond)
	d := take(t, s, charge("key", 1, limit))
	if first.Allowed || d.Source != store.SourceDenyCache || d.At < first.At || d.RetryAfter > first.RetryAfter {
		t.Errorf("%+v\nafter %+v", d, first)
	}
}
