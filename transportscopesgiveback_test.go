package weir_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
)

// TestScopesGiveBack exactly what was booked on the narrow limit, when the wide
// one does not admit.
func TestScopesGiveBack(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for _, c := range []struct {
		name    string
		change  func(*weir.TransportConfig)
		ctx     func(context.Context) (context.Context, context.CancelFunc)
		token   weir.Limit
		waiting int // requests of other tokens that wait for the host
		want    func(error) bool
		after   time.Duration
	}{
		{name: "MaxWait", change: func(c *weir.TransportConfig) { c.MaxWait = 9 * time.Second },
			want: limitedBy("host", weir.BoundMaxWait)},
		{name: "MaxWait counts the narrow limit's wait", change: func(c *weir.TransportConfig) { c.MaxWait = 15 * time.Second },
			token: weir.PerMinute(10).WithBurst(1), waiting: 1, want: limitedBy("host", weir.BoundMaxWait), after: 6 * time.Second},
		{name: "Refuse", change: func(c *weir.TransportConfig) { c.Refuse = true }, want: limitedBy("host", weir.BoundNone)},
		{name: "deadline", ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 9*time.Second)
		}, want: limitedBy("host", weir.BoundDeadline)},
		{name: "cancelled while it waits", ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(4*time.Second, cancel)
			return ctx, cancel
		}, want: func(err error) bool { return errors.Is(err, context.Canceled) && !errors.Is(err, weir.ErrLimited) }, after: 4 * time.Second},
		{name: "cost that never fits", change: func(c *weir.TransportConfig) {
			c.Levels[0].Cost = func(*http.Request) (int64, error) { return 1000, nil }
		}, want: limitedBy("host", weir.BoundNone)},
		{name: "key error of the wide limit", change: func(c *weir.TransportConfig) { c.Levels[0].Key = weir.KeyHeader("X-Org") },
			want: func(err error) bool {
				return errors.Is(err, weir.ErrNoKey) && strings.Contains(err.Error(), "Levels[0].key")
			}},
		{name: "cost error of the wide limit", change: func(c *weir.TransportConfig) {
			c.Levels[0].Cost = func(*http.Request) (int64, error) { return 0, boom }
		}, want: func(err error) bool { return errors.Is(err, boom) }},
		{name: "negative cost of the wide limit", change: func(c *weir.TransportConfig) {
			c.Levels[0].Cost = func(*http.Request) (int64, error) { return -1, nil }
		}, want: func(err error) bool {
			var ce *weir.ConfigError
			return errors.As(err, &ce) && ce.Field == "TransportConfig.Levels[0].Cost"
		}},
		{name: "store failure of the wide limit", change: func(c *weir.TransportConfig) {
			c.Levels[0].Limiter = mustLimiter(weir.Config{Store: &transportStore{err: boom}, Limits: []weir.Limit{weir.PerSecond(1)}})
		}, want: func(err error) bool { return errors.Is(err, weir.ErrStore) }},
		{name: "own MaxWait of the wide limit", change: func(c *weir.TransportConfig) {
			c.Levels[0].Limiter = mustLimiter(weir.Config{Store: &transportStore{delay: 10 * time.Second}, Limits: []weir.Limit{weir.PerSecond(1)},
				Name: "own", MaxWait: 9 * time.Second})
		}, want: limitedBy("own", weir.BoundMaxWait)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if c.token.Rate == 0 {
					c.token = weir.PerMinute(10)
				}
				var change []func(*weir.TransportConfig)
				if c.change != nil {
					change = append(change, c.change)
				}
				s := newScoped(t, c.token, weir.PerMinute(6).WithBurst(1), change...)
				// The host's next slot is 10 s away, the token's is free or, with
				// others waiting, 6 s.
				if _, err := s.host.Allow(t.Context(), "http://api.example"); err != nil {
					t.Fatal(err)
				}
				for range c.waiting {
					if _, err := s.token.Allow(t.Context(), "A"); err != nil {
						t.Fatal(err)
					}
					if _, err := s.host.Reserve(t.Context(), "http://api.example"); err != nil {
						t.Fatal(err)
					}
				}
				before := s.state(t, "A")
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if c.ctx != nil {
					ctx, cancel = c.ctx(ctx)
				}
				defer cancel()
				start := time.Now()
				err := s.do(t, ctx, "A")
				if err == nil || !c.want(err) {
					t.Errorf("error %v", err)
				}
				if took := time.Since(start); took != c.after || len(s.base.sent) != 0 {
					t.Errorf("after %v, %d sent", took, len(s.base.sent))
				}
				synctest.Wait()
				if after := s.state(t, "A"); c.after == 0 && after != before {
					t.Errorf("before: %s\nafter:  %s", before, after)
				}
				if d, err := s.token.Peek(t.Context(), "A"); err != nil || d.Remaining != c.token.Max() {
					t.Errorf("%d of the token's units remain, want all %d", d.Remaining, c.token.Max())
				}
				for _, l := range []*weir.Limiter{s.token, s.host} {
					if queues, calls := l.Waiting(); queues != 0 || calls != 0 {
						t.Errorf("%d queues, %d calls wait", queues, calls)
					}
				}
			})
		})
	}
}

func limitedBy(scope string, bound weir.Bound) func(error) bool {
	return func(err error) bool {
		var le *weir.LimitedError
		return errors.As(err, &le) && le.Scope == scope && le.Bound == bound
	}
}

func mustLimiter(cfg weir.Config) *weir.Limiter {
	l, err := weir.New(cfg)
	if err != nil {
		panic(err)
	}
	return l
}

// TestScopesGiveBackAll of three, when the third refuses, and when it panics.
func TestScopesGiveBackAll(t *testing.T) {
	t.Parallel()
	for _, refuse := range []bool{false, true} {
		for _, panics := range []bool{false, true} {
			t.Run(fmt.Sprint("refuse ", refuse, ", panic ", panics), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					first, second, third := &transportStore{}, &transportStore{}, &transportStore{delay: time.Hour}
					limiter := func(name string, s weir.Store) *weir.Limiter {
						return mustLimiter(weir.Config{Store: s, Limits: []weir.Limit{weir.PerSecond(1)}, Name: name, MaxWait: time.Minute,
							Hook: weir.HookFunc(func(context.Context, weir.Event) {
								if panics && name == "third" {
									panic("hook")
								}
							})})
					}
					tr, err := weir.NewTransport(weir.TransportConfig{
						Limiter: limiter("first", first), Refuse: refuse, Base: transportUnused(t),
						Levels: []weir.TransportLevel{{Limiter: limiter("second", second)}, {Limiter: limiter("third", third)}},
					})
					if err != nil {
						t.Fatal(err)
					}
					req, body := transportPost(t, t.Context(), "http://api.example/")
					func() {
						defer func() {
							if got := recover(); (got != nil) != panics {
								t.Errorf("recovered %v", got)
							}
						}()
						if _, err := tr.RoundTrip(req); !errors.Is(err, weir.ErrLimited) {
							t.Error(err)
						}
					}()
					synctest.Wait()
					if first.cancels != 1 || second.cancels != 1 || third.cancels != 0 || body.closed.Load() != 1 {
						t.Errorf("gave back %d, %d and %d; body closed %d times", first.cancels, second.cancels, third.cancels, body.closed.Load())
					}
				})
			})
		}
	}
}

// TestScopesGiveBackOfASlowStore holds nobody up for long.
func TestScopesGiveBackOfASlowStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := &gcraStore{cancel: func(int) error { time.Sleep(time.Second); return nil }}
		var levels []weir.TransportLevel
		for _, s := range []weir.Store{&gcraStore{cancel: slow.cancel}, &transportStore{delay: time.Hour}} {
			levels = append(levels, weir.TransportLevel{Limiter: mustLimiter(weir.Config{Store: s, Limits: []weir.Limit{weir.PerSecond(1)}})})
		}
		tr, err := weir.NewTransport(weir.TransportConfig{
			Limiter: mustLimiter(weir.Config{Store: slow, Limits: []weir.Limit{weir.PerSecond(1)}}),
			Base:    transportUnused(t), Levels: levels, MaxWait: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		req, _ := transportPost(t, t.Context(), "http://api.example/")
		if _, err := tr.RoundTrip(req); !errors.Is(err, weir.ErrLimited) || time.Since(start) > 50*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if slow.cancels != 1 || len(slow.misused) > 0 {
			t.Errorf("%d given back, %v", slow.cancels, slow.misused)
		}
	})
}
