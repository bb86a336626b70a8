package localstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// TestLapsedKeysAreForgotten: with new keys all the time, the store holds few more keys than
// those in use.
func TestLapsedKeysAreForgotten(t *testing.T) {
	t.Parallel()
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		t.Run(a.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := open(t)
				l := store.Per(1, time.Second).By(a)
				const perTick, ticks = 20, 1000
				lives := time.Second
				if a == store.SlidingCounter {
					lives *= 2
				}
				most := 0
				for tick := range ticks {
					for i := range perTick {
						take(t, s, charge(fmt.Sprint(tick, " ", i), 1, l))
					}
					time.Sleep(10 * time.Millisecond)
					most = max(most, s.Keys())
				}
				// A quarter more keys wait to be forgotten, and shards differ.
				if live := perTick * int(lives/(10*time.Millisecond)); most > 3*live/2 {
					t.Errorf("%d keys at once, %d are in use", most, live)
				}
			})
		})
	}
}

// TestCrowdOfKeysLeavesNoRoomBehind: Go's maps never shrink by themselves.
func TestCrowdOfKeysLeavesNoRoomBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		l := store.Per(1, time.Second)
		for i := range 100_000 {
			take(t, s, charge(fmt.Sprint("crowd ", i), 1, l))
		}
		time.Sleep(2 * time.Second)
		for i := range 40_000 {
			s.Advance(time.Millisecond)
			take(t, s, charge(fmt.Sprint("usual ", i), 1, l))
		}
		if keys, room := s.Keys(), s.Room(); keys > 2000 || room > 30_000 {
			t.Errorf("%d keys in room for %d", keys, room)
		}
	})
}

// TestOnlyWhatWasTakenIsKept: looks and refusals leave no key behind.
func TestOnlyWhatWasTakenIsKept(t *testing.T) {
	t.Parallel()
	s := open(t)
	l := store.Per(1, time.Hour)
	take(t, s, charge("used up", 1, l))
	two := func(a, b string) store.Request {
		return store.Request{Charges: append(charge(a, 1, l).Charges, charge(b, 1, l).Charges...)}
	}
	for name, req := range map[string]store.Request{
		"peek":               charge("new", 0, l),
		"peek at two limits": charge("new", 0, l, store.Per(5, 24*time.Hour).By(store.SlidingWindow)),
		"never fits":         charge("new", 2, l),
		"never fits two":     charge("new", 2, l, store.Per(5, 24*time.Hour)),
		"peek at two small":  charge("new", 0, l, store.Per(5, 24*time.Hour)),
		"refused by another": two("new", "used up"),
		"refused, the first": two("used up", "new"),
	} {
		if take(t, s, req); s.Keys() != 1 {
			t.Errorf("%s: %d keys, want 1", name, s.Keys())
		}
	}
	r := charge("new", 1, l)
	r.Cancelable = true
	if err := s.Cancel(context.Background(), take(t, s, r).Receipt); err != nil || s.Keys() != 1 {
		t.Errorf("taken and given back: %d keys, want 1, %v", s.Keys(), err)
	}
}

func TestFullStore(t *testing.T) {
	t.Parallel()
	for _, most := range []int{1, 7, 64, 1000} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := openFor(t, most)
				ctx := context.Background()
				l := store.Per(2, time.Minute)
				key := func(i int) store.Request { return charge(fmt.Sprint(i), 1, l) }
				for i := range most {
					take(t, s, key(i))
				}
				full := func(what string, req store.Request) {
					t.Helper()
					if d, err := s.Take(ctx, req); !errors.Is(err, localstore.ErrFull) {
						t.Errorf("%s: %+v, %v, want ErrFull", what, d, err)
					}
				}
				full("a new key", key(most))
				full("a known and a new key", store.Request{Charges: append(key(0).Charges, key(most).Charges...)})
				if d := take(t, s, charge("new", 0, l)); d.Remaining != 2 {
					t.Errorf("a look at a new key: %+v", d)
				}
				if d := take(t, s, key(0)); !d.Allowed || d.Remaining != 0 {
					t.Errorf("a known key, which a call that failed must not have charged: %+v", d)
				}
				if d := take(t, s, key(0)); d.Allowed {
					t.Errorf("a known key is not counted any more: %+v", d)
				}
				if err := s.Reset(ctx, "", "0"); err != nil {
					t.Fatal(err)
				}
				take(t, s, key(most))
				full("a new key after one replaced a reset key", key(most+1))
				time.Sleep(time.Minute)
				for i := range most {
					// The last lapsed keys take several searches.
					var err error
					for range most {
						if _, err = s.Take(ctx, key(2*most+i)); err == nil {
							break
						}
					}
					if err != nil {
						t.Fatalf("after %d of %d keys that lapsed: %v", i, most, err)
					}
				}
				full("one more than had lapsed", key(-1))
				if s.Keys() != most {
					t.Errorf("%d keys, want %d", s.Keys(), most)
				}
			})
		})
	}
}

// TestKeyInUseNeverGetsAFreshBurst: a crowd of other keys changes nothing of a key in use.
func TestKeyInUseNeverGetsAFreshBurst(t *testing.T) {
	t.Parallel()
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		for name, further := range map[string][]store.Limit{"one limit": nil, "three": {store.Per(5, time.Second).By(a), store.Per(100, time.Hour)}} {
			t.Run(a.String()+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { neverFresh(t, a, further) })
			})
		}
	}
}

func neverFresh(t *testing.T, a store.Algorithm, further []store.Limit) {
	s := openFor(t, 500)
	used, crowd := append(further[:len(further):len(further)], store.Per(3, time.Hour).By(a)), append(further[:len(further):len(further)], store.Per(1, time.Second).By(a))
	keys := make([]string, 50)
	for i := range keys {
		keys[i] = fmt.Sprint("used ", i)
		take(t, s, charge(keys[i], 3, used...))
	}
	for i := range 20_000 {
		if _, err := s.Take(context.Background(), charge(fmt.Sprint("crowd ", i), 1, crowd...)); err != nil && !errors.Is(err, localstore.ErrFull) {
			t.Fatal(err)
		}
		// So short that no aligned hour, nor a third of one, ends.
		time.Sleep(50 * time.Millisecond)
		if d := take(t, s, charge(keys[rand.IntN(len(keys))], 1, used...)); d.Allowed {
			t.Fatalf("after %d other keys: %+v", i, d)
		}
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	var ce *store.ConfigError
	if s, err := localstore.New(localstore.Config{MaxKeys: -1}); !errors.As(err, &ce) || ce.Field != "localstore.Config.MaxKeys" {
		t.Errorf("MaxKeys -1: %v, %v, want a ConfigError of that field", s, err)
	}
}
