package weirtest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/storetest"
	"github.com/goweir/weir/weirtest"
)

// A Store without commands does the same as the store that it wraps.
func TestStoreConforms(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store { return weirtest.NewStore(local(t)) })
}

// abilities calls each optional method of a store, and returns the errors.
func abilities(tb testing.TB, s *weirtest.Store, receipt any) map[string]error {
	tb.Helper()
	ctx := tb.Context()
	_, renew := s.Renew(ctx, "s", "k", time.Second, "id")
	return map[string]error{
		"Cancel":  s.Cancel(ctx, receipt),
		"Settle":  s.Settle(ctx, receipt, 1),
		"Reset":   s.Reset(ctx, "s", "k"),
		"Brake":   s.Brake(ctx, one(0).Charges, store.Brake{Pause: time.Second}),
		"Release": s.Release(ctx, "s", "k", "id"),
		"Renew":   renew,
	}
}

func TestAbilitiesThatTheWrappedStoreLacks(t *testing.T) {
	t.Parallel()
	s := weirtest.NewStore(bare{local(t)})
	for name, err := range abilities(t, s, nil) {
		if !errors.Is(err, store.ErrUnsupported) {
			t.Errorf("%s: %v, want ErrUnsupported", name, err)
		}
	}
	req := one(0)
	req.Hold = store.Hold{Max: 1, ID: "id", Lease: time.Second}
	if d, err := s.Take(t.Context(), req); !errors.Is(err, store.ErrUnsupported) || d.Allowed {
		t.Errorf("a hold: %+v, %v; want ErrUnsupported", d, err)
	}
	if d, err := s.Take(t.Context(), one(0)); err != nil || d.Remaining != 4 {
		t.Errorf("after a hold that was not taken: %+v, %v; want 4 left", d, err)
	}
	w := s.WatchBrakes(func(string, string, store.Clock) { t.Error("a brake came") })
	defer w.Stop()
	if !w.Covers(time.Now()) || !w.Covers(time.Time{}) {
		t.Error("a brake may have been missed where there are none")
	}
}

// With and without brakes in the wrapped store, only the first wait asks again when
// its slot comes: there was no watch yet when its slot was booked.
func TestWaitsAskOnce(t *testing.T) {
	t.Parallel()
	for name, base := range map[string]func(store.Store) store.Store{
		"no braker": func(s store.Store) store.Store { return bare{s} }, "braker": func(s store.Store) store.Store { return s },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := weirtest.NewStore(base(local(t)))
				l := limiter(t, s, weir.PerHour(1))
				for range 4 { // The first does not wait.
					if err := l.Wait(t.Context(), "k"); err != nil {
						t.Fatal(err)
					}
				}
				if got := s.Counts(); got.Takes != 5 || got.Watching != 1 {
					t.Errorf("counts %+v, want 5 takes and 1 watch", got)
				}
				time.Sleep(2 * time.Second)
				if got := s.Counts(); got.Watching != 0 {
					t.Errorf("counts %+v, want no watch any more", got)
				}
			})
		})
	}
}

func TestAbilitiesThatFail(t *testing.T) {
	t.Parallel()
	s := weirtest.NewStore(local(t))
	req := one(0)
	req.Cancelable = true
	d, err := s.Take(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	s.FailOthers(errDown)
	for name, err := range abilities(t, s, d.Receipt) {
		if !errors.Is(err, errDown) {
			t.Errorf("%s: %v, want the error set for it", name, err)
		}
	}
	if d, err := s.Take(t.Context(), one(0)); err != nil || !d.Allowed || d.Remaining != 3 {
		t.Errorf("after failures: %+v, %v; want 3 left and no pause", d, err)
	}
	want := weirtest.StoreCounts{Takes: 2, Cancels: 1, Settles: 1, Resets: 1, Brakes: 1, Releases: 1, Renews: 1, MaxInTake: 1}
	if got := s.Counts(); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	s.Clear()
	if got := s.Counts(); got != (weirtest.StoreCounts{}) {
		t.Errorf("counts %+v after Clear", got)
	}
	for name, err := range abilities(t, s, d.Receipt) {
		if name == "Settle" {
			continue // it was cancelled
		}
		if err != nil {
			t.Errorf("%s after Clear: %v", name, err)
		}
	}
}

func TestBrakesArePassedOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := weirtest.NewStore(local(t))
		l := limiter(t, s)
		told := 0
		w := s.WatchBrakes(func(scope, key string, c store.Clock) {
			if told++; scope != "scope" || key != "k" || c.Set() == 0 {
				t.Errorf("a brake of %q %q: %v", scope, key, c)
			}
		})
		if err := l.Pause(t.Context(), "k", time.Minute); err != nil {
			t.Fatal(err)
		}
		if d, err := l.Allow(t.Context(), "k"); err != nil || d.Reason != store.ReasonPaused {
			t.Errorf("%+v, %v; want a pause", d, err)
		}
		w.Stop()
		w.Stop() // harmless
		if err := l.Resume(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		if d, err := l.Allow(t.Context(), "k"); err != nil || !d.Allowed {
			t.Errorf("%+v, %v; want no pause", d, err)
		}
		if got := s.Counts(); told != 1 || got.Brakes != 2 || got.Watching != 0 {
			t.Errorf("%d brakes came, counts %+v; want 1, 2 brakes and no watch", told, got)
		}
		s.FailOthers(errDown)
		if err := l.Pause(t.Context(), "k", time.Minute); !errors.Is(err, weir.ErrStore) || !errors.Is(err, errDown) {
			t.Errorf("a pause that fails: %v", err)
		}
	})
}

func TestSettlingIsPassedOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := weirtest.NewStore(local(t))
		l := limiter(t, s, weir.PerHour(10))
		r, err := l.ReserveN(t.Context(), "k", 5)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Settle(t.Context(), 2); err != nil {
			t.Error(err)
		}
		if d, err := l.Peek(t.Context(), "k"); err != nil || d.Remaining != 8 {
			t.Errorf("remaining %d, %v; want 8", d.Remaining, err)
		}
		// Units granted without the wrapped store can be settled and cancelled.
		s.Next(weirtest.Grant(0), weirtest.Grant(0))
		for _, end := range []func(*weir.Reservation) error{
			func(r *weir.Reservation) error { return r.Settle(t.Context(), 2) },
			func(r *weir.Reservation) error { return r.Cancel(t.Context()) },
		} {
			if r, err = l.ReserveN(t.Context(), "k", 5); err != nil {
				t.Fatal(err)
			}
			if err := end(r); err != nil {
				t.Error(err)
			}
		}
		if got := s.Counts(); got.Settles != 2 || got.Cancels != 1 {
			t.Errorf("counts %+v, want 2 settles and 1 cancel", got)
		}
	})
}

func inFlight(tb testing.TB, s store.Store) *weir.Limiter {
	tb.Helper()
	l, err := weir.New(weir.Config{Store: s, Limits: []weir.Limit{weir.PerSecond(5)}, Name: "scope", InFlight: 1, Lease: time.Second})
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func TestHoldsArePassedOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := weirtest.NewStore(local(t))
		l, other := inFlight(t, s), inFlight(t, s)
		lease, err := l.Acquire(t.Context(), "k")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		var limited *weir.LimitedError
		if _, err := other.TryAcquire(t.Context(), "k"); !errors.As(err, &limited) || limited.Reason != store.ReasonInFlight {
			t.Errorf("%v, want a refusal because one is in flight", err)
		}
		lease.Release()
		synctest.Wait()
		if lease, err = other.TryAcquire(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		lease.Release()
		synctest.Wait()
		if got := s.Counts(); got.Renews < 3 || got.Releases != 2 {
			t.Errorf("counts %+v, want renewals and 2 releases", got)
		}
	})
}

func TestStepsOfAHold(t *testing.T) {
	t.Parallel()
	req := one(0)
	req.Charges = append(req.Charges, store.Charge{Scope: "s", Key: "k", Limit: store.Per(9, 24*time.Hour), Cost: 1})
	req.Hold, req.Cancelable = store.Hold{Max: 1, ID: "id", Lease: time.Second}, true
	full := []store.ChargeState{{Remaining: 5}, {Remaining: 9}}
	none := []store.ChargeState{{ResetAfter: time.Second, RetryAfter: time.Second}, {ResetAfter: time.Second, RetryAfter: time.Second}}
	cases := []struct {
		name   string
		step   weirtest.Step
		reason store.Reason
		states []store.ChargeState
		err    error
		held   bool
	}{
		{"pass", weirtest.Pass(), store.ReasonAllowed, []store.ChargeState{{Remaining: 4}, {Remaining: 8}}, nil, true},
		{"refused by the hold, the limits have everything left", weirtest.RefuseAs(store.ReasonInFlight, time.Second), store.ReasonInFlight, full, nil, false},
		{"refused by a limit", weirtest.Refuse(time.Second), store.ReasonLimited, none, nil, false},
		{"granted without the wrapped store", weirtest.Grant(0), store.ReasonAllowed, full, nil, false},
		{"failed", weirtest.Fail(errDown), 0, nil, errDown, false},
		{"lost on the way back", weirtest.Lose(errDown), 0, nil, errDown, true},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := weirtest.NewStore(local(t))
				s.Next(tc.step)
				d, err := s.Take(t.Context(), req)
				if !errors.Is(err, tc.err) || d.Reason != tc.reason || d.Allowed != (err == nil && tc.reason == store.ReasonAllowed) {
					t.Errorf("%+v, %v", d, err)
				}
				for i := range d.Charges {
					d.Charges[i].ResetAfter *= min(d.Charges[i].RetryAfter, 1) // of no interest when nothing refuses
				}
				if !slices.Equal(d.Charges, tc.states) || (d.Receipt != nil) != d.Allowed {
					t.Errorf("states %+v, want %+v; receipt %v", d.Charges, tc.states, d.Receipt)
				}
				if err == nil && !d.Allowed && d.RetryAfter != time.Second {
					t.Errorf("retry after %v", d.RetryAfter)
				}
				lost, err := s.Renew(context.Background(), "s", "k", time.Second, "id")
				if err != nil || (len(lost) == 0) != tc.held {
					t.Errorf("lost %q, %v; want it held: %v", lost, err, tc.held)
				}
			})
		})
	}
}
