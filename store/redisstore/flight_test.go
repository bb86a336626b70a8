package redisstore

import (
	"context"
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

// onBoard has a flight of each line decide requests as they are, in one go.
func onBoard(s *Store, reqs []store.Request) ([]store.Decision, []error) {
	ctx := context.Background()
	calls, flights := make([]*waiting, len(reqs)), map[*combiner]*flight{}
	for i := range reqs {
		c := &reqs[i].Charges[0]
		w := &waiting{ctx: ctx, key: s.stateKey(c.Scope, c.Key), terms: s.termsOf(&reqs[i]), done: make(chan struct{}, 1)}
		w.state.Store(inFlight)
		line := lineOf(s, w.key)
		f := flights[line]
		if f == nil {
			f = &flight{combiner: line}
			flights[line] = f
		}
		calls[i], f.calls = w, append(f.calls, w)
	}
	for _, f := range flights {
		f.embark(len(f.calls))
		f.run()
	}
	ds, errs := make([]store.Decision, len(reqs)), make([]error, len(reqs))
	for i, w := range calls {
		a, err := w.answer, w.err
		if w.alone {
			a, err = s.alone(w.ctx, w.key, w.terms)
		}
		if errs[i] = err; err == nil {
			ds[i], errs[i] = a.decision(&reqs[i], w.terms)
		}
	}
	return ds, errs
}

// lineOf is the line of a key, found as when the servers are known.
func lineOf(s *Store, key string) *combiner {
	if s.shared.server == nil {
		return s.shared.first
	}
	return s.shared.find(context.Background(), key)
}

// leaveSome has every third request leave units to others.
func leaveSome(rng *rand.Rand, req *store.Request) {
	if c := &req.Charges[0]; rng.IntN(3) == 0 {
		c.Reserve = rng.Int64N(c.Limit.Max() + 2)
	}
}

// TestFlightDecidesInOrder sends flights of random calls, and the same one by
// one to another store: the decisions are the same.
func TestFlightDecidesInOrder(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	cluster := redistest.StartCluster(t)
	for name, client := range map[string]redis.UniversalClient{"single": server.Client(), "cluster": cluster.Client()} {
		for seed := range uint64(long.Of(60)) {
			rng := rand.New(rand.NewPCG(seed, 3))
			together, sleep := newStill(t, client, fmt.Sprintf("a%d:", seed))
			sequence, sleepToo := newStill(t, client, fmt.Sprintf("b%d:", seed))
			limits := []store.Limit{store.Per(3, time.Second).WithBurst(1 + rng.Int64N(20)), store.Per(60, time.Minute).WithBurst(100)}
			if seed%2 == 1 {
				limits = []store.Limit{store.Per(7, 3*time.Second).WithBurst(1 + rng.Int64N(60)), store.Per(3_000_000, time.Second).WithBurst(90)}
			}
			for range 4 {
				d := time.Duration(rng.IntN(1500)) * time.Millisecond
				sleep(d)
				sleepToo(d)
				reqs := make([]store.Request, 1+rng.IntN(100))
				keys, costs := 1+rng.IntN(20), 1+rng.Int64N(2)
				for i := range reqs {
					k := rng.IntN(keys)
					l := limits[k%2]
					reqs[i] = charge(fmt.Sprint("key", k), min(1+rng.Int64N(costs), l.Max()), l)
					leaveSome(rng, &reqs[i])
				}
				got, errs := onBoard(together, reqs)
				for i := range reqs {
					if errs[i] != nil {
						t.Fatal(name, errs[i])
					}
					want := whole(t, sequence, reqs[i])
					if diff := differ(got[i], want); diff != "" {
						t.Fatalf("%s, seed %d, call %d of %d, %+v: %s\ngot  %+v\nwant %+v", name, seed, i, len(reqs), reqs[i].Charges[0], diff, got[i], want)
					}
				}
			}
		}
	}
}

// TestFlightTakesNoMoreThanOneByOne has many calls of one key come together where
// the time of a unit is no whole number of microseconds, or less than one.
func TestFlightTakesNoMoreThanOneByOne(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client()
	together, _ := newStill(t, c, "a:")
	sequence, _ := newStill(t, c, "b:")
	rng := rand.New(rand.NewPCG(5, 3))
	rates := []int64{3, 7, 1000, 600_000, 3_000_000, 7_000_000, 999_999_937, 1_000_000_000, 1 << 40}
	for n := range long.Of(600) {
		calls, cost := 3+rng.IntN(120), 1+rng.Int64N(2)
		limit := store.Per(rates[n%len(rates)], time.Second).WithBurst(cost + rng.Int64N(int64(calls)*cost*3/2))
		key := fmt.Sprint("key ", n)
		before := charge(key, min(1+rng.Int64N(4), limit.Max()), limit)
		take(t, together, before)
		take(t, sequence, before)
		one := charge(key, cost, limit)
		leaveSome(rng, &one)
		reqs := slices.Repeat([]store.Request{one}, calls)
		got, errs := onBoard(together, reqs)
		for i := range reqs {
			if errs[i] != nil {
				t.Fatal(errs[i])
			}
			want := whole(t, sequence, reqs[i])
			if diff := differ(got[i], want); diff != "" {
				t.Fatalf("%v, call %d of %d after %d: %s\ngot  %+v\nwant %+v", limit, i, calls, before.Charges[0].Cost, diff, got[i], want)
			}
		}
	}
}

func TestUncommonKeysInAFlight(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client()
	s := newStore(t, c)
	ctx := context.Background()
	l := store.Per(5, time.Hour)
	c.Set(ctx, s.stateKey("", "foreign"), "what?", time.Hour)
	c.RPush(ctx, s.stateKey("", "list"), "what?")
	if err := s.Brake(ctx, charge("paused", 0, l).Charges, store.Brake{Pause: time.Hour}); err != nil {
		t.Fatal(err)
	}
	booked := charge("booked", 4, l)
	booked.Cancelable = true
	take(t, s, booked)
	take(t, s, charge("changed", 8, store.Per(10, time.Hour)))
	names := []string{"plain", "foreign", "paused", "booked", "list", "changed", "fresh"}
	var reqs []store.Request
	for range 2 {
		for _, name := range names {
			reqs = append(reqs, charge(name, 1, l))
		}
	}
	ds, errs := onBoard(s, reqs)
	for i, req := range reqs {
		second := i >= len(names)
		d, err := ds[i], errs[i]
		switch name := req.Charges[0].Key; name {
		case "foreign", "list":
			if !errors.Is(err, ErrState) {
				t.Errorf("%s: %v, want ErrState", name, err)
			}
		case "paused":
			if err != nil || d.Allowed || d.Reason != store.ReasonPaused {
				t.Errorf("%s: %+v, %v", name, d, err)
			}
		case "booked", "changed":
			if err != nil || d.Allowed == second {
				t.Errorf("%s: %+v, %v, want one more", name, d, err)
			}
		default:
			if want := int64(4 - i/len(names)); err != nil || !d.Allowed || d.Remaining != want {
				t.Errorf("%s: %+v, %v, want %d remaining", name, d, err, want)
			}
		}
	}
}

func TestGiantFlight(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newStore(t, server.Client())
	var reqs []store.Request
	for i := range 3000 {
		reqs = append(reqs, charge(fmt.Sprintf("%0*d", 1+i%1000%900, i%1000), 1, store.Per(int64(2+i%20), time.Hour)))
	}
	var ds []store.Decision
	var errs []error
	commands := server.CommandsDuring(func() { ds, errs = onBoard(s, reqs) })
	for i := range reqs {
		if errs[i] != nil || ds[i].Allowed != (i < 2*1000 || reqs[i].Charges[0].Limit.Rate > 2) {
			t.Fatalf("call %d: %+v, %v", i, ds[i], errs[i])
		}
	}
	if n := commands["evalsha"] + commands["eval"]; n > 60 {
		t.Errorf("%d script calls for 1000 keys", n)
	}
}

func TestFlightHasTheLatestDeadline(t *testing.T) {
	t.Parallel()
	type key struct{}
	at := time.Now().Add(time.Hour)
	with := func(d time.Duration) context.Context {
		ctx, cancel := context.WithDeadline(context.WithValue(context.Background(), key{}, d), at.Add(d))
		t.Cleanup(cancel)
		return ctx
	}
	f := flight{calls: []*waiting{{ctx: with(2)}, {ctx: with(3)}, {ctx: with(1)}}}
	f.embark(3)
	ctx := f.context()
	if deadline, ok := ctx.Deadline(); !ok || !deadline.Equal(at.Add(3)) {
		t.Errorf("deadline %v, %t, want %v", deadline, ok, at.Add(3))
	}
	if ctx.Value(key{}) != time.Duration(2) {
		t.Error("it should have the first call's values")
	}
	f.calls = append(f.calls, &waiting{ctx: context.Background()})
	f.embark(4)
	if _, ok := f.context().Deadline(); ok || f.context().Done() != nil {
		t.Error("one call has no deadline and can't leave, so the flight should have neither")
	}
}

// TestFlightEndsWhenAllHaveLeft: and none ends a later flight.
func TestFlightEndsWhenAllHaveLeft(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f := new(flight)
	begin := func() (first, second *waiting, trip context.Context) {
		f.embark(3)
		f.calls, f.absent = []*waiting{{ctx: ctx, trip: f.trip}, {ctx: ctx, trip: f.trip}}, 1
		for _, w := range f.calls {
			w.state.Store(inFlight)
		}
		return f.calls[0], f.calls[1], f.trip
	}
	a, b, early := begin()
	a.leave()
	b.leave()
	if f.context(); early.Err() == nil {
		t.Error("all left before it set off, which it should know")
	}
	f.disembark()
	a, b, second := begin()
	if f.context(); second.Err() != nil {
		t.Error("it has the end of another")
	}
	if a.leave(); second.Err() != nil {
		t.Error("one is still aboard")
	}
	f.disembark()
	_, _, last := begin()
	f.context()
	b.leave() // of the flight before
	if last.Err() != nil {
		t.Error("somebody of an earlier flight ended it")
	}
}

// TestFlightsTakeTheirLanes: what a flight that is back takes from the line, and
// which lanes have one then.
func TestFlightsTakeTheirLanes(t *testing.T) {
	t.Parallel()
	both, first, second, none := [lanes]bool{true, true}, [lanes]bool{true, false}, [lanes]bool{false, true}, [lanes]bool{}
	for name, test := range map[string]struct {
		back      flight
		busy      [lanes]bool // when it is back
		line      [lanes]int
		want      [lanes]bool // that it has
		left      [lanes]int
		busyAfter [lanes]bool
	}{
		"nobody waits":                    {flight{lanes: both}, both, [lanes]int{0, 0}, none, [lanes]int{0, 0}, none},
		"all that wait":                   {flight{lanes: both}, both, [lanes]int{2, 3}, both, [lanes]int{0, 0}, both},
		"all of one lane":                 {flight{lanes: both}, both, [lanes]int{0, 3}, both, [lanes]int{0, 0}, both},
		"its own lane beside another":     {flight{lanes: first}, both, [lanes]int{2, 3}, first, [lanes]int{0, 3}, both},
		"nobody in its own lane":          {flight{lanes: second}, both, [lanes]int{2, 0}, none, [lanes]int{2, 0}, first},
		"both lanes when the other is up": {flight{lanes: second}, second, [lanes]int{2, 3}, both, [lanes]int{0, 0}, both},
		"one that was given up":           {flight{lanes: both, turn: -1}, both, [lanes]int{2, 3}, none, [lanes]int{2, 3}, both},
		"no more than a flight takes":     {flight{lanes: both}, both, [lanes]int{mostCalls + 1, 1}, both, [lanes]int{1, 0}, both},
		"many calls of few keys":          {flight{lanes: both}, both, [lanes]int{200, 200}, both, [lanes]int{0, 0}, both},
		"many keys, but in one lane":      {flight{lanes: both, entries: make([]entry, manyKeys)}, both, [lanes]int{200, fewCalls - 1}, both, [lanes]int{0, 0}, both},
	} {
		t.Run(name, func(t *testing.T) {
			c := &combiner{busy: test.busy}
			for lane, n := range test.line {
				for range n {
					c.line[lane] = append(c.line[lane], new(waiting))
				}
			}
			f := test.back
			f.combiner = c
			if took := f.board(); took != (test.want != none) {
				t.Errorf("it set off: %t", took)
			}
			if n := test.line[0] + test.line[1] - c.queued(); len(f.calls) != n {
				t.Errorf("%d calls are gone, and %d aboard", n, len(f.calls))
			}
			if left := [lanes]int{len(c.line[0]), len(c.line[1])}; left != test.left {
				t.Errorf("%d are left, want %d", left, test.left)
			}
			if c.busy != test.busyAfter {
				t.Errorf("busy: %t, want %t", c.busy, test.busyAfter)
			}
		})
	}
}

// TestManyKeysTakeTwoFlights: those of a key stay together, in their order.
func TestManyKeysTakeTwoFlights(t *testing.T) {
	t.Parallel()
	s, g := gated(t, true)
	if s.shared.first.packs.look(context.Background(), s, true) != together {
		t.Fatal("it should be known that the server has all keys")
	}
	let, open := g.shut()
	var wg sync.WaitGroup
	flying(t, s, g, &wg)
	const keys, calls = 200, 2
	come := func() {
		for n := range keys {
			wg.Go(func() { take(t, s, charge(fmt.Sprint("key ", n), 1, store.Per(10, time.Hour))) })
		}
		inTheLine(t, s, keys)
	}
	come()
	let()
	inTheLine(t, s, 0)
	g.hold(1) // All of them, in one flight.
	come()
	let()
	inTheLine(t, s, 0)
	g.hold(2) // One of each lane.
	open()
	wg.Wait()
	for n := range keys {
		if d := take(t, s, charge(fmt.Sprint("key ", n), 0, store.Per(10, time.Hour))); d.Remaining != 10-calls {
			t.Errorf("key %d has %d remaining, want %d", n, d.Remaining, 10-calls)
		}
	}
}

// TestGivenUpFlightsEnd: those that were slow do not set off again, and none
// leaves the line to nobody.
func TestGivenUpFlightsEnd(t *testing.T) {
	t.Parallel()
	s, g := gated(t, false)
	var wg sync.WaitGroup
	call := func() {
		wg.Go(func() { take(t, s, charge("key", 1, store.Per(100, time.Hour))) })
	}
	for range 3 {
		_, open := g.shut()
		for n := range int64(5) {
			call()
			g.hold(n + 1) // None of those before came back, so that it set off too.
		}
		open()
		wg.Wait()
		landed(s)
		if n := s.shared.first.queued(); n != 0 {
			t.Errorf("%d calls are in the line", n)
		}
	}
}
