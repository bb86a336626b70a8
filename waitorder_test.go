package weir_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// TestWaitKeepsOrderWhenRepliesOvertake: calls leave in order though replies overtake
// each other. The limit is full for a second, so all replies come before the first slot.
func TestWaitKeepsOrderWhenRepliesOvertake(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 0))
				s := &gcraStore{before: func(int) time.Duration { return time.Duration(r.Int64N(int64(500 * ms))) }}
				l := newLimiter(t, s, func(c *weir.Config) { c.Limits = []weir.Limit{weir.PerSecond(100)} })
				for range 2 {
					if _, err := l.ReserveN(t.Context(), "k", 100); err != nil {
						t.Fatal(err)
					}
				}
				full := s.grants[1].at
				n := newLine(l)
				for i := range 200 {
					n.join(t.Context(), i, "k")
				}
				n.wg.Wait()
				for i := range 200 {
					n.want(t, i, full.Sub(n.start)+time.Duration(i+1)*10*ms, nil)
				}
				s.check(t, l, 202, 202)
			})
		})
	}
}

// TestWaitSwap: the store decides the second of two calls first. So the first call owns
// the slot at 20ms, the second call the slot at 10ms.
func TestWaitSwap(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name              string
		deadline, maxWait time.Duration // of the second
		first, second     time.Duration // when they go
	}{
		{name: "no bound", first: 10 * ms, second: 20 * ms},
		{name: "deadline after the slot", deadline: 21 * ms, first: 10 * ms, second: 20 * ms},
		{name: "deadline at the slot", deadline: 20 * ms, first: 10 * ms, second: 20 * ms},
		{name: "deadline before the slot", deadline: 19 * ms, first: 20 * ms, second: 10 * ms},
		{name: "max wait after the slot", maxWait: 21 * ms, first: 10 * ms, second: 20 * ms},
		{name: "max wait at the slot", maxWait: 20 * ms, first: 10 * ms, second: 20 * ms},
		{name: "max wait before the slot", maxWait: 19 * ms, first: 20 * ms, second: 10 * ms},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &gcraStore{before: func(call int) time.Duration {
					if call == 1 {
						return 5 * ms
					}
					return 0
				}}
				l := newLimiter(t, s)
				if _, err := l.Allow(t.Context(), "k"); err != nil {
					t.Fatal(err)
				}
				ctx := t.Context()
				if tt.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.deadline)
					defer cancel()
				}
				start := time.Now()
				var first, second time.Duration
				n := newLine(l)
				n.wg.Go(func() {
					if err := l.Wait(t.Context(), "k"); err != nil {
						t.Error(err)
					}
					first = time.Since(start)
				})
				synctest.Wait()
				n.wg.Go(func() {
					if err := l.WaitMax(ctx, "k", 1, tt.maxWait); err != nil {
						t.Error(err)
					}
					second = time.Since(start)
				})
				n.wg.Wait()
				if first != tt.first || second != tt.second {
					t.Errorf("first went after %v, second after %v, want %v and %v", first, second, tt.first, tt.second)
				}
				s.check(t, l, 3, 3)
			})
		})
	}
}

// TestWaitGrantedNow: a key is reset while calls wait. The next call is granted a slot
// now, and the earliest arrival leaves in it.
func TestWaitGrantedNow(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		deadline time.Duration   // of the last
		want     []time.Duration // when the calls go
	}{
		{"moves up the line", 0, []time.Duration{3 * ms, 10 * ms, 20 * ms}},
		{"waits no longer than it can", 15 * ms, []time.Duration{3 * ms, 20 * ms, 10 * ms}},
		{"goes when it can't wait", 6 * ms, []time.Duration{10 * ms, 20 * ms, 3 * ms}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := new(gcraStore)
				l := newLimiter(t, s)
				if _, err := l.Allow(t.Context(), "k"); err != nil {
					t.Fatal(err)
				}
				n := newLine(l)
				n.join(t.Context(), 0, "k")
				n.join(t.Context(), 1, "k")
				time.Sleep(3 * ms)
				if err := l.Reset(t.Context(), "k"); err != nil {
					t.Fatal(err)
				}
				ctx := t.Context()
				if tt.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.deadline)
					defer cancel()
				}
				n.join(ctx, 2, "k")
				n.wg.Wait()
				for i, after := range tt.want {
					n.want(t, i, after, nil)
				}
				s.check(t, l, 4, 4)
			})
		})
	}
}

// TestWaitLateReply: a later call's slot comes while an earlier call's reply is still
// under way. No call waits for the reply of another.
func TestWaitLateReply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &gcraStore{before: func(call int) time.Duration {
			if call == 1 {
				return 12 * ms
			}
			return 0
		}}
		l := newLimiter(t, s)
		if _, err := l.Allow(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		n := newLine(l)
		for i := range 4 {
			n.join(t.Context(), i, "k")
		}
		n.wg.Wait()
		n.want(t, 1, 10*ms, nil)
		n.want(t, 0, 20*ms, nil)
		n.want(t, 2, 30*ms, nil)
		n.want(t, 3, 40*ms, nil)
		s.check(t, l, 5, 5)
	})
}

// TestWaitKeysAndCostsApart: calls with different keys or costs share no slots.
func TestWaitKeysAndCostsApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(gcraStore)
		l := newLimiter(t, s, func(c *weir.Config) { c.Limits = []weir.Limit{weir.PerSecond(100).WithBurst(2)} })
		for _, key := range []string{"a", "b"} {
			if _, err := l.AllowN(t.Context(), key, 2); err != nil {
				t.Fatal(err)
			}
		}
		n := newLine(l)
		n.join(t.Context(), 0, "a")
		n.wg.Go(func() {
			if err := l.WaitN(t.Context(), "a", 2); err != nil {
				t.Error(err)
			}
			if after := time.Since(n.start); after != 30*ms {
				t.Errorf("cost 2 went after %v, want 30ms", after)
			}
		})
		synctest.Wait()
		n.join(t.Context(), 1, "b")
		if queues, _ := l.Waiting(); queues != 3 {
			t.Errorf("%d queues, want 3", queues)
		}
		n.wg.Wait()
		n.want(t, 0, 10*ms, nil)
		n.want(t, 1, 10*ms, nil)
		s.check(t, l, 5, 5)
	})
}

// askedAgain is a store whose watches miss everything, and whose answers to looks a
// test may change.
type askedAgain struct {
	*localstore.Store
	look  func(ctx context.Context) error // before looks are answered; nil: as they are
	looks atomic.Int64
}

func (*askedAgain) WatchBrakes(func(string, string, store.Clock)) store.Watch { return deafWatch{} }

func (a *askedAgain) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if req.Peek() {
		a.looks.Add(1)
		if a.look != nil {
			if err := a.look(ctx); err != nil {
				return store.Decision{}, err
			}
		}
	}
	return a.Store.Take(ctx, req)
}

func newAskedAgain(t *testing.T, look func(ctx context.Context) error) *askedAgain {
	t.Helper()
	local, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return &askedAgain{Store: local, look: look}
}

// TestMaxWaitersCountsThoseWhoLook: a look at its slot tells a waiting call of a pause.
// The call still counts against MaxWaiters, once, also if the line is full meanwhile.
func TestMaxWaitersCountsThoseWhoLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l *weir.Limiter
		first := true
		store := newAskedAgain(t, func(ctx context.Context) error {
			if first { // Another call takes the place in the line meanwhile.
				first = false
				_, _ = l.Allow(ctx, "another")
				go func() { _ = l.Wait(ctx, "another") }()
				time.Sleep(ms)
			}
			return nil
		})
		l = onLocal(t, weir.Config{Store: store, Limits: []weir.Limit{weir.PerSecond(1).WithBurst(1)}, MaxWaiters: 1})
		if err := l.Wait(t.Context(), "key"); err != nil {
			t.Fatal(err)
		}
		n := newLine(l)
		n.join(t.Context(), 0, "key")
		time.Sleep(500 * ms)
		if err := l.Pause(t.Context(), "key", 5*time.Second); err != nil {
			t.Fatal(err)
		}
		n.wg.Wait()
		if o, _ := n.get(0); o.err != nil {
			t.Errorf("the call that waited: %v", o.err)
		}
		time.Sleep(time.Minute)
		if queues, calls := l.Waiting(); queues != 0 || calls != 0 {
			t.Errorf("%d queues, %d calls are counted as waiting", queues, calls)
		}
	})
}

// TestLookAtAStoreThatHangs: a look takes 5 s, and holds the first slot up for 50 ms.
// The slots behind it keep 63/64 of their distances until the line has caught up. The
// context of one waiter ends in between.
func TestLookAtAStoreThatHangs(t *testing.T) {
	t.Parallel()
	hang := func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Second):
			return nil
		}
	}
	after := func(d time.Duration, err error) func(context.Context) error {
		return func(context.Context) error { time.Sleep(d); return err }
	}
	for name, c := range map[string]struct {
		look  func(ctx context.Context) error
		delay time.Duration // of the second slot, and the most of the others
	}{
		"its context ends":   {hang, 50 * ms},
		"answers after 5 s":  {after(5*time.Second, nil), 50 * ms},
		"fails after 5 s":    {after(5*time.Second, errors.New("down")), 50 * ms},
		"answers after 30ms": {after(30*ms, nil), 30 * ms},
		"fails at once":      {after(0, errors.New("down")), 0},
		"panics":             {func(context.Context) error { panic("store") }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const waiters, interval = 80, 100 * ms
				l := onLocal(t, weir.Config{Name: "api", Store: newAskedAgain(t, c.look), Limits: []weir.Limit{weir.PerSecond(10).WithBurst(1)}})
				n := newLine(l)
				for i := range waiters {
					ctx := t.Context()
					if i == 40 {
						timed, cancel := context.WithTimeout(ctx, 4500*ms)
						defer cancel()
						ctx = timed
					}
					n.join(ctx, i, "key")
				}
				n.wg.Wait()
				before := time.Duration(0)
				for i := range waiters {
					o, _ := n.get(i)
					slot := time.Duration(i) * interval
					late := o.after - slot
					if o.err != nil || late < 0 || late > c.delay || i == 1 && late != c.delay {
						t.Errorf("call %d: %v after %v, want %v, up to %v later", i, o.err, o.after, slot, c.delay)
					}
					if i > 0 && o.after-before < interval*63/64 {
						t.Errorf("call %d left %v after the one before", i, o.after-before)
					}
					before = o.after
				}
				time.Sleep(10 * time.Second) // The last look ends.
			})
		})
	}
}

// TestLooksTakeNoPace: each look takes a while, so the line looks ahead of its slots and
// keeps its pace. Only the first look holds it up, and the line catches up slowly.
func TestLooksTakeNoPace(t *testing.T) {
	t.Parallel()
	for _, took := range []time.Duration{ms, 20 * ms, 45 * ms} {
		t.Run(fmt.Sprint(took), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const waiters, interval = 300, 10 * ms
				s := newAskedAgain(t, func(context.Context) error { time.Sleep(took); return nil })
				l := onLocal(t, weir.Config{Name: "api", Store: s, Limits: []weir.Limit{weir.PerSecond(100).WithBurst(1)}})
				n := newLine(l)
				for i := range waiters {
					n.join(t.Context(), i, "key")
				}
				n.wg.Wait()
				before := time.Duration(0)
				for i := 1; i < waiters; i++ {
					o, _ := n.get(i)
					if o.err != nil || o.after-before < interval*31/32 {
						t.Errorf("call %d: %v, %v after the one before", i, o.err, o.after-before)
					}
					before = o.after
				}
				if want := (waiters-1)*interval + took; before > want+took {
					t.Errorf("the last call left after %v, want %v", before, want)
				}
				if looks := s.looks.Load(); looks > 61 {
					t.Errorf("%d looks in 3 s", looks)
				}
				time.Sleep(time.Second)
			})
		})
	}
}

// TestWaitStress is for the race detector: it asserts nothing about time.
func TestWaitStress(t *testing.T) {
	t.Parallel()
	s := new(gcraStore)
	l := newLimiter(t, s, func(c *weir.Config) {
		c.Limits = []weir.Limit{weir.PerSecond(50_000).WithBurst(10)}
		c.MaxWaiters = 1000
	})
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for range 50 {
				ctx, cancel := context.WithCancel(t.Context())
				if rand.IntN(2) == 0 {
					time.AfterFunc(time.Duration(rand.IntN(1000))*time.Microsecond, cancel)
				}
				switch err := l.Wait(ctx, "k"); {
				case err == nil:
					admitted.Add(1)
				case !errors.Is(err, context.Canceled):
					t.Error(err)
				}
				cancel()
			}
		})
	}
	wg.Wait()
	// The goroutine that gave the last slot back may not have ended yet.
	for queues, calls := l.Waiting(); queues+calls > 0; queues, calls = l.Waiting() {
		runtime.Gosched()
	}
	if n := len(s.kept()); n != int(admitted.Load()) {
		t.Errorf("%d slots are booked, want one for each of %d calls", n, admitted.Load())
	}
	for _, m := range s.misused {
		t.Error(m)
	}
}
