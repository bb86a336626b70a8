package localstore

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
)

func openStore(t testing.TB) *Store {
	t.Helper()
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func request(key string, cost int64, l store.Limit) store.Request {
	return store.Request{Charges: []store.Charge{{Scope: "api", Key: key, Limit: l, Cost: cost}}}
}

// neighbours returns n keys that share a place.
func neighbours(s *Store, n int) (keys []string) {
	first := uint64(0)
	for i := 0; len(keys) < n; i++ {
		key := fmt.Sprint("key ", i)
		h := s.hash(&id{"api", key})
		if i == 0 {
			first = h
		}
		if h%shardCount == first%shardCount && placeOf(h) == placeOf(first) {
			keys = append(keys, key)
		}
	}
	return keys
}

// hotKeys returns the hot keys.
func (s *Store) hotKeys() (keys []string) {
	for i := range s.all {
		for j := range s.all[i].small.hot.keys {
			if k := s.all[i].small.hot.keys[j].Load(); k != nil && k.tat.Load() != cooled {
				keys = append(keys, string(k.text[:k.n]))
			}
		}
	}
	return keys
}

// coolAll cools all keys.
func (s *Store) coolAll() {
	for i := range s.all {
		sh := &s.all[i]
		sh.mu.Lock()
		for j, tag := range sh.small.tags {
			if tag != 0 {
				sh.small.hot.cool(&sh.small.slots[j])
			}
		}
		sh.mu.Unlock()
	}
}

// A key under several limits never gets hot, even when calls name one of them. Its calls see
// no time earlier than that of other calls.
func TestSeveralLimitsStayInTheTable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		one := request("key", 1, store.Per(5, time.Second))
		two := one
		two.Charges = append(two.Charges[:1:1], store.Charge{Scope: "api", Key: "key", Limit: store.Per(100, time.Minute), Cost: 1})
		d, err := s.Take(t.Context(), two)
		if err != nil || !d.Allowed {
			t.Fatalf("%+v, %v", d, err)
		}
		a := ask{id: s.id("api", "key"), charges: one.Charges, cost: 1}
		a.hash = s.hash(&a.id)
		for range 10 * looksForHot {
			if _, done, err := s.takeSmall(&a); done || err != nil {
				t.Fatal("decided under one limit", err)
			}
		}
		if hot := s.hotKeys(); len(hot) > 0 {
			t.Errorf("%q are hot", hot)
		}
		at := s.now() + 7
		s.shard(a.id).small.last = at
		if d, err := s.Take(t.Context(), two); err != nil || d.At != store.Instant(at) {
			t.Errorf("%+v, %v, want it at %d", d, err, at)
		}
	})
}

// A key in constant use gets hot, unless its state is no whole number of microseconds. When it
// is used no more, a key with the same place gets hot.
func TestKeysGetHot(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	ask := func(key string, l store.Limit, times int) {
		t.Helper()
		for range times {
			if _, err := s.Take(t.Context(), request(key, 1, l)); err != nil {
				t.Fatal(err)
			}
		}
	}
	ask("a third of a second each", store.Per(3, time.Second), 100)
	ask("a window", store.Per(5, time.Second).By(store.FixedWindow), 100)
	ask("a key that is so long that it does not fit into a slot", store.Per(5, time.Second), 100)
	if hot := s.hotKeys(); len(hot) > 0 {
		t.Errorf("%q are hot", hot)
	}
	s = openStore(t)
	ask("seldom", store.Per(5, time.Second), 2*looksForHot-1)
	if hot := s.hotKeys(); len(hot) > 0 {
		t.Errorf("%q are hot", hot)
	}
	l, keys := store.Per(1, time.Hour).WithBurst(1000), neighbours(s, 2)
	for _, key := range []string{keys[0], keys[1], keys[0]} {
		ask(key, l, 2*looksForHot+1)
		if hot := s.hotKeys(); len(hot) != 1 || hot[0] != key {
			t.Errorf("%q are hot, want %q", hot, key)
		}
	}
	for range 10 * looksForHot { // Of two keys used in turn the first stays.
		ask(keys[0], l, 1)
		ask(keys[1], l, 1)
		if hot := s.hotKeys(); len(hot) != 1 || hot[0] != keys[0] {
			t.Fatalf("%q are hot, want %q", hot, keys[0])
		}
	}
}

// TestHotKeysAreDecidedTheSame compares two stores with the same calls. No key of the cold
// store ever gets hot.
func TestHotKeysAreDecidedTheSame(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 11))
			s, cold := openStore(t), openStore(t)
			l := store.Per(1+rng.Int64N(3)*4, time.Duration(1+rng.IntN(20))*time.Millisecond).WithBurst(1 + rng.Int64N(30))
			keys := neighbours(s, 3)
			hot := 0
			for step := range 2000 {
				key := keys[min(rng.IntN(6), 2)]
				req := request(key, 1, l)
				c := &req.Charges[0]
				switch what := rng.IntN(100); {
				case what < 15:
					time.Sleep(time.Duration(rng.Int64N(int64(l.Period)*2)) / 1000 * 1000)
				case what < 18:
					c.Cost = rng.Int64N(l.Max() + 2)
				case what < 20:
					c.Reserve = rng.Int64N(l.Max() + 2)
				case what < 21:
					req.MaxWait = time.Duration(rng.Int64N(int64(l.Period)))
				case what < 22:
					at := store.Instant(time.Now().UnixMicro())
					used := store.Used{At: at + store.Instant(rng.Int64N(3*l.Period.Microseconds()))}
					m := store.Memory{Scope: c.Scope, Key: c.Key, Limits: []store.Limit{c.Limit}, At: at, Known: []store.Used{used}}
					s.Seed(m)
					cold.Seed(m)
				case what < 23:
					if err := s.Reset(t.Context(), "api", key); err != nil {
						t.Fatal(err)
					}
					if err := cold.Reset(t.Context(), "api", key); err != nil {
						t.Fatal(err)
					}
				case what < 24:
					time.Sleep(time.Second)
					for i := range s.all {
						s.sweep(&s.all[i], s.now(), 100)
						cold.sweep(&cold.all[i], cold.now(), 100)
					}
				}
				got, err := s.Take(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				hot += len(s.hotKeys())
				want, err := cold.Take(t.Context(), req)
				if err != nil {
					t.Fatal(err)
				}
				cold.coolAll()
				if got.Allowed != want.Allowed || got.Remaining != want.Remaining || got.ResetAfter != want.ResetAfter ||
					got.RetryAfter != want.RetryAfter || got.Delay != want.Delay || got.At != want.At || got.Reason != want.Reason {
					t.Fatalf("seed %d, step %d, %+v:\ngot  %+v\nwant %+v", seed, step, req, got, want)
				}
				if s.Keys() != cold.Keys() {
					t.Fatalf("seed %d, step %d: %d keys, want %d", seed, step, s.Keys(), cold.Keys())
				}
			}
			if whole := newClass("", []store.Charge{{Limit: l}}).whole; (hot > 50) != whole {
				t.Errorf("seed %d, %v: keys were hot at %d calls", seed, l, hot)
			}
		})
	}
}

// A call looks at the clock, and another call overtakes it. The first call still finds the
// free room.
func TestHotKeysHaveTheLatestClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := openStore(t)
		l := store.Per(1000, time.Second).WithBurst(2)
		for s.hotKeys() == nil {
			if _, err := s.Take(t.Context(), request("key", 1, l)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		a := ask{id: id{"api", "key"}, charges: []store.Charge{{Limit: l}}, cost: 1}
		a.hash = s.hash(&a.id)
		k := s.shard(a.id).small.hot.of(&a)
		for i, late := range []int64{0, 500} {
			if o, done := k.take(&a, s.now()-late, s.now); !done || o.Reason() != store.ReasonAllowed {
				t.Errorf("call %d of 2: %+v, %t", i, o, done)
			}
		}
		if o, done := k.take(&a, s.now()-500, s.now); !done || o.Reason() != store.ReasonLimited || o.RetryAfter != time.Millisecond {
			t.Errorf("the third call: %+v, %t", o, done)
		}
	})
}

// TestHotKeysAreExact: many callers ask for keys that share a place, while others cool and
// sweep them. They go on until the others have seen a hot key.
func TestHotKeysAreExact(t *testing.T) {
	t.Parallel()
	s := openStore(t)
	keys := neighbours(s, 3)
	const most = 5000
	l := store.Per(1, time.Hour).WithBurst(most)
	sh := s.shard(id{"api", keys[0]})
	prepared := s.Prepare(s, "api", l)
	allow := func(key string, cost int64) (bool, error) {
		if o, done, err := prepared.Take(key, cost); done || err != nil {
			return o.Reason() == store.ReasonAllowed, err
		}
		d, err := s.Take(t.Context(), request(key, cost, l))
		return d.Allowed, err
	}
	var admitted [3]atomic.Int64
	var all, others sync.WaitGroup
	var over atomic.Bool
	var hot atomic.Int64
	others.Go(func() {
		for i := 0; !over.Load(); i++ {
			hot.Add(int64(len(s.hotKeys())))
			if i%100 == 0 {
				s.coolAll()
			}
			sh.mu.Lock()
			s.sweep(sh, s.now(), 10)
			sh.mu.Unlock()
		}
	})
	for g := range 8 {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			const calls = 3 * most / 8 * 2
			for n := 0; n < calls || hot.Load() == 0 && n < 100*calls; n++ {
				i := min(rng.IntN(10), 2)
				cost := 1 + rng.Int64N(2)
				allowed, err := allow(keys[i], cost)
				if err != nil {
					t.Error(err)
					return
				}
				if allowed {
					admitted[i].Add(cost)
				}
			}
			for i, key := range keys {
				for {
					allowed, err := allow(key, 1)
					if err != nil || !allowed {
						break
					}
					admitted[i].Add(1)
				}
			}
		})
	}
	all.Wait()
	over.Store(true)
	others.Wait()
	for i := range admitted {
		if n := admitted[i].Load(); n != most {
			t.Errorf("key %d: %d admitted of %d", i, n, most)
		}
	}
	if hot.Load() == 0 {
		t.Error("none was hot")
	}
}
