package weir_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/weirtest"
)

// onLocal returns a limiter, on a localstore of its own and with the name "api" unless
// cfg says otherwise.
func onLocal(t *testing.T, cfg weir.Config) *weir.Limiter {
	t.Helper()
	if cfg.Store == nil {
		cfg.Store = localStore(t)
	}
	cfg.Name = cmp.Or(cfg.Name, "api")
	l, err := weir.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func localStore(t *testing.T) *localstore.Store {
	t.Helper()
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func TestPauseRefuses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(10)}, MaxPause: time.Minute})
		refused := func(after time.Duration) {
			t.Helper()
			d, err := l.Allow(ctx, "key")
			if err != nil || d.Allowed || d.Reason != weir.ReasonPaused || d.RetryAfter != after || d.Remaining != 0 {
				t.Errorf("%+v, %v; want a refusal for %v", d, err, after)
			}
		}
		for _, d := range []time.Duration{3 * time.Second, time.Second, 2 * time.Second} {
			if err := l.Pause(ctx, "key", d); err != nil {
				t.Fatal(err)
			}
			refused(3 * time.Second) // The pause that ends last wins.
		}
		time.Sleep(time.Second)
		refused(2 * time.Second)
		if d, err := l.Allow(ctx, "another"); err != nil || !d.Allowed {
			t.Errorf("another key: %+v, %v", d, err)
		}
		time.Sleep(2*time.Second - time.Microsecond)
		refused(time.Microsecond)
		time.Sleep(time.Microsecond)
		if d, err := l.Allow(ctx, "key"); err != nil || !d.Allowed {
			t.Errorf("after the pause: %+v, %v", d, err)
		}

		if err := l.Pause(ctx, "key", time.Hour); err != nil {
			t.Fatal(err)
		}
		refused(time.Hour) // MaxPause bounds upstreams only.
		if err := l.Resume(ctx, "key"); err != nil {
			t.Fatal(err)
		}
		if d, err := l.Allow(ctx, "key"); err != nil || !d.Allowed {
			t.Errorf("after Resume: %+v, %v", d, err)
		}
	})
}

func TestPauseMistakes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(10)}})
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for name, test := range map[string]struct{ got, want error }{
		"no time":              {l.Pause(ctx, "key", 0), weir.ErrConfig},
		"less than no time":    {l.Pause(ctx, "key", -time.Second), weir.ErrConfig},
		"over 12.5 years":      {l.Pause(ctx, "key", store.MaxPeriod/4+1), weir.ErrConfig},
		"for ever":             {l.Pause(ctx, "key", math.MaxInt64), weir.ErrConfig},
		"no key":               {l.Pause(ctx, "", time.Second), weir.ErrEmptyKey},
		"a context that ended": {l.Pause(ended, "key", time.Second), context.Canceled},
		"a store that can't":   {onLocal(t, weir.Config{Store: plainStore{}, Limits: []weir.Limit{weir.PerSecond(1)}}).Pause(ctx, "key", time.Second), weir.ErrUnsupported},
	} {
		if !errors.Is(test.got, test.want) {
			t.Errorf("%s: %v, want %v", name, test.got, test.want)
		}
	}
	if err := l.Pause(ctx, "long", store.MaxPeriod/4); err != nil {
		t.Errorf("the longest pause: %v", err)
	}
	if d, err := l.Allow(ctx, "long"); err != nil || d.RetryAfter > store.MaxPeriod/4 || d.RetryAfter < store.MaxPeriod/4-time.Minute {
		t.Errorf("retry after %v, %v; want about 12.5 years", d.RetryAfter, err)
	}
	_, err := weir.New(weir.Config{Name: "api", Store: plainStore{}, Limits: []weir.Limit{weir.PerSecond(1)}, MaxPause: -1})
	if !errors.Is(err, weir.ErrConfig) {
		t.Errorf("a negative MaxPause: %v", err)
	}
}

// plainStore allows everything and can do nothing else.
type plainStore struct{}

func (plainStore) Take(_ context.Context, req store.Request) (store.Decision, error) {
	return store.Decision{Allowed: true, Limit: req.Charges[0].Limit}, nil
}

// TestPauseHoldsThoseWhoWait: a pause holds waiting calls. After it they leave at the
// limit's pace, in the order of arrival.
func TestPauseHoldsThoseWhoWait(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]weir.Limit{
		"gcra":           weir.PerSecond(10).WithBurst(1),
		"sliding window": weir.Per(1, 100*ms).By(weir.SlidingWindow),
		"fixed window":   weir.Per(1, 100*ms).By(weir.FixedWindow),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := onLocal(t, weir.Config{Limits: []weir.Limit{limit}})
				n := newLine(l)
				for i := range 10 {
					n.join(t.Context(), i, "key")
				}
				time.Sleep(250 * ms) // Three are gone: at 0, 100 and 200 ms.
				if err := l.Pause(t.Context(), "key", 3*time.Second); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second)
				n.wg.Wait()
				for i := range 3 {
					n.want(t, i, time.Duration(i)*100*ms, nil)
				}
				resumed := n.resumed(t, 3, 3250*ms, 50*ms)
				for i := range 7 {
					n.want(t, 3+i, resumed+time.Duration(i)*100*ms, nil)
				}
			})
		})
	}
}

// resumed returns when the first call after a pause left. Some stores don't know the
// first slot ahead: there the distance from the brake to the slot counts once more.
func (n *line) resumed(t *testing.T, first int, end, distance time.Duration) time.Duration {
	t.Helper()
	o, _ := n.get(first)
	if o.err != nil || o.after < end || o.after > end+distance {
		t.Errorf("call %d ended after %v with %v, want %v, or %v more", first, o.after, o.err, end, distance)
	}
	return o.after
}

// TestResumeFreesThoseWhoWait early, in order.
func TestResumeFreesThoseWhoWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(10).WithBurst(1)}})
		if err := l.Pause(t.Context(), "key", time.Minute); err != nil {
			t.Fatal(err)
		}
		n := newLine(l)
		for i := range 5 {
			n.join(t.Context(), i, "key")
		}
		time.Sleep(time.Second)
		if err := l.Resume(t.Context(), "key"); err != nil {
			t.Fatal(err)
		}
		n.wg.Wait()
		for i := range 5 {
			n.want(t, i, time.Second+time.Duration(i)*100*ms, nil)
		}
	})
}

// fewTakes is a local store that decides a number of times.
type fewTakes struct {
	*localstore.Store
	left atomic.Int64
}

func (s *fewTakes) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if s.left.Add(-1) < 0 {
		return store.Decision{}, errors.New("no decisions are left")
	}
	return s.Store.Take(ctx, req)
}

// TestResumeOfWindows: a Resume moves slots out of their windows. The calls book again in that
// instant, a few times at most, although the new state of the key has no clock.
func TestResumeOfWindows(t *testing.T) {
	t.Parallel()
	algorithms := []store.Algorithm{weir.GCRA, weir.SlidingWindow, weir.SlidingCounter, weir.FixedWindow, weir.AlignedWindow}
	const calls = 3
	for _, a := range algorithms {
		for _, b := range algorithms {
			t.Run(a.String()+" and "+b.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := &fewTakes{Store: localStore(t)}
					s.left.Store(calls * calls)
					l := onLocal(t, weir.Config{Store: s, Limits: []weir.Limit{weir.Per(1, 2*time.Second).By(a), weir.PerSecond(4).By(b)}})
					time.Sleep(time.Second)
					if err := l.Pause(t.Context(), "key", 1500*ms); err != nil {
						t.Fatal(err)
					}
					n := newLine(l)
					for i := range calls {
						n.join(t.Context(), i, "key")
					}
					time.Sleep(500 * ms)
					if err := l.Resume(t.Context(), "key"); err != nil {
						t.Fatal(err)
					}
					n.wg.Wait()
					for i := range calls {
						if o, _ := n.get(i); o.err != nil || o.after > 7*time.Second {
							t.Errorf("call %d ended after %v: %v", i, o.after, o.err)
						}
					}
				})
			})
		}
	}
}

// TestPauseOfWindows: the next calls that wait for windows leave at the end of a pause, whenever
// it was set, and the others follow at their distances.
func TestPauseOfWindows(t *testing.T) {
	t.Parallel()
	const sec = time.Second
	for _, tt := range []struct {
		name         string
		pause, until time.Duration
		leave        [4]time.Duration // five calls each
	}{
		{"in the first window", 1 * sec, 25 * sec, [4]time.Duration{0, 25 * sec, 35 * sec, 45 * sec}},
		{"in the second window", 13 * sec, 21 * sec, [4]time.Duration{0, 10 * sec, 21 * sec, 31 * sec}},
		{"in the third window", 23 * sec, 61 * sec, [4]time.Duration{0, 10 * sec, 20 * sec, 61 * sec}},
		{"until the next window", 13 * sec, 20 * sec, [4]time.Duration{0, 10 * sec, 20 * sec, 30 * sec}},
	} {
		for _, a := range []store.Algorithm{weir.FixedWindow, weir.AlignedWindow} {
			t.Run(tt.name+", "+a.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.Per(5, 10*sec).By(a)}})
					n := newLine(l)
					for i := range 20 {
						n.join(t.Context(), i, "key")
					}
					time.Sleep(tt.pause)
					if err := l.Pause(t.Context(), "key", tt.until-tt.pause); err != nil {
						t.Fatal(err)
					}
					n.wg.Wait()
					for i := range 20 {
						n.want(t, i, tt.leave[i/5], nil)
					}
				})
			})
		}
	}
}

// TestPauseBeyondTheLongestWait refuses waiting calls at once, with the pause as reason.
func TestPauseBeyondTheLongestWait(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		maxWait, timeout time.Duration
		bound            bound
	}{
		"MaxWait":  {2 * time.Second, time.Hour, boundMaxWait},
		"deadline": {0, 2 * time.Second, boundDeadline},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(1).WithBurst(1)}, MaxWait: test.maxWait, MaxWaiters: 5})
				ctx, cancel := context.WithTimeout(t.Context(), test.timeout)
				defer cancel()
				n := newLine(l)
				for i := range 3 {
					n.join(ctx, i, "key")
				}
				time.Sleep(500 * ms)
				if err := l.Pause(ctx, "key", 5*time.Second); err != nil {
					t.Fatal(err)
				}
				n.wg.Wait()
				for i := 1; i < 3; i++ {
					var limited *weir.LimitedError
					o, _ := n.get(i)
					if !errors.As(o.err, &limited) || o.after != 500*ms || limited.Reason != weir.ReasonPaused || boundOf(limited) != test.bound || limited.RetryAfter != 5*time.Second {
						t.Errorf("call %d: %v after %v (%+v)", i, o.err, o.after, limited)
					}
				}
				// They leave nothing behind.
				time.Sleep(5 * time.Second)
				if d, err := l.Allow(t.Context(), "key"); err != nil || !d.Allowed {
					t.Errorf("after the pause: %+v, %v", d, err)
				}
				if queues, calls := l.Waiting(); queues != 0 || calls != 0 {
					t.Errorf("%d queues, %d calls are counted as waiting", queues, calls)
				}
			})
		})
	}
}

// deaf is a store whose watches miss everything.
type deaf struct {
	*localstore.Store
	mu    sync.Mutex
	looks int
}

type deafWatch struct{}

func (deafWatch) Covers(time.Time) bool { return false }
func (deafWatch) Stop()                 {}

func (*deaf) WatchBrakes(func(string, string, store.Clock)) store.Watch { return deafWatch{} }

func (d *deaf) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if req.Peek() {
		d.mu.Lock()
		d.looks++
		d.mu.Unlock()
	}
	return d.Store.Take(ctx, req)
}

// TestPauseUnheardOf: a waiting call whose watch misses a pause looks at its key before
// it leaves.
func TestPauseUnheardOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		local, err := localstore.New(localstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		store := &deaf{Store: local}
		l := onLocal(t, weir.Config{Store: store, Limits: []weir.Limit{weir.PerSecond(10).WithBurst(1)}})
		n := newLine(l)
		for i := range 4 {
			n.join(t.Context(), i, "key")
		}
		time.Sleep(150 * ms) // Two are gone.
		if err := l.Pause(t.Context(), "key", time.Second); err != nil {
			t.Fatal(err)
		}
		n.wg.Wait()
		resumed := n.resumed(t, 2, 1150*ms, 50*ms)
		for i, want := range []time.Duration{0, 100 * ms, resumed, resumed + 100*ms} {
			n.want(t, i, want, nil)
		}
		// The second looked at 100 ms, the third at 200 ms for the fourth too, and both
		// again when the pause was over.
		if store.looks != 4 {
			t.Errorf("%d looks, want 4", store.looks)
		}
	})
}

// TestManyRefusalsAreOnePause: requests under way together are refused shortly after
// each other. The refusals cost the waiting requests no call of the store.
func TestManyRefusalsAreOnePause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		f := newFleet(t, 1, weirtest.ProviderConfig{Latency: func(*http.Request) time.Duration { return 0 }, Travel: func(*http.Request) time.Duration {
			return 500*time.Millisecond + time.Duration(n.Add(1)*7%20)*time.Millisecond
		}}, weir.PerSecond(100).WithBurst(1))
		go f.send(t, 200, 4*time.Second)
		time.Sleep(2 * time.Second)
		f.provider.RefuseFor(300 * time.Millisecond)
		f.store.mu.Lock()
		before := f.store.takes
		f.store.mu.Unlock()
		time.Sleep(600 * time.Millisecond)
		f.store.mu.Lock()
		takes, refused := f.store.takes-before, f.provider.Counts().Refused()
		f.store.mu.Unlock()
		// At 100 per second, all have a slot within 600 ms, not counting the pause.
		if refused < 20 || takes > 60 {
			t.Errorf("%d calls of the store when %d were refused, want one for each of 60 requests at most", takes, refused)
		}
		time.Sleep(time.Minute)
	})
}

// TestResetLeavesWaitersTheirSlots, as far away as a forgotten pause has put them.
func TestResetLeavesWaitersTheirSlots(t *testing.T) {
	t.Parallel()
	for name, pause := range map[string]time.Duration{"paused": 10 * time.Minute, "limited": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := weirtest.NewStore(localStore(t))
				l := onLocal(t, weir.Config{Store: store, Limits: []weir.Limit{weir.PerMinute(60).WithBurst(1)}, MaxWaiters: 5})
				ctx := t.Context()
				first := pause
				if pause > 0 {
					if err := l.Pause(ctx, "key", pause); err != nil {
						t.Fatal(err)
					}
				} else if first = time.Second; l.Wait(ctx, "key") != nil {
					t.Fatal("the first call was not admitted")
				}
				n := newLine(l)
				for i := range 4 {
					n.join(ctx, i, "key")
				}
				time.Sleep(500 * ms)
				takes := store.Counts().Takes
				if err := errors.Join(l.Reset(ctx, "key"), l.Reset(ctx, "unused")); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if got := store.Counts().Takes - takes; got != 0 {
					t.Errorf("the store was asked %d times, want never", got)
				}
				n.wg.Wait()
				for i := range 4 {
					n.want(t, i, first+time.Duration(i)*time.Second, nil)
				}
				nothingLeft(t, l)
			})
		})
	}
}

// TestPauseOfThousands: a pause costs the waiting calls of two processes no call of the
// store. They leave in the order in which they came to the store.
func TestPauseOfThousands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := weirtest.NewStore(localStore(t))
		var lines [2]*line
		for i := range lines {
			lines[i] = newLine(onLocal(t, weir.Config{Store: s, Limits: []weir.Limit{weir.PerSecond(100).WithBurst(1)}}))
		}
		for i := range 1000 {
			lines[i*i%7%2].join(t.Context(), i, "key")
		}
		time.Sleep(time.Second + ms) // 101 are gone.
		before := s.Counts()
		if err := lines[0].l.Pause(t.Context(), "key", time.Minute); err != nil {
			t.Fatal(err)
		}
		lines[0].wg.Wait()
		lines[1].wg.Wait()
		resumed := lines[101*101%7%2].resumed(t, 101, time.Minute+time.Second+ms, 9*ms)
		for i := range 1000 {
			want := time.Duration(i) * 10 * ms
			if i > 100 {
				want += resumed - 1010*ms
			}
			lines[i*i%7%2].want(t, i, want, nil)
		}
		after := s.Counts()
		if brakes, takes, cancels := after.Brakes-before.Brakes, after.Takes-before.Takes, after.Cancels-before.Cancels; brakes != 1 || takes != 0 || cancels != 0 {
			t.Errorf("%d brakes, %d takes, %d cancels; want 1 brake", brakes, takes, cancels)
		}
	})
}
