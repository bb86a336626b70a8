package localstore_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// told returns the memory of a key from another store's states at an instant.
func told(charges []store.Charge, states []store.ChargeState, at store.Instant) store.Memory {
	m := store.Memory{Scope: charges[0].Scope, Key: charges[0].Key, At: at}
	for i := range charges {
		m.Limits = append(m.Limits, charges[i].Limit)
		m.Known = append(m.Known, exact.UsedOf(&charges[i].Limit, states[i], at))
	}
	return m
}

// TestSeed: a store seeded with another's answer goes on from there, at least as strictly.
func TestSeed(t *testing.T) {
	t.Parallel()
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		for name, limits := range map[string][]store.Limit{
			"one limit": {store.Per(7, time.Minute).By(a)}, "two": {store.Per(7, time.Minute).By(a), store.Per(20, time.Hour)},
		} {
			t.Run(fmt.Sprint(a, "/", name), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					for i := range int64(8 * 3) {
						from, to, used := open(t), open(t), i/3
						time.Sleep(13 * time.Second)
						take(t, from, charge("key", used, limits...))
						time.Sleep(5 * time.Second)
						look := charge("key", 0, limits...)
						was := take(t, from, look)
						states := make([]store.ChargeState, len(limits))
						free := was.Remaining
						for i := range states {
							states[i] = was.Charge(i)
							free = min(free, states[i].Remaining)
						}
						switch i % 3 { // The store's own knowledge of the key before.
						case 0:
							take(t, to, charge("key", 3, store.Per(5, 24*time.Hour).By(a)))
						case 1:
							take(t, to, charge("key", 3, limits...))
						}
						to.Seed(told(look.Charges, states, was.At))
						for left := free; left > 0; left-- {
							if d := take(t, to, charge("key", 1, limits...)); !d.Allowed {
								t.Fatalf("%d used, %d left: %+v", used, left, d)
							}
						}
						if d := take(t, to, charge("key", 1, limits...)); d.Allowed {
							t.Errorf("%d used, none left: %+v", used, d)
						}
					}
				})
			})
		}
	}
}

// TestSeedOfTheWindowBefore: the units of a sliding counter's window before weigh less already,
// and go on to lose weight.
func TestSeedOfTheWindowBefore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := store.Per(100, time.Minute).By(store.SlidingCounter)
		for after := time.Second; after < 2*time.Minute; after += 7 * time.Second {
			from, to := open(t), open(t)
			take(t, from, charge("key", 100, l))
			time.Sleep(after)
			was := take(t, from, charge("key", 0, l))
			to.Seed(told(charge("key", 0, l).Charges, []store.ChargeState{was.Charge(0)}, was.At))
			for range 10 {
				was, now := take(t, from, charge("key", 0, l)), take(t, to, charge("key", 0, l))
				if now.Remaining > was.Remaining || now.Remaining < was.Remaining-1 || now.ResetAfter != was.ResetAfter {
					t.Errorf("%s later: %+v, want %+v", after, now, was)
				}
				time.Sleep(time.Second)
			}
		}
	})
	// Every state can be seeded.
	s := open(t)
	for _, l := range []store.Limit{{Rate: store.MaxUnits, Period: store.MaxPeriod}, {Rate: 1, Period: time.Microsecond}} {
		for _, st := range []store.ChargeState{{ResetAfter: time.Microsecond}, {}, {ResetAfter: store.MaxPeriod}, {ResetAfter: 2 * store.MaxPeriod}} {
			l := l.By(store.SlidingCounter)
			s.Seed(told(charge("key", 0, l).Charges, []store.ChargeState{st}, 946684800_000_000))
			take(t, s, charge("key", 1, l))
		}
	}
}

// TestSeedOfSmallKey: each limit of a key has its seeded state. The key takes no more memory
// than one used here.
func TestSeedOfSmallKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		req := charge("key", 1, store.Per(5, time.Second), store.Per(60, time.Minute), store.Per(100, time.Hour))
		states := []store.ChargeState{{Remaining: 4, ResetAfter: 200 * time.Millisecond}, {Remaining: 0, ResetAfter: time.Minute}, {Remaining: 50, ResetAfter: 30 * time.Minute}}
		for range 2 { // a new key and one that is known
			s.Seed(told(req.Charges, states, store.Instant(time.Now().UnixMicro())))
			look := charge("key", 0, store.Per(5, time.Second), store.Per(60, time.Minute), store.Per(100, time.Hour))
			if d := take(t, s, look); !slices.Equal(d.Charges, states) || s.SmallKeys() != 1 {
				t.Errorf("%+v, want %+v, %d small keys", d.Charges, states, s.SmallKeys())
			}
			if d := take(t, s, req); d.Allowed || d.RetryAfter != time.Second {
				t.Errorf("%+v", d)
			}
			time.Sleep(time.Second)
			if d := take(t, s, req); !d.Allowed {
				t.Errorf("a second later: %+v", d)
			}
		}
	})
}

// TestSeedOfAFullStore: a full store seeds only known keys.
func TestSeedOfAFullStore(t *testing.T) {
	t.Parallel()
	s := openFor(t, 1)
	l := store.Per(5, time.Hour)
	take(t, s, charge("kept", 1, l))
	for _, key := range []string{"kept", "new"} {
		s.Seed(told(charge(key, 0, l).Charges, []store.ChargeState{{Remaining: 0, ResetAfter: time.Hour}}, store.Instant(time.Now().UnixMicro())))
	}
	if _, err := s.Take(t.Context(), charge("new", 1, l)); err != localstore.ErrFull {
		t.Errorf("a key that there is no room for: %v", err)
	}
	if d := take(t, s, charge("kept", 1, l)); d.Allowed || s.Keys() != 1 {
		t.Errorf("a key that was known as used up: %+v, %d keys", d, s.Keys())
	}
}

// TestSeedOfAWindowToCome: units of a window ahead are not free now.
func TestSeedOfAWindowToCome(t *testing.T) {
	t.Parallel()
	for _, a := range []store.Algorithm{store.FixedWindow, store.AlignedWindow} {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				from, to := open(t), open(t)
				l := store.Per(7, time.Minute).By(a)
				time.Sleep(13 * time.Second)
				take(t, from, charge("key", 5, l))
				ahead := charge("key", 3, l)
				ahead.MaxWait = time.Hour
				was := take(t, from, ahead)
				if was.Remaining != 4 || was.Delay == 0 {
					t.Fatalf("booked ahead: %+v", was)
				}
				to.Seed(told(ahead.Charges, []store.ChargeState{was.Charge(0)}, was.At))
				if d := take(t, to, charge("key", 1, l)); d.Allowed || d.RetryAfter != was.Delay {
					t.Errorf("before it starts: %+v, want it free after %v", d, was.Delay)
				}
				time.Sleep(was.Delay)
				for left := int64(3); left >= 0; left-- {
					if d := take(t, to, charge("key", 1, l)); !d.Allowed || d.Remaining != left {
						t.Errorf("when it has started: %+v, want %d remaining", d, left)
					}
				}
				if d := take(t, to, charge("key", 1, l)); d.Allowed {
					t.Errorf("none left: %+v", d)
				}
			})
		})
	}
}

// TestSeedOfWhatIsBookedAhead: units booked ahead in another store are used until then here,
// too, and not only for a period from now.
func TestSeedOfWhatIsBookedAhead(t *testing.T) {
	t.Parallel()
	for a := store.GCRA; a <= store.SlidingCounter; a++ {
		t.Run(fmt.Sprint(a), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				from, to := open(t), open(t)
				l := store.Per(10, time.Minute).By(a)
				req := charge("key", 10, l)
				req.MaxWait = time.Hour
				for range 4 {
					take(t, from, req)
				}
				was := take(t, from, charge("key", 0, l))
				to.Seed(told(charge("key", 0, l).Charges, []store.ChargeState{was.Charge(0)}, was.At))
				if d := take(t, to, charge("key", 0, l)); d.ResetAfter < was.ResetAfter {
					t.Errorf("as if never used after %s, want %s", d.ResetAfter, was.ResetAfter)
				}
				want, got := take(t, from, charge("key", 1, l)), take(t, to, charge("key", 1, l))
				if got.Allowed || got.RetryAfter < want.RetryAfter || got.RetryAfter > want.RetryAfter+time.Minute {
					t.Errorf("seeded: %v after %s, want %s", got.Allowed, got.RetryAfter, want.RetryAfter)
				}
			})
		})
	}
}

// TestGivesBackAfterSeed: units granted on a seeded state can be settled and cancelled as any
// others.
func TestGivesBackAfterSeed(t *testing.T) {
	t.Parallel()
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		for name, test := range map[string]struct {
			leave func(t *testing.T, s *localstore.Store, l store.Limit)
			left  int64
		}{
			"settled": {left: 3, leave: func(t *testing.T, s *localstore.Store, l store.Limit) {
				d := take(t, s, cancelable("key", 4, 0, l))
				take(t, s, charge("key", 1, l))
				settle(t, s, d, 1)
			}},
			"a line for the next window leaves": {left: 0, leave: func(t *testing.T, s *localstore.Store, l store.Limit) {
				take(t, s, charge("key", 5, l))
				first, last := take(t, s, cancelable("key", 1, time.Hour, l)), take(t, s, cancelable("key", 1, time.Hour, l))
				cancel(t, s, first)
				cancel(t, s, last)
			}},
		} {
			t.Run(fmt.Sprint(a, "/", name), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					from, to := open(t), open(t)
					l := store.Per(10, time.Hour).By(a)
					time.Sleep(13 * time.Minute)
					was := take(t, from, charge("key", 5, l))
					time.Sleep(time.Millisecond)
					to.Seed(told(charge("key", 0, l).Charges, []store.ChargeState{was.Charge(0)}, was.At))
					test.leave(t, to, l)
					if d := take(t, to, charge("key", 0, l)); d.Remaining != test.left {
						t.Errorf("%d remaining, want %d", d.Remaining, test.left)
					}
				})
			})
		}
	}
}

// TestSeedOfSeveralWindows: sliding windows of a key share a log, and each counts its seeded
// units.
func TestSeedOfSeveralWindows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := open(t), open(t)
		limits := []store.Limit{store.Per(5, time.Second), store.Per(20, time.Minute), store.Per(9, time.Second), store.Per(100, time.Hour)}
		for i := range limits {
			limits[i] = limits[i].By(store.SlidingWindow)
		}
		take(t, from, charge("key", 4, limits...))
		time.Sleep(2 * time.Second)
		take(t, from, charge("key", 3, limits...))
		time.Sleep(100 * time.Millisecond)
		look := charge("key", 0, limits...)
		was := take(t, from, look)
		to.Seed(told(look.Charges, was.Charges, was.At))
		now := take(t, to, look)
		if !slices.Equal(now.Charges, was.Charges) {
			t.Errorf("%+v, want %+v", now.Charges, was.Charges)
		}
		if d := take(t, to, charge("key", 3, limits...)); d.Allowed || d.RetryAfter != 900*time.Millisecond {
			t.Errorf("one more than the first window holds: %+v", d)
		}
	})
}
