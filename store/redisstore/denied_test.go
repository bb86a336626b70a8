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
	"github.com/redis/go-redis/v9"
)

// stillCounted returns a store with a clock that stands still, and what counts its
// commands.
func stillCounted(t *testing.T) (*Store, func(time.Duration), *gate) {
	t.Helper()
	_, c := miniClient(t)
	g := new(gate)
	c.AddHook(g)
	s, sleep := newStill(t, c, "")
	return s, sleep, g
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
			t.Fatalf("after %d ms: %s: %+v, want %+v", i, diff, d, want)
		}
		if denied, ok := s.Denied(s, new(charge("key", 1, limit))); !ok || differ(denied, d) != "" {
			t.Fatalf("after %d ms: %+v, %t, want %+v", i, denied, ok, d)
		}
		if d := take(t, s, charge("key", 2, limit)); d.Allowed || d.RetryAfter != (200-i)*time.Millisecond {
			t.Fatalf("after %d ms: %+v for a cost of 2", i, d)
		}
		sleep(time.Millisecond)
	}
	if n := g.commands.Load() - before; n != 0 {
		t.Errorf("%d commands while the key was refused, want none", n)
	}
	for name, req := range map[string]store.Request{
		"after RetryAfter": charge("key", 1, limit),
		"another key":      charge("other", 1, limit),
		"a look":           charge("key", 0, limit),
		"more than fits":   charge("key", 4, limit),
		"another limit":    charge("key", 1, store.Per(1, time.Hour)),
		"two limits":       charge("key", 1, limit, store.Per(1, time.Hour)),
		"one that waits":   {Charges: charge("key", 1, limit).Charges, MaxWait: time.Second},
	} {
		if d, ok := s.Denied(s, &req); ok {
			t.Errorf("%s: refused without asking: %+v", name, d)
		}
	}
	if d := take(t, s, charge("key", 1, limit)); !d.Allowed {
		t.Errorf("%+v after RetryAfter, want it allowed", d)
	}
	if err := func() error {
		take(t, s, charge("key", 1, limit))
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := s.Take(ctx, charge("key", 1, limit))
		return err
	}(); !errors.Is(err, context.Canceled) {
		t.Errorf("%v with a context that is over", err)
	}
}

// TestRefusedKeyOfRules: a key is refused without Redis under any limits that are not
// logs, and says the same as Redis would.
func TestRefusedKeyOfRules(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limits []store.Limit
		keeps  bool // in mind
	}{
		"two buckets":      {[]store.Limit{store.Per(3, time.Second), store.Per(5, time.Minute)}, true},
		"a fixed window":   {[]store.Limit{store.Per(3, time.Second).By(store.FixedWindow)}, true},
		"an aligned one":   {[]store.Limit{store.Per(3, time.Second).By(store.AlignedWindow)}, true},
		"a counter":        {[]store.Limit{store.Per(3, time.Second).By(store.SlidingCounter)}, true},
		"of all but a log": {[]store.Limit{store.Per(3, time.Second), store.Per(4, time.Minute).By(store.FixedWindow), store.Per(5, time.Hour).By(store.SlidingCounter)}, true},
		"a log":            {[]store.Limit{store.Per(3, time.Second).By(store.SlidingWindow)}, false},
		"a log beside":     {[]store.Limit{store.Per(3, time.Second).By(store.SlidingWindow), store.Per(3, time.Hour)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, sleep, g := stillCounted(t)
			model, sleepModel := newStill(t, s.client, "model:")
			one := charge("key", 1, test.limits...)
			for range 3 {
				take(t, s, one)
				whole(t, model, one)
			}
			known := false
			for step := range 60 {
				before := g.commands.Load()
				denied, ok := s.Denied(s, &one)
				got := take(t, s, one)
				if asked := g.commands.Load() > before; asked == known {
					t.Fatalf("step %d: it asked: %t, %+v", step, asked, got)
				}
				want := whole(t, model, one)
				if diff := differ(got, want); diff != "" {
					t.Fatalf("step %d: %s: %+v, want %+v", step, diff, got, want)
				}
				if ok && differ(denied, got) != "" {
					t.Fatalf("step %d: denied with %+v, want %+v", step, denied, got)
				}
				d := 7 * time.Millisecond
				if step%10 == 9 {
					d = max(got.RetryAfter, 2*time.Second)
				}
				known = test.keeps && d < got.RetryAfter && d < denialLife
				sleep(d)
				sleepModel(d)
			}
		})
	}
}

// TestRefusalsOfAlternatingRules: limits that differ in little are told apart, and
// remembered beside each other.
func TestRefusalsOfAlternatingRules(t *testing.T) {
	t.Parallel()
	s, _, g := stillCounted(t)
	limits := []store.Limit{store.Per(2, time.Hour).By(store.FixedWindow), store.Per(3, time.Hour)}
	var reqs []store.Request
	taken := map[*place]bool{}
	for i := range 40 {
		req := charge(fmt.Sprint("key", i), 1, limits...)
		if p := s.denials.place(s.denials.hash("", req.Charges[0].Key)); taken[p] {
			continue // Of keys that share a place one is remembered.
		} else {
			taken[p] = true
		}
		req.Charges[1].Reserve = int64(i % 3)
		if i%2 == 1 {
			req.Charges[0].Limit.Algorithm = store.AlignedWindow
		}
		take(t, s, req)
		take(t, s, req)
		if take(t, s, req).Allowed {
			t.Fatal("allowed")
		}
		reqs = append(reqs, req)
	}
	before := g.commands.Load()
	for range 3 {
		for _, req := range reqs {
			take(t, s, req)
		}
	}
	if n := g.commands.Load() - before; n != 0 {
		t.Errorf("%d commands for refused keys", n)
	}
}

// TestBadReplyIsNotRemembered: what can't be read is asked again.
func TestBadReplyIsNotRemembered(t *testing.T) {
	t.Parallel()
	s, _, _ := stillCounted(t)
	req := charge("key", 1, store.Per(3, time.Hour), store.Per(5, 24*time.Hour))
	q := s.question(&req)
	told, err := readTold([]int64{5, -3, 1, 0, 5, 5, 5, 5, 0, 0}, 1)
	if err != nil {
		t.Fatal(err)
	}
	a := told.answer(1, 0)
	if d, err := q.decision(s, &req, &a, nil); err == nil {
		t.Errorf("%+v, want an error", d)
	}
	if d := take(t, s, req); !d.Allowed {
		t.Errorf("%+v", d)
	}
}

// TestRememberedRefusalsAdmitAsMany compares each decision with one of a store
// that remembers nothing.
func TestRememberedRefusalsAdmitAsMany(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for seed := range uint64(long.Of(48)) {
		rng := rand.New(rand.NewPCG(seed, 4))
		limit := store.Per(1+rng.Int64N(12), time.Duration(1+rng.IntN(100))*time.Millisecond).WithBurst(1 + rng.Int64N(6))
		limits := []store.Limit{limit}
		if seed%4 > 1 {
			limits = drawLimits(rng, limit.Period)
			limits[0].Rate, limits[0].Burst = min(limits[0].Rate, 12), min(limits[0].Burst, 6)
		}
		c := server.Client()
		one, sleep := newStill(t, c, fmt.Sprintf("one%d:", seed))
		other, sleepToo := newStill(t, c, fmt.Sprintf("one%d:", seed)) // another process
		model, sleepModel := newStill(t, c, fmt.Sprintf("model%d:", seed))
		var mine, theirs any
		for step := range 200 {
			d := time.Duration(rng.Int64N(int64(limit.Period/time.Duration(limit.Rate)))) / 1000 * 1000
			sleep(d)
			sleepToo(d)
			sleepModel(d)
			s, req := one, charge("key", 1+rng.Int64N(slices.MinFunc(limits, func(a, b store.Limit) int { return cmp.Compare(a.Max(), b.Max()) }).Max()), limits...)
			leaveSome(rng, &req)
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
				if diff := differ(a, b); diff != "" {
					t.Fatalf("seed %d, step %d: %s: %+v, want %+v", seed, step, diff, a, b)
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
			got, want := take(t, s, req), whole(t, model, req)
			diff := differ(got, want)
			if seed%2 == 1 && got.Allowed == want.Allowed && got.RetryAfter <= want.RetryAfter {
				diff = "" // Another process may have taken less meanwhile.
			}
			if diff != "" {
				t.Fatalf("seed %d, step %d, %d of %v: %s\ngot  %+v\nwant %+v", seed, step, req.Charges[0].Cost, limits, diff, got, want)
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
		"after a call that failed": {func(t *testing.T, s *Store, _ func(time.Duration)) {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			if _, err := s.Take(ctx, charge("another", 1, limit)); err == nil {
				t.Fatal("no error")
			}
		}, false},
		"after a second": {func(_ *testing.T, _ *Store, sleep func(time.Duration)) {
			sleep(time.Second + time.Microsecond)
		}, false},
		"when the clock steps back": {func(_ *testing.T, _ *Store, sleep func(time.Duration)) {
			sleep(-time.Second)
		}, false},
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
	t.Run("after its booking was given back", func(t *testing.T) {
		s, _, _ := stillCounted(t)
		req := charge("key", 3, limit)
		req.Cancelable = true
		for name, giveBack := range map[string]func(receipt any) error{
			"Cancel": func(r any) error { return s.Cancel(t.Context(), r) },
			"Settle": func(r any) error { return s.Settle(t.Context(), r, 1) },
		} {
			d := take(t, s, req)
			if take(t, s, charge("key", 1, limit)).Allowed {
				t.Fatal("allowed")
			}
			if err := giveBack(d.Receipt); err != nil {
				t.Fatal(err)
			}
			if d := take(t, s, charge("key", 1, limit)); !d.Allowed {
				t.Errorf("%s: %+v", name, d)
			}
			if err := s.Reset(t.Context(), "", "key"); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A connection that fails ends remembered refusals whatever it was used for. A server
// that answers, and a caller who leaves, do not.
func TestRefusalsAndFailures(t *testing.T) {
	t.Parallel()
	limit := store.Per(3, time.Hour)
	waiting := charge("another", 1, limit)
	waiting.MaxWait = time.Minute
	calls := map[string]func(ctx context.Context, s *Store) error{
		"a call that may wait": func(ctx context.Context, s *Store) error { _, err := s.Take(ctx, waiting); return err },
		"a look": func(ctx context.Context, s *Store) error {
			_, err := s.Take(ctx, charge("another", 0, limit))
			return err
		},
		"a brake": func(ctx context.Context, s *Store) error {
			return s.Brake(ctx, waiting.Charges, store.Brake{Pause: time.Minute})
		},
		"a Reset": func(ctx context.Context, s *Store) error { return s.Reset(ctx, "", "another") },
	}
	for name, call := range calls {
		for _, failure := range []error{errors.New("a connection was lost"), redis.ErrClosed, redisError("ERR busy"), context.Canceled} {
			t.Run(fmt.Sprint(name, ", ", failure), func(t *testing.T) {
				t.Parallel()
				s, _, g := stillCounted(t)
				take(t, s, charge("key", 3, limit))
				take(t, s, charge("key", 1, limit))
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				g.answer = func() error {
					if failure == context.Canceled {
						leave()
					}
					return failure
				}
				if err := call(ctx, s); err == nil {
					t.Fatal("no error")
				}
				g.answer = nil
				before := g.commands.Load()
				take(t, s, charge("key", 1, limit))
				_, answered := failure.(redisError)
				if asked, want := g.commands.Load() != before, !answered && failure != context.Canceled; asked != want {
					t.Errorf("a refused key asks again: %t, want %t", asked, want)
				}
			})
		}
	}
}

// redisError is what a server answers.
type redisError string

func (e redisError) Error() string { return string(e) }
func (redisError) RedisError()     {}

// A refusal that was on its way while the key was reset must not be kept.
func TestRefusalOfBeforeAResetIsNotKept(t *testing.T) {
	t.Parallel()
	s, _, _ := stillCounted(t)
	req := charge("key", 1, store.Per(1, time.Hour))
	take(t, s, req)
	c := &req.Charges[0]
	p := s.denials.place(s.denials.hash("", "key"))
	turn := p.turn.Load()
	a, err := s.alone(t.Context(), s.stateKey("", "key"), s.terms.of(c))
	if err != nil || a.allowed {
		t.Fatal(a, err)
	}
	if err := s.Reset(t.Context(), "", "key"); err != nil {
		t.Fatal(err)
	}
	s.denials.refused(p, turn, c, &a, denial{heard: s.elapsed()})
	if d := take(t, s, req); !d.Allowed {
		t.Errorf("%+v", d)
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
