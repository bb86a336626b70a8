package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/redistest"
)

// whole decides by the rest of the script, and without what is remembered of
// refusals.
func whole(t testing.TB, s *Store, req weir.Request) weir.Decision {
	t.Helper()
	_, v, outcomes, _, err := s.ask(context.Background(), &req)
	if err != nil {
		t.Fatal(err)
	}
	return exact.Decide(&req, v, outcomes)
}

// TestCommonCaseIsDecidedAsTheRest compares each decision with that of the rest
// of the script, and what is stored.
func TestCommonCaseIsDecidedAsTheRest(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client()
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 2))
		limit := weir.Per(1+rng.Int64N(12), time.Duration(1+rng.IntN(5000))*time.Millisecond).WithBurst(1 + rng.Int64N(12))
		fast, sleep := newStill(t, c, fmt.Sprintf("fast%d:", seed))
		rest, sleepToo := newStill(t, c, fmt.Sprintf("rest%d:", seed))
		for step := range 60 {
			d := time.Duration(rng.Int64N(int64(2*limit.Period/time.Duration(limit.Rate)))) / 1000 * 1000
			sleep(d)
			sleepToo(d)
			req := charge("key", 1+rng.Int64N(limit.Max()), limit)
			got, want := take(t, fast, req), whole(t, rest, req)
			if diff := differ(got, want); diff != "" {
				t.Fatalf("seed %d, step %d, %v of %v: %s\ngot  %+v\nwant %+v", seed, step, req.Charges[0].Cost, limit, diff, got, want)
			}
			a, b := c.Get(t.Context(), fast.stateKey("", "key")).Val(), c.Get(t.Context(), rest.stateKey("", "key")).Val()
			if a != b {
				t.Fatalf("seed %d, step %d: stored %q, want %q", seed, step, a, b)
			}
		}
	}
}

// onBoard has a flight decide requests as they are, in one go.
func onBoard(s *Store, reqs []weir.Request) ([]weir.Decision, []error) {
	f := flight{combiner: s.shared}
	for i := range reqs {
		c := &reqs[i].Charges[0]
		w := &waiting{ctx: context.Background(), key: s.stateKey(c.Scope, c.Key), terms: s.terms.of(&c.Limit, c.Cost), done: make(chan struct{}, 1)}
		w.state.Store(inFlight)
		f.calls = append(f.calls, w)
	}
	f.run()
	ds, errs := make([]weir.Decision, len(reqs)), make([]error, len(reqs))
	for i, w := range f.calls {
		<-w.done
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

// TestFlightDecidesInOrder sends flights of random calls, and the same one by
// one to another store: the decisions are the same.
func TestFlightDecidesInOrder(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	cluster := redistest.StartCluster(t)
	for name, client := range map[string]redis.UniversalClient{"single": server.Client(), "cluster": cluster.Client()} {
		for seed := range uint64(60) {
			rng := rand.New(rand.NewPCG(seed, 3))
			together, sleep := newStill(t, client, fmt.Sprintf("a%d:", seed))
			sequence, sleepToo := newStill(t, client, fmt.Sprintf("b%d:", seed))
			limits := []weir.Limit{weir.PerSecond(3).WithBurst(1 + rng.Int64N(20)), weir.PerMinute(60).WithBurst(100)}
			for range 4 {
				d := time.Duration(rng.IntN(1500)) * time.Millisecond
				sleep(d)
				sleepToo(d)
				reqs := make([]weir.Request, 1+rng.IntN(100))
				keys, costs := 1+rng.IntN(20), 1+rng.Int64N(2)
				for i := range reqs {
					k := rng.IntN(keys)
					l := limits[k%2]
					reqs[i] = charge(fmt.Sprint("key", k), min(1+rng.Int64N(costs), l.Max()), l)
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

func TestUncommonKeysInAFlight(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client()
	s := newStore(t, c)
	ctx := context.Background()
	l := weir.PerHour(5)
	c.Set(ctx, s.stateKey("", "foreign"), "what?", time.Hour)
	c.RPush(ctx, s.stateKey("", "list"), "what?")
	if err := s.Brake(ctx, charge("paused", 0, l).Charges, weir.Brake{Pause: time.Hour}); err != nil {
		t.Fatal(err)
	}
	booked := charge("booked", 4, l)
	booked.Cancelable = true
	take(t, s, booked)
	take(t, s, charge("changed", 8, weir.PerHour(10)))
	names := []string{"plain", "foreign", "paused", "booked", "list", "changed", "fresh"}
	var reqs []weir.Request
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
			if err != nil || d.Allowed || d.Reason != weir.Paused {
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
	var reqs []weir.Request
	for i := range 3000 {
		reqs = append(reqs, charge(fmt.Sprintf("%0*d", 1+i%1000%900, i%1000), 1, weir.Per(int64(2+i%20), time.Hour)))
	}
	var ds []weir.Decision
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

// TestConcurrentCallsAreExact has four stores decide for 64 callers each, while
// the server forgets its scripts.
func TestConcurrentCallsAreExact(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	cluster := redistest.StartCluster(t)
	for name, open := range map[string]func() redis.UniversalClient{
		"single":  func() redis.UniversalClient { return server.Client() },
		"cluster": func() redis.UniversalClient { return cluster.Client() },
	} {
		const stores, callers, keys, burst = 4, 64, 5, 300
		limit := weir.Per(burst, 10*24*time.Hour)
		var admitted [keys]atomic.Int64
		var wg sync.WaitGroup
		for range stores {
			s := newStore(t, open())
			for g := range callers {
				wg.Go(func() {
					for i := range 40 {
						k := (g + i*i) % keys
						d, err := s.Take(context.Background(), charge(fmt.Sprint("key", k), 1, limit))
						if err != nil {
							t.Error(name, err)
							return
						}
						if d.Allowed {
							admitted[k].Add(1)
						}
					}
				})
			}
		}
		if name == "single" {
			c := server.Client()
			for range 20 {
				c.ScriptFlush(context.Background())
			}
		}
		wg.Wait()
		for k := range keys {
			if n := admitted[k].Load(); n != burst {
				t.Errorf("%s: %d admitted, want %d", name, n, burst)
			}
		}
	}
}

// gate is a hook that holds commands up.
type gate struct {
	commands atomic.Int64 // that have come
	held     atomic.Int64 // and are held up
	tokens   atomic.Pointer[chan struct{}]
	answer   func() error // in place of Redis, for those that are let through; nil: Redis
}

// shut has whatever comes wait for a token each.
func (g *gate) shut() (let func(), open func()) {
	tokens := make(chan struct{})
	g.tokens.Store(&tokens)
	return func() { tokens <- struct{}{} }, sync.OnceFunc(func() {
		g.tokens.Store(nil)
		close(tokens)
	})
}

func (g *gate) pass(n int) error {
	g.commands.Add(int64(n))
	if tokens := g.tokens.Load(); tokens != nil {
		g.held.Add(1)
		<-*tokens
		g.held.Add(-1)
	}
	if g.answer != nil {
		return g.answer()
	}
	return nil
}

// hold returns when n commands are held up.
func (g *gate) hold(n int64) {
	for g.held.Load() != n {
		time.Sleep(100 * time.Microsecond)
	}
}

func (g *gate) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := g.pass(1); err != nil {
			return err
		}
		return next(ctx, cmd)
	}
}

func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if err := g.pass(len(cmds)); err != nil {
			return err
		}
		return next(ctx, cmds)
	}
}

// inTheLine returns when n calls wait.
func inTheLine(t *testing.T, s *Store, n int) {
	t.Helper()
	for {
		s.shared.mu.Lock()
		there := len(s.shared.line)
		s.shared.mu.Unlock()
		if there == n {
			return
		}
		if t.Context().Err() != nil {
			t.Fatalf("%d calls wait, want %d", there, n)
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// gated returns a store whose commands pass a gate. Slow flights are waited for
// in tests that need it.
func gated(t *testing.T, patient bool) (*Store, *gate) {
	t.Helper()
	_, c := miniClient(t)
	g := new(gate)
	c.AddHook(g)
	s := newStore(t, c)
	s.shared.watched = patient
	take(t, s, charge("first", 1, weir.PerHour(5))) // It may have to send the script's text.
	g.commands.Store(0)
	return s, g
}

func TestHotKeyIsOneCommand(t *testing.T) {
	t.Parallel()
	s, g := gated(t, true)
	const calls = 300
	_, open := g.shut()
	var allowed atomic.Int64
	var seen [calls + 1]atomic.Bool
	var wg sync.WaitGroup
	call := func() {
		wg.Go(func() {
			d, err := s.Take(context.Background(), charge("hot", 1, weir.PerHour(200)))
			if err != nil {
				t.Error(err)
			}
			if d.Allowed {
				allowed.Add(1)
				if seen[d.Remaining].Swap(true) {
					t.Errorf("two calls leave %d", d.Remaining)
				}
			}
		})
	}
	call()
	g.hold(1)
	for range calls - 1 {
		call()
	}
	inTheLine(t, s, calls-1)
	open()
	wg.Wait()
	if n := g.commands.Load(); n != 2 {
		t.Errorf("%d commands, want 2: the first call's, and one for all that came meanwhile", n)
	}
	if n := allowed.Load(); n != 200 {
		t.Errorf("%d allowed, want 200", n)
	}
}

func TestCallThatLeavesTheLineIsNotCharged(t *testing.T) {
	t.Parallel()
	s, g := gated(t, true)
	_, open := g.shut()
	limit := weir.PerHour(100)
	var wg sync.WaitGroup
	flying(t, s, g, &wg)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	for range 10 {
		go func() {
			_, err := s.Take(ctx, charge("key", 1, limit))
			ended <- err
		}()
	}
	wg.Go(func() { take(t, s, charge("key", 1, limit)) })
	inTheLine(t, s, 11)
	cancel()
	for range 10 {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the context's error", err)
		}
	}
	open()
	wg.Wait()
	if d := take(t, s, charge("key", 0, limit)); d.Remaining != 99 {
		t.Errorf("%d remaining, want 99: those that left were charged", d.Remaining)
	}
}

// flying starts a call and, once that is held up, others behind it.
func flying(t *testing.T, s *Store, g *gate, wg *sync.WaitGroup, others ...func()) {
	t.Helper()
	wg.Go(func() { _, _ = s.Take(context.Background(), charge("ahead", 1, weir.PerHour(100))) })
	g.hold(1)
	for i, other := range others {
		wg.Go(other)
		inTheLine(t, s, i+1)
	}
}

func TestCallThatLeavesAFlightDoesNotEndIt(t *testing.T) {
	t.Parallel()
	s, g := gated(t, true)
	let, open := g.shut()
	ctx, cancel := context.WithCancel(context.Background())
	left := make(chan error, 1)
	var wg sync.WaitGroup
	flying(t, s, g, &wg, func() {
		_, err := s.Take(ctx, charge("key", 1, weir.PerHour(100)))
		left <- err
	}, func() { take(t, s, charge("key", 1, weir.PerHour(100))) })
	let()
	inTheLine(t, s, 0)
	g.hold(1)
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	open()
	wg.Wait()
}

func TestSlowFlightHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	s, g := gated(t, false)
	_, open := g.shut()
	var wg sync.WaitGroup
	flying(t, s, g, &wg)
	wg.Go(func() { take(t, s, charge("key", 1, weir.PerHour(100))) })
	g.hold(2) // It has set off, too.
	open()
	wg.Wait()
}

func TestFailedFlightFailsItsCalls(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, test := range map[string]struct {
		answer func() error
		want   string
	}{
		"an error":                   {func() error { return broken }, "broken"},
		"a panic of a client's hook": {func() error { panic("oh no") }, "redisstore: the client panicked: oh no"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, g := gated(t, true)
			let, open := g.shut()
			errs := make([]error, 20)
			var others []func()
			for i := range errs {
				others = append(others, func() {
					_, errs[i] = s.Take(context.Background(), charge(fmt.Sprint("key", i%3), 1, weir.PerHour(100)))
				})
			}
			var wg sync.WaitGroup
			flying(t, s, g, &wg, others...)
			let()
			inTheLine(t, s, 0)
			g.hold(1)
			g.answer = test.answer
			open()
			wg.Wait()
			for i, err := range errs {
				if err == nil || err.Error() != test.want {
					t.Errorf("call %d: %v, want %s", i, err, test.want)
				}
			}
			g.answer = nil
			take(t, s, charge("key", 1, weir.PerHour(100)))
		})
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
	ctx := f.context()
	if deadline, ok := ctx.Deadline(); !ok || !deadline.Equal(at.Add(3)) {
		t.Errorf("deadline %v, %t, want %v", deadline, ok, at.Add(3))
	}
	if ctx.Value(key{}) != time.Duration(2) || ctx.Done() != nil {
		t.Error("it should have the first call's values, and no end but the deadline")
	}
	f.calls = append(f.calls, &waiting{ctx: context.Background()})
	if _, ok := f.context().Deadline(); ok {
		t.Error("one call has no deadline, so the flight should have none")
	}
}

// proxy is a hook that sends a command on to one of several servers, by its
// first key alone.
type proxy struct{ servers []*redis.Client }

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

func (p proxy) process(ctx context.Context, cmd redis.Cmder) error {
	sum := 0
	for _, c := range []byte(fmt.Sprint(cmd.Args()[3])) {
		sum += int(c)
	}
	return p.servers[sum%len(p.servers)].Process(ctx, cmd)
}

func TestKeysArePackedOnlyOnOneServer(t *testing.T) {
	t.Parallel()
	_, one := miniClient(t)
	_, another := miniClient(t)
	_, front := miniClient(t)
	front.AddHook(proxy{[]*redis.Client{one, another}})
	cluster := redistest.StartCluster(t)
	for name, test := range map[string]struct {
		client redis.UniversalClient
		want   int32
	}{
		"a server":                     {one, together},
		"a proxy in front of several":  {front, apart},
		"a cluster":                    {cluster.Client(), apart},
		"a node of a cluster, alone":   {cluster.Nodes[0].Client(), apart},
		"a ring":                       {redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": cluster.Addrs[0]}}), apart},
		"a server that is not there":   {redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", DialerRetries: 1}), unknown},
		"a server without its scripts": {func() redis.UniversalClient { _, c := miniClient(t); return c }(), together},
	} {
		s := newStore(t, test.client)
		var reqs []weir.Request
		for i := range 60 {
			reqs = append(reqs, charge(fmt.Sprint(name, i%30), 1, weir.PerHour(1)))
		}
		ds, errs := onBoard(s, reqs)
		if got := s.shared.packs.state.Load(); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
		if test.client == redis.UniversalClient(front) || test.want == together {
			for i := range reqs {
				if errs[i] != nil || ds[i].Allowed != (i < 30) {
					t.Errorf("%s: call %d: %+v, %v", name, i, ds[i], errs[i])
				}
			}
		}
		if name == "a ring" || test.want == unknown {
			_ = test.client.Close()
		}
	}
}
