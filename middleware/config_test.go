package middleware_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	beside := func(name string, limits ...weir.Limit) func(*middleware.Config) {
		return func(c *middleware.Config) {
			store := newLocal(t)
			c.Limiter = on(t, store, "api", weir.PerSecond(1))
			level(on(t, store, name, limits...), weir.KeyStatic("all"))(c)
		}
	}
	tests := []struct {
		name   string
		config func(*middleware.Config)
		field  string // empty: valid
	}{
		{"limiter and key", func(*middleware.Config) {}, ""},
		{"no limiter", func(c *middleware.Config) { c.Limiter = nil }, "Limiter"},
		{"a limiter that New did not make", func(c *middleware.Config) { c.Limiter = &weir.Limiter{} }, "Limiter"},
		{"a limiter of calls in flight", func(c *middleware.Config) { c.Limiter = inFlight(t, newLocal(t), "api") }, "Limiter"},
		{"no key", func(c *middleware.Config) { c.Key = nil }, "Key"},
		{"a challenge", func(c *middleware.Config) { c.Challenge = `Bearer realm="x"` }, ""},
		{"a challenge on two lines", func(c *middleware.Config) { c.Challenge = "Bearer\r\nX: y" }, "Challenge"},
		{"a challenge that is not ASCII", func(c *middleware.Config) { c.Challenge = "Bearer realm=é" }, "Challenge"},
		{"unknown failure policy", func(c *middleware.Config) { c.OnStoreFailure = 2 }, "OnStoreFailure"},
		{"unknown style", func(c *middleware.Config) { c.Headers = 5 }, "Headers"},
		{"a partition secret that can be guessed", func(c *middleware.Config) { c.PartitionSecret = []byte("123456789abcdef") }, "PartitionSecret"},
		{"a partition secret for other headers", func(c *middleware.Config) {
			c.PartitionSecret, c.Headers = []byte("0123456789abcdef"), middleware.HeadersX
		}, "PartitionSecret"},
		{"a partition secret", func(c *middleware.Config) { c.PartitionSecret = []byte("0123456789abcdef") }, ""},
		{"settling on a store that can't", func(c *middleware.Config) { c.Settle = middleware.OnlyFailures }, "Settle"},
		{"settling", func(c *middleware.Config) { c.Limiter, c.Settle = named(t, "api"), middleware.OnlyFailures }, ""},
		{"a delay below 0", delay(-1, 1), "Delay.Max"},
		{"a delay for any number", delay(time.Second, 0), "Delay.MaxWaiting"},
		{"a delay for fewer than none", delay(time.Second, -1), "Delay.MaxWaiting"},
		{"no delay for some", delay(0, 1), "Delay.MaxWaiting"},
		{"a delay", delay(time.Second, 1), ""},
		{"a penalty without a limiter", penalty(nil, time.Second), "Penalty.For"},
		{"a penalty counted by the limiter itself", penalty(named(t, "api"), time.Second), "Penalty.Limiter"},
		{"a penalty counted by a limiter that New did not make", func(c *middleware.Config) {
			penalty(&weir.Limiter{}, time.Second)(c)
			c.Limiter = named(t, "api")
		}, "Penalty.Limiter"},
		{"a penalty counted by calls in flight", penalty(inFlight(t, newLocal(t), "refusals"), time.Second), "Penalty.Limiter"},
		{"a penalty of no time", penalty(named(t, "refusals"), 0), "Penalty.For"},
		{"a penalty below 0", penalty(named(t, "refusals"), -1), "Penalty.For"},
		{"a penalty longer than a pause", penalty(named(t, "refusals"), store.MaxPeriod/4+1), "Penalty.For"},
		{"a penalty on a store that can't pause", func(c *middleware.Config) {
			c.Penalty = middleware.Penalty{Limiter: named(t, "refusals"), For: time.Second}
		}, "Penalty.Limiter"},
		{"a penalty", penalty(named(t, "refusals"), 15*time.Minute), ""},
		{"a shadow that is nil", shadows(nil), "Shadows"},
		{"a shadow that New did not make", func(c *middleware.Config) {
			c.Limiter, c.Shadows = named(t, "api"), []*weir.Limiter{named(t, "a"), {}}
		}, "Shadows"},
		{"a shadow of calls in flight", shadows(inFlight(t, newLocal(t), "a")), "Shadows"},
		{"a shadow with the limiter's name", shadows(named(t, "api")), "Shadows"},
		{"two shadows of one name", shadows(named(t, "a"), named(t, "a")), "Shadows"},
		{"a shadow with the name of the penalty's limiter", func(c *middleware.Config) {
			c.Limiter = named(t, "api")
			penalty(named(t, "a"), time.Second)(c)
			c.Shadows = []*weir.Limiter{named(t, "a")}
		}, "Shadows"},
		{"shadows", shadows(named(t, "a"), named(t, "b")), ""},
		{"a level without a limiter", level(nil, weir.KeyStatic("all")), "Levels[0].Limiter"},
		{"a level without a key", level(named(t, "all"), nil), "Levels[0].Key"},
		{"a level over another store", level(named(t, "all"), weir.KeyStatic("all")), "Levels[0].Limiter"},
		{"a level on a store that can't be compared", func(c *middleware.Config) {
			c.Limiter = httpcases.NewLimiter(t, uncomparable{}, weir.PerSecond(1))
			c.Levels = []middleware.Level{{Limiter: on(t, uncomparable{}, "all", weir.PerHour(1)), Key: weir.KeyStatic("all")}}
		}, "Levels[0].Limiter"},
		{"a level with the limiter's name", beside("api", weir.PerSecond(1)), "Levels[0].Limiter"},
		{"a level of calls in flight", func(c *middleware.Config) {
			store := newLocal(t)
			c.Limiter = on(t, store, "api", weir.PerSecond(1))
			c.Levels = []middleware.Level{{Limiter: inFlight(t, store, "all"), Key: weir.KeyStatic("all")}}
		}, "Levels[0].Limiter"},
		{"two levels with a policy of one name", beside("all", weir.PerSecond(1)), ""},
		{"two levels with policies of two names", beside("all", weir.PerSecond(1).WithName("all")), ""},
		{"policies of one name, one of them looked up", func(c *middleware.Config) {
			beside("all", weir.PerSecond(1))(c)
			c.Limits = func(*http.Request) ([]weir.Limit, error) { return nil, nil }
		}, ""},
		{"a shadow with a level's name", func(c *middleware.Config) {
			beside("all", weir.PerHour(1))(c)
			c.Shadows = []*weir.Limiter{named(t, "all")}
		}, "Shadows"},
		{"the last of each", func(c *middleware.Config) {
			c.OnStoreFailure, c.Headers = middleware.FailClosed, middleware.HeadersNone
		}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := middleware.Config{
				Limiter: httpcases.NewLimiter(t, httpcases.Always{}, weir.PerSecond(1)),
				Key:     weir.KeyRemoteIP(),
			}
			if strings.Contains(tt.name, "penalty") && !strings.Contains(tt.name, "can't") {
				cfg.Limiter = named(t, "api") // can pause
			}
			tt.config(&cfg)
			m, err := middleware.New(cfg)
			if tt.field == "" {
				if m == nil || err != nil {
					t.Errorf("New: %v", err)
				}
				return
			}
			var ce *weir.ConfigError
			if m != nil || !errors.Is(err, weir.ErrConfig) || !errors.As(err, &ce) || ce.Field != "middleware.Config."+tt.field {
				t.Errorf("New: %v, want an error that names %s", err, tt.field)
			}
		})
	}
}

// uncomparable is a store that panics when it is compared.
type uncomparable struct {
	httpcases.Always
	_ []int
}

func newLocal(t *testing.T) weir.Store {
	t.Helper()
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func on(t *testing.T, store weir.Store, name string, limits ...weir.Limit) *weir.Limiter {
	t.Helper()
	l, err := weir.New(weir.Config{Name: name, Store: store, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// inFlight returns a limiter with Config.InFlight. The middleware never ends its calls.
func inFlight(t *testing.T, store weir.Store, name string) *weir.Limiter {
	t.Helper()
	l, err := weir.New(weir.Config{Name: name, Store: store, Limits: []weir.Limit{weir.PerHour(1)}, InFlight: 1})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func level(l *weir.Limiter, key weir.KeyFunc) func(*middleware.Config) {
	return func(c *middleware.Config) { c.Levels = []middleware.Level{{Limiter: l, Key: key}} }
}

func named(t *testing.T, name string) *weir.Limiter {
	t.Helper()
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := weir.New(weir.Config{Name: name, Store: store, Limits: []weir.Limit{weir.PerSecond(1)}})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func delay(d time.Duration, n int) func(*middleware.Config) {
	return func(c *middleware.Config) { c.Delay = middleware.Delay{Max: d, MaxWaiting: n} }
}

func penalty(counter *weir.Limiter, d time.Duration) func(*middleware.Config) {
	return func(c *middleware.Config) { c.Penalty = middleware.Penalty{Limiter: counter, For: d} }
}

func shadows(limiters ...*weir.Limiter) func(*middleware.Config) {
	return func(c *middleware.Config) { c.Shadows = limiters }
}
