package redisstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

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
		limit := store.Per(burst, 10*24*time.Hour)
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
	for began := time.Now(); g.held.Load() != n; time.Sleep(100 * time.Microsecond) {
		if time.Since(began) > time.Minute {
			panic(fmt.Sprintf("%d commands are held up, want %d", g.held.Load(), n))
		}
	}
}

func (g *gate) DialHook(next redis.DialHook) redis.DialHook { return next }

// handshake reports whether a command belongs to a new connection. How many
// connections a client opens depends on how busy the machine is.
func handshake(cmd redis.Cmder) bool {
	return slices.Contains([]string{"hello", "auth", "client", "select", "readonly", "command", "ping"}, cmd.Name())
}

func (g *gate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if handshake(cmd) {
			return next(ctx, cmd)
		}
		if err := g.pass(1); err != nil {
			return err
		}
		return next(ctx, cmd)
	}
}

func (g *gate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if handshake(cmds[0]) {
			return next(ctx, cmds)
		}
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
		s.shared.first.mu.Lock()
		there := s.shared.first.queued()
		s.shared.first.mu.Unlock()
		if there == n {
			return
		}
		if t.Context().Err() != nil {
			t.Fatalf("%d calls wait, want %d", there, n)
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// landed returns when nothing is under way.
func landed(s *Store) {
	for busy := true; busy; time.Sleep(100 * time.Microsecond) {
		s.shared.first.mu.Lock()
		busy = s.shared.first.busy != [lanes]bool{}
		s.shared.first.mu.Unlock()
	}
}

// onlyNudge is a combiner's watch that gives no flight up.
func onlyNudge(c *combiner, done <-chan struct{}) {
	for ticks := time.NewTicker(time.Millisecond); ; {
		select {
		case <-done:
			ticks.Stop()
			return
		case <-ticks.C:
			c.mu.Lock()
			for lane := range lanes {
				c.nudge(lane)
			}
			c.mu.Unlock()
		}
	}
}

// waitForSlow makes a store wait for its slow flights. Otherwise calls that wait
// behind one on a busy machine leave by themselves.
func waitForSlow(t *testing.T, s *Store) {
	s.shared.first.watched = true
	done, over := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(done); <-over })
	go func() {
		defer close(over)
		onlyNudge(s.shared.first, done)
	}()
}

// gated returns a store whose commands pass a gate. Slow flights are waited for
// in tests that need it.
func gated(t *testing.T, patient bool) (*Store, *gate) {
	t.Helper()
	_, c := miniClient(t)
	g := new(gate)
	c.AddHook(g)
	s := newStore(t, c)
	if patient {
		waitForSlow(t, s)
	}
	take(t, s, charge("first", 1, store.Per(5, time.Hour))) // It may have to send the script's text.
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
			d, err := s.Take(context.Background(), charge("hot", 1, store.Per(200, time.Hour)))
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
	limit := store.Per(100, time.Hour)
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
	wg.Go(func() { _, _ = s.Take(context.Background(), charge("ahead", 1, store.Per(100, time.Hour))) })
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
		_, err := s.Take(ctx, charge("key", 1, store.Per(100, time.Hour)))
		left <- err
	}, func() { take(t, s, charge("key", 1, store.Per(100, time.Hour))) })
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

func TestFlightThatAllHaveLeftIsNotSent(t *testing.T) {
	t.Parallel()
	for name, stays := range map[string]bool{"all have left": false, "one stays": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, g := gated(t, true)
			let, open := g.shut()
			limit := store.Per(100, time.Hour)
			var wg sync.WaitGroup
			var cancels []context.CancelFunc
			var others []func()
			left := make(chan error, 3)
			for i := range 3 {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				if !stays || i > 0 {
					cancels = append(cancels, cancel)
				}
				others = append(others, func() {
					_, err := s.Take(ctx, charge("key", 1, limit))
					left <- err
				})
			}
			flying(t, s, g, &wg, others...)
			let()
			inTheLine(t, s, 0)
			g.hold(1)
			for _, cancel := range cancels {
				cancel()
				if err := <-left; !errors.Is(err, context.Canceled) {
					t.Errorf("got %v, want the context's error", err)
				}
			}
			open()
			wg.Wait()
			landed(s)
			want := int64(100)
			if stays {
				want = 97
			}
			if d := take(t, s, charge("key", 0, limit)); d.Remaining != want {
				t.Errorf("%d remaining, want %d", d.Remaining, want)
			}
		})
	}
}

func TestSlowFlightHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	s, g := gated(t, false)
	_, open := g.shut()
	var wg sync.WaitGroup
	flying(t, s, g, &wg)
	wg.Go(func() { take(t, s, charge("key", 1, store.Per(100, time.Hour))) })
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
		"runtime.Goexit in a hook":   {func() error { runtime.Goexit(); return nil }, "redisstore: the client ended its goroutine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, g := gated(t, true)
			let, open := g.shut()
			errs := make([]error, 20)
			var others []func()
			for i := range errs {
				others = append(others, func() {
					_, errs[i] = s.Take(context.Background(), charge(fmt.Sprint("key", i%3), 1, store.Per(100, time.Hour)))
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
			landed(s)
			take(t, s, charge("key", 1, store.Per(100, time.Hour)))
		})
	}
}
