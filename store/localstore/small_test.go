package localstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// TestSmallKeysDecideLikeOthers sends the same random calls to three stores. One gets them
// unchanged. One gets them cancelable, so that no key is small. One gets simple calls through
// Prepare.
func TestSmallKeysDecideLikeOthers(t *testing.T) {
	t.Parallel()
	for seed := range uint64(long.Or(200, 60)) {
		synctest.Test(t, func(t *testing.T) { likeOthers(t, rand.New(rand.NewPCG(seed, 9))) })
	}
}

func likeOthers(t *testing.T, rng *rand.Rand) {
	small, large, quick := open(t), open(t), open(t)
	draw := func() store.Limit {
		l := store.Per(1+rng.Int64N(9), time.Duration(1+rng.IntN(5))*100*time.Millisecond).By(store.Algorithm(rng.IntN(5)))
		if l.Algorithm == store.GCRA && rng.IntN(2) == 0 {
			l.Burst = 1 + rng.Int64N(9)
		}
		return l
	}
	ctx, n := context.Background(), 1
	if rng.IntN(2) == 0 {
		n += rng.IntN(10) // up to more limits than a small key has
	}
	var limits []store.Limit
	var prepared store.Prepared
	change := func() {
		limits = limits[:0]
		for range n {
			limits = append(limits, draw())
		}
		if prepared = nil; n == 1 {
			prepared = quick.Prepare(quick, "", limits[0])
		}
	}
	change()
	changes := rng.IntN(3) == 0
	refused := time.Duration(0) // the wait after the last refusal
	for range 200 {
		switch rng.IntN(12) {
		case 0, 1, 2:
			time.Sleep(time.Duration(rng.Int64N(int64(limits[0].Period)/1000)) * time.Microsecond)
			continue
		case 3:
			if changes {
				// State that has lapsed under one limit may still count under another, or be forgotten.
				time.Sleep(2 * time.Second)
				change()
			}
			continue
		case 4:
			for _, s := range []*localstore.Store{small, large, quick} {
				if err := s.Reset(ctx, "", "key 0"); err != nil {
					t.Fatal(err)
				}
			}
			continue
		}
		key := fmt.Sprint("key ", rng.IntN(3))
		req := charge(key, rng.Int64N(5), limits...)
		if n > 1 && rng.IntN(3) == 0 {
			req.Charges[rng.IntN(n)].Cost = rng.Int64N(3)
		}
		if plain := rng.IntN(3) > 0; !plain {
			req.MaxWait = time.Duration(rng.Int64N(int64(limits[0].Period)))
			if refused > 0 && rng.IntN(2) == 0 {
				req.MaxWait = refused
			}
			req.Charges[rng.IntN(n)].Reserve = rng.Int64N(3)
		}
		a := take(t, small, req)
		refused = a.RetryAfter
		asked := req
		asked.Cancelable = true
		b := take(t, large, asked)
		b.Receipt = nil
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("%+v:\nsmall %+v\nlarge %+v", req, a, b)
		}
		if req.MaxWait == 0 && req.Charges[0].Reserve == 0 && prepared != nil {
			if o, done, err := prepared.Take(key, req.Charges[0].Cost); err != nil {
				t.Fatal(err)
			} else if done {
				if o.Reason() != a.Reason || o.RetryAfter != a.RetryAfter || o.Remaining != a.Remaining || o.ResetAfter != a.ResetAfter || o.At != a.At {
					t.Fatalf("%+v:\nas it is %+v\nprepared %+v", req, a, o)
				}
				continue
			}
		}
		if c := take(t, quick, req); fmt.Sprint(a) != fmt.Sprint(c) {
			t.Fatalf("%+v:\nsmall %+v\nquick %+v", req, a, c)
		}
	}
}

// TestKeysOfAnyLength: all keys differ, and so do their scopes.
func TestKeysOfAnyLength(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		l := store.Per(1, time.Hour)
		for _, allowed := range []bool{true, false} {
			for n := range 300 {
				for _, scope := range []string{"", "x", "x\x00", "two", "two\x00"} {
					key := fmt.Sprintf("%0*d", n, 0)
					if n == 0 {
						key = ""
					} else if n == 1 {
						key = "1"
					}
					req := charge(key, 1, l)
					if strings.HasPrefix(scope, "two") {
						req = charge(key, 1, l, store.Per(5, 24*time.Hour))
					}
					for i := range req.Charges {
						req.Charges[i].Scope = scope
					}
					if d := take(t, s, req); d.Allowed != allowed {
						t.Fatalf("%d bytes in scope %q: %+v", n, scope, d)
					}
				}
			}
		}
		if s.Keys() != 1500 {
			t.Errorf("%d keys", s.Keys())
		}
	})
}

// TestLapsedKeyIsSmallAgain: a key that had a booking ahead takes no more memory than others
// once it has lapsed.
func TestLapsedKeyIsSmallAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		l := store.Per(1, time.Second)
		req := charge("key", 1, l)
		req.Cancelable = true
		take(t, s, req)
		p := s.Prepare(s, "", l)
		if _, done, _ := p.Take("key", 1); done {
			t.Error("a booking that may be cancelled is not known of any more")
		}
		time.Sleep(time.Second)
		if o, done, err := p.Take("key", 1); !done || err != nil || o.Reason() != store.ReasonAllowed || s.Keys() != 1 {
			t.Errorf("when it has lapsed: %+v, %t, %v, %d keys", o, done, err, s.Keys())
		}

		two := func(i int) store.Request { return charge(fmt.Sprint("two ", i), 1, l, store.Per(60, time.Minute)) }
		const many = 1000 // so that no search for lapsed keys finds it
		for i := range many {
			req := two(i)
			req.Cancelable = true
			take(t, s, req)
		}
		time.Sleep(time.Second)
		for i := range many {
			if d := take(t, s, two(i)); !d.Allowed || s.IsEntry("", two(i).Charges[0].Key) {
				t.Errorf("of two limits, when it has lapsed: %+v", d)
			}
		}
	})
}

// around is a store that may change the decisions of its inner one.
type around struct{ *localstore.Store }

// TestPrepareIsNotForWhatIsAround: a type that embeds a Store has its methods. Prepare must not
// bypass such a type.
func TestPrepareIsNotForWhatIsAround(t *testing.T) {
	t.Parallel()
	s := open(t)
	for name, test := range map[string]struct {
		of    store.Store
		limit store.Limit
		want  bool
	}{
		"itself":           {s, store.Per(1, time.Second), true},
		"a type around it": {around{s}, store.Per(1, time.Second), false},
		"another":          {open(t), store.Per(1, time.Second), false},
		"a sliding window": {s, store.Per(1, time.Second).By(store.SlidingWindow), false},
	} {
		if got := (around{s}).Prepare(test.of, "", test.limit) != nil; got != test.want {
			t.Errorf("%s: prepared: %t, want %t", name, got, test.want)
		}
	}
}
