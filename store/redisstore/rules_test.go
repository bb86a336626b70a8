package redisstore

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// drawLimits is some limits of any kind.
func drawLimits(rng *rand.Rand, period time.Duration) []store.Limit {
	limits := make([]store.Limit, 1+rng.IntN(3))
	for i := range limits {
		limits[i] = store.Per(1+rng.Int64N(40), period*time.Duration(1+rng.IntN(5))).By(store.Algorithm(rng.IntN(5)))
		if limits[i].Algorithm == store.GCRA {
			limits[i].Burst = 1 + rng.Int64N(40)
		}
	}
	return limits
}

// TestRulesInFlightsAreDecidedInOrder sends flights of calls of any limits, and the
// same ones one by one to another store, with bookings, brakes and changed limits
// between: the decisions are the same.
func TestRulesInFlightsAreDecidedInOrder(t *testing.T) {
	t.Parallel()
	_, mini := miniClient(t)
	clients := map[string]redis.UniversalClient{
		"single": redistest.Start(t).Client(), "cluster": redistest.StartCluster(t).Client(), "miniredis": mini,
	}
	for name, client := range clients {
		for seed := range uint64(long.Of(24)) {
			rng := rand.New(rand.NewPCG(seed, 8))
			together, sleep := newStill(t, client, fmt.Sprintf("a%d:", seed))
			sequence, sleepToo := newStill(t, client, fmt.Sprintf("b%d:", seed))
			period := time.Duration(1+rng.IntN(20)) * 100 * time.Millisecond
			limits, brakes := drawLimits(rng, period), seed%3 == 0
			var last store.Instant
			for step := range 30 {
				switch rng.IntN(8) {
				case 0, 1, 2:
					d := time.Duration(rng.Int64N(2*int64(period)/1000)) * time.Microsecond
					sleep(d)
					sleepToo(d)
				case 3:
					limits = drawLimits(rng, period)
				case 4:
					req := charge("key0", rng.Int64N(3), limits...)
					req.MaxWait, req.Cancelable = period*time.Duration(rng.IntN(3)), true
					a, b := take(t, together, req), take(t, sequence, req)
					if a.Allowed && b.Allowed && a.Receipt != nil && rng.IntN(2) == 0 {
						if err := errors.Join(together.Cancel(t.Context(), a.Receipt), sequence.Cancel(t.Context(), b.Receipt)); err != nil {
							t.Fatal(err)
						}
					}
				case 5:
					if b := drawBrake(rng, period, last); brakes {
						charges := charge("key0", 0, limits...).Charges
						if err := errors.Join(together.Brake(t.Context(), charges, b), sequence.Brake(t.Context(), charges, b)); err != nil {
							t.Fatal(err)
						}
					}
				}
				sorts := make([]store.Request, 1+rng.IntN(3))
				for i := range sorts {
					sorts[i] = charge("key0", 1+rng.Int64N(3), limits...)
					for j := range sorts[i].Charges {
						if c := &sorts[i].Charges[j]; rng.IntN(6) == 0 {
							c.Cost = rng.Int64N(c.Limit.Max() + 1)
						}
					}
					leaveSome(rng, &sorts[i])
				}
				reqs := make([]store.Request, 1+rng.IntN(60))
				for i := range reqs {
					// Those that have to ask by themselves, for a brake or as their key is not
					// common, come behind all others.
					req, key := sorts[0], fmt.Sprint("key", rng.IntN(2))
					if !brakes && !isCommon(&req) {
						req, key = sorts[rng.IntN(len(sorts))], fmt.Sprint("key", rng.IntN(20))
					}
					reqs[i].Charges = slices.Clone(req.Charges)
					for j := range reqs[i].Charges {
						reqs[i].Charges[j].Key = key
					}
				}
				reqs = slices.DeleteFunc(reqs, func(r store.Request) bool { return !shared(&r) })
				got, errs := onBoard(together, reqs)
				for i := range reqs {
					want := whole(t, sequence, reqs[i])
					if errs[i] != nil {
						t.Fatal(name, seed, errs[i])
					}
					last = want.At
					if diff := differ(got[i], want); diff != "" {
						t.Fatalf("%s, seed %d, step %d, call %d of %d, %+v: %s\ngot  %+v\nwant %+v", name, seed, step, i, len(reqs), reqs[i].Charges, diff, got[i], want)
					}
				}
			}
		}
	}
}

// TestRulesOfLargeNumbers: what can't be multiplied is decided one by one.
func TestRulesOfLargeNumbers(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	for i, limit := range []store.Limit{
		store.Per(1<<50-1, time.Second), store.Per(1<<50-1, store.MaxPeriod).WithBurst(40), store.Per(999_999_937, 24*time.Hour).WithBurst(7),
		store.Per(1<<50, store.MaxPeriod).By(store.SlidingCounter), store.Per(1<<50, store.MaxPeriod).By(store.FixedWindow),
	} {
		together, _ := newStill(t, client, fmt.Sprintf("a%d:", i))
		sequence, _ := newStill(t, client, fmt.Sprintf("b%d:", i))
		for _, cost := range []int64{1, 2, limit.Max() / 3} {
			reqs := slices.Repeat([]store.Request{charge("key", cost, limit, store.Per(1<<50, 24*time.Hour).By(store.AlignedWindow))}, 30)
			got, errs := onBoard(together, reqs)
			for n := range reqs {
				want := whole(t, sequence, reqs[n])
				if errs[n] != nil {
					t.Fatal(errs[n])
				}
				if diff := differ(got[n], want); diff != "" {
					t.Errorf("%v, call %d of cost %d: %s\ngot  %+v\nwant %+v", limit, n, cost, diff, got[n], want)
				}
			}
		}
	}
}

// TestRulesShareTheWire: calls of a key that charge the same go in one command.
func TestRulesShareTheWire(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for name, limits := range map[string][]store.Limit{
		"two limits":     {store.Per(25, 5*time.Hour), store.Per(300, 24*time.Hour)},
		"sliding window": {store.Per(25, 5*time.Hour).By(store.SlidingWindow)},
		"fixed window":   {store.Per(25, time.Hour).By(store.FixedWindow)},
	} {
		s := newStore(t, server.Client())
		waitForSlow(t, s)
		take(t, s, charge(name, 1, limits...)) // The server knows the script.
		g := new(gate)
		s.client.AddHook(g)
		let, open := g.shut()
		var mu sync.Mutex
		var wg sync.WaitGroup
		admitted, left := 0, []int64{}
		call := func() {
			d := take(t, s, charge(name, 1, limits...))
			mu.Lock()
			defer mu.Unlock()
			if left = append(left, d.Remaining); d.Allowed {
				admitted++
			}
		}
		wg.Go(call)
		g.hold(1)
		for range 40 {
			wg.Go(call)
		}
		inTheLine(t, s, 40)
		let()
		open()
		wg.Wait()
		if n := g.commands.Load(); n != 2 {
			t.Errorf("%s: %d commands for 41 calls, want 2", name, n)
		}
		slices.Sort(left)
		if left = slices.Compact(left); admitted != 24 || len(left) != 24 {
			t.Errorf("%s: %d of 25 were admitted, and told that %d remain", name, admitted+1, left)
		}
	}
}

// TestManyKeysOfRules: those of which one script call can't decide are in one pipeline
// afterwards.
func TestManyKeysOfRules(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	s := newStore(t, client)
	g := new(gate)
	client.AddHook(g)
	for name, limits := range map[string][]store.Limit{
		"two limits":      {store.Per(10, time.Hour), store.Per(100, 24*time.Hour)},
		"sliding windows": {store.Per(10, time.Hour).By(store.SlidingWindow), store.Per(100, 24*time.Hour).By(store.SlidingWindow)},
		"one limit":       {store.Per(10, time.Hour)},
	} {
		var reqs []store.Request
		for i := range 30 {
			key := fmt.Sprint(name, i)
			reqs = append(reqs, charge(key, 1, limits...), charge(key, 1, limits...))
		}
		for i := range 5 {
			booked := charge(fmt.Sprint(name, i), 1, limits...)
			booked.Cancelable = i < 4
			take(t, s, booked)
		}
		fly := func() (commands int64) {
			before := g.commands.Load()
			ds, errs := onBoard(s, reqs)
			for i := range reqs {
				if used := int64(i%2 + 1); errs[i] != nil || !ds[i].Allowed || i >= 10 && ds[i].Charge(0).Remaining != 10-used {
					t.Errorf("%s: call %d: %+v, %v", name, i, ds[i], errs[i])
				}
			}
			return g.commands.Load() - before
		}
		if s.shared.first.packs.look(t.Context(), s, true) != together {
			t.Fatal("it should be known that the server has all keys")
		}
		want := int64(1 + 4) // Those of which a booking may be cancelled.
		if name == "sliding windows" {
			want = 1
		}
		if n := fly(); n != want {
			t.Errorf("%s: %d commands, want %d", name, n, want)
		}
	}
}

// TestKeyOfBothKinds: calls of one key in a flight that are of the common case, and
// that are not, are all decided.
func TestKeyOfBothKinds(t *testing.T) {
	t.Parallel()
	s, _ := newStill(t, redistest.Start(t).Client(), "")
	var reqs []store.Request
	for range 5 {
		reqs = append(reqs, charge("key", 1, store.Per(100, time.Hour)), charge("key", 1, store.Per(100, time.Hour), store.Per(1000, 24*time.Hour)))
	}
	ds, errs := onBoard(s, reqs)
	for i := range reqs {
		if errs[i] != nil || !ds[i].Allowed || len(reqs[i].Charges) > 1 && len(ds[i].Charges) != 2 {
			t.Errorf("call %d: %+v, %v", i, ds[i], errs[i])
		}
	}
	if d := take(t, s, charge("key", 0, store.Per(100, time.Hour))); d.Remaining != 90 {
		t.Errorf("%d remain of 100, want 90", d.Remaining)
	}
}

// TestRulesOfDamagedKeys: what is not weir's fails the calls of its key alone.
func TestRulesOfDamagedKeys(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	s := newStore(t, c)
	c.Set(t.Context(), s.stateKey("", "foreign"), "what?", time.Hour)
	var reqs []store.Request
	for i := range 12 {
		reqs = append(reqs, charge([]string{"foreign", "own"}[i%2], 1, store.Per(3, time.Hour), store.Per(5, 24*time.Hour)))
	}
	ds, errs := onBoard(s, reqs)
	for i := range reqs {
		switch {
		case i%2 == 0 && !errors.Is(errs[i], ErrState):
			t.Errorf("call %d: %v, want ErrState", i, errs[i])
		case i%2 == 1 && (errs[i] != nil || ds[i].Allowed != (i < 6)):
			t.Errorf("call %d: %+v, %v", i, ds[i], errs[i])
		}
	}
}

// TestReadTold: a reply that is not the script's is no decision.
func TestReadTold(t *testing.T) {
	t.Parallel()
	for name, list := range map[string][]int64{
		"too short":          {5, -2, 1, 1, 5, 5},
		"none told":          {5, -2, 0, 0, 5, 5, 5, 5, 0, 0},
		"more told":          {5, -3, 4, 1, 5, 5, 5, 5, 0, 0},
		"more admitted":      {5, -2, 2, 3, 5, 5, 5, 5, 0, 0},
		"less than none":     {5, -3, 2, -1, 5, 5, 5, 5, 0, 0},
		"of another length":  {5, -2, 2, 1, 5, 5, 5, 5, 0, 0, 9},
		"of a limit too few": {5, -2, 2, 1, 5, 5, 5, 5, 0, 0, 5, 5, 0},
	} {
		req := charge("key", 1, store.Per(3, time.Hour), store.Per(5, 24*time.Hour))
		told, err := readTold(list, 3)
		if err == nil {
			a := answer{rest: told.rest}
			_, err = a.decision(&req, nil)
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
