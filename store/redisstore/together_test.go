package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// TestConcurrentCallsAreExact: four stores decide for 64 callers each, while the server
// forgets its scripts.
func TestConcurrentCallsAreExact(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	const stores, callers, keys, burst = 4, 64, 5, 300
	limit := store.Per(burst, 10*24*time.Hour)
	var admitted [keys]atomic.Int64
	var wg sync.WaitGroup
	for range stores {
		s := newStore(t, server.Client())
		for g := range callers {
			wg.Go(func() {
				for i := range 40 {
					k := (g + i*i) % keys
					d, err := s.Take(context.Background(), charge(fmt.Sprint("key", k), 1, limit))
					if err != nil {
						t.Error(err)
						return
					}
					if d.Allowed {
						admitted[k].Add(1)
					}
				}
			})
		}
	}
	for range 20 {
		server.Client().ScriptFlush(context.Background())
	}
	wg.Wait()
	for k := range keys {
		if n := admitted[k].Load(); n != burst {
			t.Errorf("%d admitted, want %d", n, burst)
		}
	}
}

// gated returns a store whose commands pass a gate, on a server that knows the script.
func gated(t *testing.T) (*Store, *gate) {
	t.Helper()
	_, c := miniClient(t)
	g := new(gate)
	c.AddHook(g)
	s, err := New(Config{Client: c, RoundTrips: 3}) // Calls of one key stay in order.
	if err != nil {
		t.Fatal(err)
	}
	take(t, s, charge("first", 1, store.Per(5, time.Hour)))
	g.commands.Store(0)
	return s, g
}

// startAll begins calls in order.
func startAll(t *testing.T, s *Store, reqs ...store.Request) (all []store.Started) {
	t.Helper()
	for i := range reqs {
		st := s.Start(t.Context(), s, &reqs[i])
		if st == nil {
			t.Fatalf("call %d does not combine", i)
		}
		all = append(all, st)
	}
	return all
}

// TestCallsShareRoundTrips: calls that come while their key's call is under way leave when it
// is back. They share one command, in order, with calls of other keys.
func TestCallsShareRoundTrips(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string][]store.Limit{
		"a bucket":         {store.Per(25, 5*time.Hour)},
		"two limits":       {store.Per(25, 5*time.Hour), store.Per(300, 24*time.Hour)},
		"a sliding window": {store.Per(25, 5*time.Hour).By(store.SlidingWindow)},
		"a fixed window":   {store.Per(25, time.Hour).By(store.FixedWindow)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, g := gated(t)
			let, open := g.shut()
			defer open()
			first := startAll(t, s, charge("key", 1, limits...))
			g.hold(t, 1)
			calls := startAll(t, s, slices.Repeat([]store.Request{charge("key", 1, limits...)}, 40)...)
			let()
			<-first[0].Done()
			open()
			for i, c := range calls {
				<-c.Done()
				d, done, err := c.Decision()
				if want := int64(23 - i); err != nil || !done || d.Allowed != (want >= 0) || d.Charge(0).Remaining != max(want, 0) {
					t.Errorf("call %d: %+v, %t, %v", i, d, done, err)
				}
			}
			if n := g.commands.Load(); n != 2 {
				t.Errorf("%d commands, want 2", n)
			}
		})
	}
}

// TestBatchesAreDecidedInOrder sends batches of calls under any limits, and the same calls one
// by one to another store, with bookings, brakes and changed limits between them.
func TestBatchesAreDecidedInOrder(t *testing.T) {
	t.Parallel()

	for name, client := range map[string]redis.UniversalClient{"a server": redistest.Start(t).Client()} {
		for seed := range uint64(long.Of(60)) {
			batchesInOrder(t, client, name, seed)
		}
	}
}

func batchesInOrder(t *testing.T, client redis.UniversalClient, name string, seed uint64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 8))
	together, sleep := newStill(t, client, fmt.Sprintf("%da%d:", len(name), seed))
	sequence, sleepToo := newStill(t, client, fmt.Sprintf("%db%d:", len(name), seed))
	limits := randomLimits(rng, seed%2 == 0)
	for step := range 30 {
		charges := func(cost int64) []store.Charge { return charge("key0", cost, limits...).Charges }
		switch rng.IntN(8) {
		case 0, 1, 2:
			d := time.Duration(rng.Int64N(2*int64(limits[0].Period)/1000)) * time.Microsecond
			sleep(d)
			sleepToo(d)
		case 3:
			limits = randomLimits(rng, false)
		case 4:
			req := store.Request{Charges: charges(rng.Int64N(3)), MaxWait: limits[0].Period * time.Duration(rng.IntN(3)), Cancelable: true}
			a, b := take(t, together, req), take(t, sequence, req)
			if a.Receipt != nil && rng.IntN(2) == 0 {
				if err := errors.Join(together.Cancel(t.Context(), a.Receipt), sequence.Cancel(t.Context(), b.Receipt)); err != nil {
					t.Fatal(err)
				}
			}
		case 5:
			b := store.Brake{Pause: time.Duration(rng.Int64N(int64(limits[0].Period)))}
			if err := errors.Join(together.Brake(t.Context(), charges(0), b), sequence.Brake(t.Context(), charges(0), b)); err != nil {
				t.Fatal(err)
			}
		}
		kinds := make([]store.Request, 1+rng.IntN(3))
		for i := range kinds {
			kinds[i] = charge("", 1+rng.Int64N(3), limits...)
			c := &kinds[i].Charges[rng.IntN(len(limits))]
			if c.Cost = min(c.Cost, c.Limit.Max()); rng.IntN(3) == 0 {
				c.Reserve = rng.Int64N(c.Limit.Max() + 2)
			}
		}
		keys := 1 + rng.IntN(20)
		var reqs []store.Request
		for range 1 + rng.IntN(60) {
			req := store.Request{Charges: slices.Clone(kinds[rng.IntN(len(kinds))].Charges)}
			key := fmt.Sprint("key", rng.IntN(keys))
			for j := range req.Charges {
				req.Charges[j].Key = key
			}
			if together.combines(&req) {
				reqs = append(reqs, req)
			}
		}
		// A batch decides a key's later calls after the first calls of all other keys.
		got, errs := batch(together, reqs)
		for i := range reqs {
			want := single(t, sequence, reqs[i])
			if errs[i] != nil {
				t.Fatal(name, seed, errs[i])
			}
			if diff := differ(got[i], want); diff != "" {
				t.Fatalf("%s, seed %d, step %d, call %d of %d, %+v: %s", name, seed, step, i, len(reqs), reqs[i].Charges, diff)
			}
		}
	}
}

// TestBatchTakesNoMoreThanOneByOne sends many calls of one key together. The time of a unit is
// no whole number of microseconds, or far below one, or products exceed a number of the
// script.
func TestBatchTakesNoMoreThanOneByOne(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	together, _ := newStill(t, c, "a:")
	sequence, _ := newStill(t, c, "b:")
	rng := rand.New(rand.NewPCG(5, 3))
	var limits []store.Limit
	for _, rate := range []int64{3, 7, 1000, 600_000, 3_000_000, 7_000_000, 999_999_937, 1_000_000_000, 1 << 40} {
		limits = append(limits, store.Per(rate, time.Second).WithBurst(2+rng.Int64N(90)))
	}
	limits = append(limits,
		store.Per(1<<50-1, time.Second), store.Per(1<<50-1, store.MaxPeriod).WithBurst(40), store.Per(999_999_937, 24*time.Hour).WithBurst(7),
		store.Per(1<<50, store.MaxPeriod).By(store.SlidingCounter), store.Per(1<<50, store.MaxPeriod).By(store.FixedWindow),
		store.Per(1<<50, store.MaxPeriod).By(store.SlidingWindow))
	for n := range long.Of(720) {
		limit := limits[n%len(limits)]
		cost := []int64{1, 2, max(limit.Max()/3, 1)}[rng.IntN(3)]
		key := fmt.Sprint("key ", n)
		before := charge(key, min(1+rng.Int64N(4), limit.Max()), limit)
		take(t, together, before)
		take(t, sequence, before)
		reqs := slices.Repeat([]store.Request{charge(key, min(cost, limit.Max()), limit)}, 3+rng.IntN(120))
		got, errs := batch(together, reqs)
		for i := range reqs {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			if diff := differ(got[i], single(t, sequence, reqs[i])); diff != "" {
				t.Fatalf("%v, cost %d, call %d of %d: %s", limit, cost, i, len(reqs), diff)
			}
		}
	}
}

// TestErrorsAreThoseOfTheirCalls: a batch has keys with foreign values, pauses, bookings and
// other limits. They do not affect the other calls.
func TestErrorsAreThoseOfTheirCalls(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	s := newStore(t, c)
	ctx := t.Context()
	for name, limits := range map[string][]store.Limit{
		"a bucket":         {store.Per(5, time.Hour)},
		"two limits":       {store.Per(5, time.Hour), store.Per(50, 24*time.Hour).By(store.FixedWindow)},
		"a sliding window": {store.Per(5, time.Hour).By(store.SlidingWindow)},
	} {
		if err := c.FlushAll(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		c.Set(ctx, stateOf(s, "foreign"), "what?", time.Hour)
		c.RPush(ctx, stateOf(s, "list"), "what?")
		if err := s.Brake(ctx, charge("paused", 0, limits...).Charges, store.Brake{Pause: time.Hour}); err != nil {
			t.Fatal(err)
		}
		reserve(t, s, "booked", 4, 0, limits...)
		take(t, s, charge("changed", 8, store.Per(10, time.Hour)))
		take(t, s, charge("logged", 4, store.Per(5, 24*time.Hour).By(store.SlidingWindow), limits[0]))
		names := []string{"plain", "foreign", "paused", "booked", "list", "changed", "logged", "fresh"}
		var reqs []store.Request
		for range 2 {
			for _, key := range names {
				reqs = append(reqs, charge(key, 1, limits...))
			}
		}
		ds, errs := batch(s, reqs)
		for i, req := range reqs {
			second := i >= len(names)
			d, err := ds[i], errs[i]
			switch key := req.Charges[0].Key; key {
			case "foreign", "list":
				if !errors.Is(err, ErrState) {
					t.Errorf("%s, %s: %v, want ErrState", name, key, err)
				}
			case "paused":
				if err != nil || d.Allowed || d.Reason != store.ReasonPaused {
					t.Errorf("%s, %s: %+v, %v", name, key, d, err)
				}
			case "booked", "changed", "logged":
				if err != nil || d.Allowed == second {
					t.Errorf("%s, %s: %+v, %v, want one more", name, key, d, err)
				}
			default:
				if want := int64(4 - i/len(names)); err != nil || !d.Allowed || d.Charge(0).Remaining != want {
					t.Errorf("%s, %s: %+v, %v, want %d remaining", name, key, d, err, want)
				}
			}
		}
	}
}

// TestScriptsAreBoundedByWork: an EVALSHA decides calls of at most 128 GCRA limits, or as much
// other work.
func TestScriptsAreBoundedByWork(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newStore(t, server.Client())
	for name, test := range map[string]struct {
		limits   []store.Limit
		commands int
	}{
		"a bucket":         {[]store.Limit{store.Per(5, time.Hour)}, 2},
		"three limits":     {[]store.Limit{store.Per(5, time.Hour), store.Per(6, time.Hour), store.Per(7, time.Hour)}, 7},
		"a sliding window": {[]store.Limit{store.Per(5, time.Hour).By(store.SlidingWindow)}, 11},
	} {
		var reqs []store.Request
		for i := range 256 {
			reqs = append(reqs, charge(fmt.Sprint(name, i), 1, test.limits...))
		}
		batch(s, reqs) // sends the text
		commands := server.CommandsDuring(func() {
			_, errs := batch(s, reqs)
			if err := errors.Join(errs...); err != nil {
				t.Error(err)
			}
		})
		if commands["evalsha"] != test.commands || commands["eval"] != 0 {
			t.Errorf("%s: 256 keys took %v, want %d EVALSHA", name, commands, test.commands)
		}
	}
}

// proxy is a hook that sends a command to one of several servers, by its first key alone.
type proxy struct {
	servers []*redis.Client
	strict  bool // refuse commands of keys of several servers
}

func (p proxy) DialHook(next redis.DialHook) redis.DialHook { return next }

func (p proxy) ProcessHook(redis.ProcessHook) redis.ProcessHook { return p.process }

func (p proxy) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) (first error) {
		for _, cmd := range cmds {
			if err := p.process(ctx, cmd); err != nil {
				cmd.SetErr(err)
				first = errors.Join(first, err)
			}
		}
		return first
	}
}

// serverError is an error that a server answers.
type serverError string

func (e serverError) Error() string { return string(e) }
func (serverError) RedisError()     {}

func (p proxy) process(ctx context.Context, cmd redis.Cmder) error {
	args := cmd.Args()
	n, _ := args[2].(int)
	for i := 1; i < n && p.strict; i++ {
		if slot(fmt.Sprint(args[3+i])) != slot(fmt.Sprint(args[3])) {
			err := serverError("CROSSSLOT Keys in request don't hash to the same slot")
			cmd.SetErr(err)
			return err
		}
	}
	return p.servers[int(slot(fmt.Sprint(args[3])))%len(p.servers)].Process(ctx, cmd)
}

// TestKeysArePackedOnOneServer: on a cluster, a ring, and a proxy that refuses keys of several
// slots, each key has its own EVALSHA in a pipeline.
func TestKeysArePackedOnOneServer(t *testing.T) {
	t.Parallel()
	_, one := miniClient(t)
	_, another := miniClient(t)
	_, front := miniClient(t)
	front.AddHook(proxy{[]*redis.Client{one, another}, true})
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": one.Options().Addr, "b": another.Options().Addr}})
	t.Cleanup(func() { _ = ring.Close() })
	for name, test := range map[string]struct {
		client  redis.UniversalClient
		slotted bool
	}{
		"a server":                    {one, false},
		"a proxy in front of several": {front, true},
		"a ring":                      {ring, true},
		"a cluster":                   {redistest.StartCluster(t).Client(), true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, test.client)
			var reqs []store.Request
			for i := range 60 {
				reqs = append(reqs, charge(fmt.Sprint(name, i%30), 1, store.Per(1, time.Hour)))
			}
			ds, errs := batch(s, reqs)
			for i := range reqs {
				if errs[i] != nil || ds[i].Allowed != (i < 30) {
					t.Errorf("call %d: %+v, %v", i, ds[i], errs[i])
				}
			}
			if s.slotted.Load() != test.slotted {
				t.Errorf("the server refuses keys of several slots: %t, want %t", s.slotted.Load(), test.slotted)
			}
		})
	}
}

// TestFailedBatchFailsItsCalls: calls after it are decided.
func TestFailedBatchFailsItsCalls(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, answer := range map[string]func() error{
		"an error":                   func() error { return broken },
		"a panic of a client's hook": func() error { panic(broken) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, g := gated(t)
			let, open := g.shut()
			defer open()
			first := startAll(t, s, charge("key0", 1, store.Per(100, time.Hour)))
			g.hold(t, 1)
			var reqs []store.Request
			for range 20 {
				reqs = append(reqs, charge("key0", 1, store.Per(100, time.Hour)))
			}
			calls := startAll(t, s, reqs...)
			let()
			<-first[0].Done()
			g.hold(t, 1)
			g.answer.Store(&answer)
			open()
			for i, c := range calls {
				<-c.Done()
				if _, _, err := c.Decision(); err == nil {
					t.Errorf("call %d: no error", i)
				}
			}
			g.answer.Store(nil)
			if d := take(t, s, charge("key0", 1, store.Per(100, time.Hour))); d.Remaining != 98 {
				t.Errorf("%+v", d)
			}
		})
	}
}

// TestCallThatLeavesIsNotCharged: a call that leaves unsent is not charged. The others are
// decided.
func TestCallThatLeavesIsNotCharged(t *testing.T) {
	t.Parallel()
	s, g := gated(t)
	_, open := g.shut()
	defer open()
	limit := store.Per(100, time.Hour)
	first := startAll(t, s, charge("key", 1, limit))
	g.hold(t, 1)
	calls := startAll(t, s, slices.Repeat([]store.Request{charge("key", 1, limit)}, 11)...)
	for _, c := range calls[:10] {
		if !c.Leave() {
			t.Error("it could not leave")
		}
	}
	open()
	<-first[0].Done()
	<-calls[10].Done()
	if d := take(t, s, charge("key", 0, limit)); d.Remaining != 98 {
		t.Errorf("%d remaining, want 98", d.Remaining)
	}
}
