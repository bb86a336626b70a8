package weirtest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/weirtest"
)

var errDown = errors.New("down")

func limiter(tb testing.TB, s store.Store, limits ...weir.Limit) *weir.Limiter {
	tb.Helper()
	if len(limits) == 0 {
		limits = []weir.Limit{weir.PerSecond(5)}
	}
	l, err := weir.New(weir.Config{Store: s, Limits: limits, Name: "scope"})
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func local(tb testing.TB) store.Store {
	tb.Helper()
	s, err := localstore.New(localstore.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// bare is a store without optional abilities.
type bare struct{ store.Store }

func one(maxWait time.Duration) store.Request {
	return store.Request{Charges: []store.Charge{{Scope: "s", Key: "k", Limit: store.Per(5, time.Second), Cost: 1}}, MaxWait: maxWait}
}

func TestStoreAllowsAllAtFirst(t *testing.T) {
	t.Parallel()
	s := weirtest.NewStore(nil)
	l := limiter(t, s, weir.PerDay(1), weir.PerSecond(7))
	for range 100 {
		d, err := l.AllowN(t.Context(), "k", 1)
		if err != nil || !d.Allowed || d.Limit != weir.PerDay(1) || d.Remaining != 1 || d.Charge(1).Remaining != 7 {
			t.Fatalf("decision %+v, %v", d, err)
		}
	}
	if got := s.Counts(); got.Takes != 100 || got.MaxInTake != 1 || got.InTake != 0 {
		t.Errorf("counts %+v", got)
	}
}

func TestSteps(t *testing.T) {
	t.Parallel()
	limit := store.Per(5, time.Second)
	allowed := store.Decision{Allowed: true, Limit: limit, Remaining: 5}
	refused := store.Decision{Reason: store.ReasonLimited, Limit: limit, RetryAfter: time.Second, ResetAfter: time.Second}
	delayed := allowed
	delayed.Delay = time.Second
	never := store.Decision{Reason: store.ReasonNeverFits, Limit: limit, RetryAfter: store.Never}
	paused := refused
	paused.Reason = store.ReasonPaused
	made := store.Decision{Allowed: true, Degraded: true}
	cases := []struct {
		name    string
		step    weirtest.Step
		maxWait time.Duration
		timeout time.Duration // of the context; 0: none
		want    store.Decision
		err     error
		took    time.Duration
	}{
		{"nil", nil, 0, 0, allowed, nil, 0},
		{"pass", weirtest.Pass(), 0, 0, allowed, nil, 0},
		{"refuse", weirtest.Refuse(time.Second), 0, 0, refused, nil, 0},
		{"refuse what would wait", weirtest.Refuse(time.Second), time.Hour, 0, refused, nil, 0},
		{"refuse for ever", weirtest.Refuse(store.Never), 0, 0, never, nil, 0},
		{"refuse without a wait", weirtest.Refuse(-1), 0, 0, store.Decision{Reason: store.ReasonLimited, Limit: limit}, nil, 0},
		{"paused", weirtest.RefuseAs(store.ReasonPaused, time.Second), 0, 0, paused, nil, 0},
		{"grant now", weirtest.Grant(0), 0, 0, allowed, nil, 0},
		{"grant later", weirtest.Grant(time.Second), time.Second, 0, delayed, nil, 0},
		{"grant too late", weirtest.Grant(time.Second), time.Second - 1, 0, refused, nil, 0},
		{"decide", weirtest.Decide(made), 0, 0, made, nil, 0},
		{"fail", weirtest.Fail(errDown), 0, 0, store.Decision{}, errDown, 0},
		{"lose", weirtest.Lose(errDown), 0, 0, store.Decision{}, errDown, 0},
		{"after", weirtest.After(time.Second, weirtest.Refuse(time.Second)), 0, 0, refused, nil, time.Second},
		{"after, nil", weirtest.After(time.Second, nil), 0, 0, allowed, nil, time.Second},
		{"after the deadline", weirtest.After(time.Second, weirtest.Fail(errDown)), 0, time.Millisecond, store.Decision{}, context.DeadlineExceeded, time.Millisecond},
		{"block", weirtest.Block(), 0, time.Minute, store.Decision{}, context.DeadlineExceeded, time.Minute},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tc.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.timeout)
					defer cancel()
				}
				s := weirtest.NewStore(nil)
				s.Next(tc.step)
				start := time.Now()
				d, err := s.Take(ctx, one(tc.maxWait))
				if !errors.Is(err, tc.err) || (err == nil) != (tc.err == nil) {
					t.Errorf("error %v, want %v", err, tc.err)
				}
				if took := time.Since(start); took != tc.took {
					t.Errorf("took %v, want %v", took, tc.took)
				}
				if d.Allowed != tc.want.Allowed || d.Reason != tc.want.Reason || d.Delay != tc.want.Delay || d.RetryAfter != tc.want.RetryAfter ||
					d.ResetAfter != tc.want.ResetAfter || d.Remaining != tc.want.Remaining || d.Limit != tc.want.Limit || d.Degraded != tc.want.Degraded {
					t.Errorf("decision %+v, want %+v", d, tc.want)
				}
				// The script is used up.
				if d, err := s.Take(t.Context(), one(0)); err != nil || !d.Allowed || s.Left() != 0 {
					t.Errorf("the next decision is %+v, %v", d, err)
				}
			})
		})
	}
}

func TestFailWithoutAnError(t *testing.T) {
	t.Parallel()
	for _, step := range []weirtest.Step{weirtest.Fail(nil), weirtest.Lose(nil)} {
		s := weirtest.NewStore(nil)
		s.Always(step)
		if _, err := s.Take(t.Context(), one(0)); err == nil {
			t.Error("no error")
		}
	}
}

func TestScript(t *testing.T) {
	t.Parallel()
	s := weirtest.NewStore(nil)
	l := limiter(t, s)
	allow := func() string {
		d, err := l.Allow(t.Context(), "k")
		switch {
		case errors.Is(err, weir.ErrStore) && errors.Is(err, errDown):
			return "fail"
		case err != nil:
			return err.Error()
		}
		return d.Reason.String()
	}
	s.Next(weirtest.Refuse(time.Second), weirtest.Fail(errDown))
	s.Next(weirtest.Pass())
	s.Always(weirtest.Refuse(store.Never))
	var got []string
	for range 5 {
		got = append(got, allow())
	}
	if want := []string{"limited", "fail", "allowed", "never_fits", "never_fits"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	s.Next(weirtest.Fail(errDown))
	s.FailOthers(errDown)
	s.Clear()
	if got := s.Counts(); got != (weirtest.StoreCounts{}) || len(s.Requests()) != 0 || s.Left() != 0 {
		t.Errorf("counts %+v after Clear", got)
	}
	if got := allow(); got != "allowed" {
		t.Errorf("%s after Clear, want allowed", got)
	}
	if err := l.Reset(t.Context(), "k"); err != nil {
		t.Error(err)
	}
}

// Lose charges, Fail does not.
func TestLoseCharges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := weirtest.NewStore(local(t))
		l := limiter(t, s)
		s.Next(weirtest.Lose(errDown), weirtest.Fail(errDown), weirtest.Refuse(1), weirtest.Grant(0))
		for range 4 {
			_, _ = l.Allow(t.Context(), "k")
		}
		if d, err := l.Peek(t.Context(), "k"); err != nil || d.Remaining != 4 {
			t.Errorf("remaining %d, %v; want 4", d.Remaining, err)
		}
	})
}

func TestOptionalAbilities(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := weirtest.NewStore(local(t))
		l := limiter(t, s, weir.PerHour(1))
		remaining := func() int64 {
			t.Helper()
			d, err := l.Peek(t.Context(), "k")
			if err != nil {
				t.Fatal(err)
			}
			return d.Remaining
		}
		r, err := l.Reserve(t.Context(), "k")
		if err != nil || remaining() != 0 {
			t.Fatalf("error %v, remaining %d", err, remaining())
		}
		if err := r.Cancel(t.Context()); err != nil || remaining() != 1 {
			t.Errorf("after Cancel: %v, remaining %d", err, remaining())
		}
		if _, err := l.Allow(t.Context(), "k"); err != nil || remaining() != 0 {
			t.Fatalf("error %v, remaining %d", err, remaining())
		}
		s.FailOthers(errDown)
		if err := l.Reset(t.Context(), "k"); !errors.Is(err, errDown) || remaining() != 0 {
			t.Errorf("a failing Reset: %v, remaining %d", err, remaining())
		}
		s.FailOthers(nil)
		if err := l.Reset(t.Context(), "k"); err != nil || remaining() != 1 {
			t.Errorf("after Reset: %v, remaining %d", err, remaining())
		}
		if r, err = l.Reserve(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		s.FailOthers(errDown)
		if err := r.Cancel(t.Context()); !errors.Is(err, errDown) || remaining() != 0 {
			t.Errorf("a failing Cancel: %v, remaining %d", err, remaining())
		}
		if got := s.Counts(); got.Cancels != 2 || got.Resets != 2 {
			t.Errorf("counts %+v, want 2 cancels and 2 resets", got)
		}
	})
}

func TestOptionalAbilitiesThatLack(t *testing.T) {
	t.Parallel()
	s := weirtest.NewStore(bare{local(t)})
	if err := s.Cancel(t.Context(), nil); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("Cancel: %v", err)
	}
	if err := limiter(t, s).Reset(t.Context(), "k"); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("Reset: %v", err)
	}
	if err := s.Reset(t.Context(), "s", "k"); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("Reset: %v", err)
	}
}

// A slot granted by the allow-all store can be given back.
func TestAllowAllCancels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := weirtest.NewStore(nil)
		s.Always(weirtest.Grant(time.Hour))
		l := limiter(t, s)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if err := l.Wait(ctx, "k"); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		synctest.Wait()
		if got := s.Counts(); got.Takes != 1 || got.Cancels != 1 {
			t.Errorf("counts %+v, want 1 take and 1 cancel", got)
		}
	})
}

func TestRequestsAreCopies(t *testing.T) {
	t.Parallel()
	s := weirtest.NewStore(nil)
	req := one(time.Minute)
	if _, err := s.Take(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	req.Charges[0].Key = "changed"
	s.Requests()[0].Charges[0].Key = "changed"
	if got := s.Requests(); len(got) != 1 || got[0].Charges[0].Key != "k" || got[0].MaxWait != time.Minute {
		t.Errorf("requests %+v", got)
	}
	if _, err := s.Take(t.Context(), store.Request{}); !errors.Is(err, store.ErrConfig) {
		t.Errorf("an invalid request: %v", err)
	}
}

func TestRequestsAreBounded(t *testing.T) {
	t.Parallel()
	s := weirtest.NewStore(nil)
	const n = 45_000
	for i := range n {
		req := one(time.Duration(i))
		if _, err := s.Take(t.Context(), req); err != nil {
			t.Fatal(err)
		}
	}
	got := s.Requests()
	if len(got) != 10_000 || got[0].MaxWait != n-10_000 || got[9_999].MaxWait != n-1 || s.Counts().Takes != n {
		t.Errorf("%d requests are kept, from %d on", len(got), got[0].MaxWait)
	}
}

func TestPanicIsTheCallers(t *testing.T) {
	t.Parallel()
	s := weirtest.NewStore(nil)
	s.Next(func(context.Context, store.Request, store.Store) (store.Decision, error) { panic("broken") })
	func() {
		defer func() {
			if r := recover(); r != "broken" {
				t.Errorf("recovered %v, want broken", r)
			}
		}()
		_, _ = s.Take(t.Context(), one(0))
	}()
	if got := s.Counts(); got.InTake != 0 || got.Takes != 1 {
		t.Errorf("counts %+v, want none in Take", got)
	}
}

func TestStoreConcurrently(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := weirtest.NewStore(nil)
		s.Always(weirtest.After(time.Second, nil))
		l := limiter(t, s)
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if _, err := l.Allow(t.Context(), "k"); err != nil {
					t.Error(err)
				}
				_ = l.Reset(t.Context(), "k")
				_, _ = s.Requests(), s.Counts()
			})
		}
		synctest.Wait()
		if got := s.Counts(); got.InTake != 50 {
			t.Errorf("counts %+v, want 50 in Take", got)
		}
		all.Wait()
		if got := s.Counts(); got.InTake != 0 || got.MaxInTake != 50 || got.Resets != 50 {
			t.Errorf("counts %+v", got)
		}
	})
}
