package weir_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/long"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*weir.Config)
		field  string
	}{
		{"nil store", func(c *weir.Config) { c.Store = nil }, "Config.Store"},
		{"nil pointer to a store", func(c *weir.Config) { c.Store = (*answersLate)(nil) }, "Config.Store"},
		{"no limits", func(c *weir.Config) { c.Limits = nil }, "Config.Limits"},
		{"zero limit", func(c *weir.Config) { c.Limits = make([]weir.Limit, 1) }, "Config.Limits[0].Rate"},
		{"zero rate", func(c *weir.Config) { c.Limits[0].Rate = 0 }, "Config.Limits[0].Rate"},
		{"zero period", func(c *weir.Config) { c.Limits[0].Period = 0 }, "Config.Limits[0].Period"},
		{"negative burst", func(c *weir.Config) { c.Limits[0].Burst = -1 }, "Config.Limits[0].Burst"},
		{"burst of a window", func(c *weir.Config) {
			c.Limits[0] = weir.PerSecond(1).WithBurst(1).By(weir.FixedWindow)
		}, "Config.Limits[0].Burst"},
		{"second limit", func(c *weir.Config) { c.Limits = append(c.Limits, weir.PerSecond(-1)) }, "Config.Limits[1].Rate"},
		{"no name", func(c *weir.Config) { c.Name = "" }, "Config.Name"},
		{"long name", func(c *weir.Config) { c.Name = strings.Repeat("n", 65) }, "Config.Name"},
		{"name that is not printable", func(c *weir.Config) { c.Name = "a\x00" }, "Config.Name"},
		{"negative max wait", func(c *weir.Config) { c.MaxWait = -1 }, "Config.MaxWait"},
		{"negative max waiters", func(c *weir.Config) { c.MaxWaiters = -1 }, "Config.MaxWaiters"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cfg := weir.Config{Name: "api", Store: freeStore{}, Limits: []weir.Limit{weir.PerSecond(1)}}
			tt.change(&cfg)
			l, err := weir.New(cfg)
			var ce *weir.ConfigError
			if l != nil || !errors.As(err, &ce) || ce.Field != tt.field {
				t.Fatalf("got %v and %v, want a ConfigError of %s", l, err, tt.field)
			}
			wantKind(t, err, "config")
		})
	}
}

func TestLimiterCopiesLimits(t *testing.T) {
	t.Parallel()
	limits := []weir.Limit{weir.PerSecond(1), weir.PerDay(9)}
	l, err := weir.New(weir.Config{Store: freeStore{}, Limits: limits, Name: "n"})
	if err != nil {
		t.Fatal(err)
	}
	limits[0].Rate = 0
	l.Config().Limits[1].Rate = 0
	if got := l.Config().Limits; len(got) != 2 || got[0] != weir.PerSecond(1) || got[1] != weir.PerDay(9) {
		t.Errorf("got %v, want the limits it was made with", got)
	}
	if got := l.Config(); got.Name != "n" || l.Name() != "n" || got.MaxPause != 15*time.Minute || got.Store != (freeStore{}) {
		t.Errorf("got %+v, want the configuration it was made with, and defaults", got)
	}
	if got := new(weir.Limiter).Config(); got.Store != nil || got.Limits != nil {
		t.Errorf("a zero limiter has %+v", got)
	}
}

// methods are all methods that decide, with a cost if they take one.
var methods = map[string]func(l *weir.Limiter, ctx context.Context, key string, cost int64) error{
	"AllowN": func(l *weir.Limiter, ctx context.Context, key string, cost int64) error {
		_, err := l.AllowN(ctx, key, cost)
		return err
	},
	"AllowLimits": func(l *weir.Limiter, ctx context.Context, key string, cost int64) error {
		_, err := l.AllowLimits(ctx, key, cost, []weir.Limit{weir.PerSecond(1)})
		return err
	},
	"WaitN": func(l *weir.Limiter, ctx context.Context, key string, cost int64) error {
		return l.WaitN(ctx, key, cost)
	},
	"ReserveN": func(l *weir.Limiter, ctx context.Context, key string, cost int64) error {
		_, err := l.ReserveN(ctx, key, cost)
		return err
	},
}

// storeFunc is a Store without further abilities.
type storeFunc func(ctx context.Context, req store.Request) (store.Decision, error)

func (f storeFunc) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	return f(ctx, req)
}

func TestMethodsTellErrorsApart(t *testing.T) {
	t.Parallel()
	failing := func(err error) weir.Store {
		return storeFunc(func(context.Context, store.Request) (store.Decision, error) { return store.Decision{}, err })
	}
	unasked := storeFunc(func(context.Context, store.Request) (store.Decision, error) {
		panic("the store was asked")
	})
	over := func(t *testing.T) context.Context {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return ctx
	}
	expired := func(t *testing.T) context.Context {
		ctx, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
		t.Cleanup(cancel)
		return ctx
	}
	alive := func(t *testing.T) context.Context { return t.Context() }
	tests := []struct {
		name  string
		store weir.Store
		ctx   func(t *testing.T) context.Context
		key   string
		cost  int64
		want  string
	}{
		{"empty key", unasked, alive, "", 1, "key"},
		{"negative cost", unasked, alive, "k", -1, "config"},
		{"lowest cost", unasked, alive, "k", math.MinInt64, "config"},
		{"canceled before", unasked, over, "k", 1, "canceled"},
		{"past its deadline before", unasked, expired, "k", 1, "deadline"},
		{"store fails", failing(errors.New("broken")), alive, "k", 1, "store"},
		{"store times out by itself", failing(context.DeadlineExceeded), alive, "k", 1, "store"},
		{"store wraps its timeout", failing(fmt.Errorf("x: %w", context.DeadlineExceeded)), alive, "k", 1, "store"},
		{"store cancels itself", failing(context.Canceled), alive, "k", 1, "store"},
		{"store is limited itself", failing(&weir.LimitedError{}), alive, "k", 1, "store"},
		{"store refuses the request", failing(&weir.ConfigError{Field: "Request"}), alive, "k", 1, "config"},
	}
	for _, tt := range tests {
		for name, method := range methods {
			t.Run(tt.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				l := newLimiter(t, tt.store)
				wantKind(t, method(l, tt.ctx(t), tt.key, tt.cost), tt.want)
				nothingLeft(t, l)
			})
		}
	}
}

// TestContextEndsInStore: the context ends while the store decides. The caller gets
// the context's error, whatever error the store returns.
func TestContextEndsInStore(t *testing.T) {
	t.Parallel()
	for name, method := range methods {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := storeFunc(func(ctx context.Context, _ store.Request) (store.Decision, error) {
					<-ctx.Done()
					return store.Decision{}, fmt.Errorf("dial: %w", errors.New("i/o timeout"))
				})
				l := newLimiter(t, s)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := method(l, ctx, "k", 1); err != context.DeadlineExceeded {
					t.Errorf("got %v, want context.DeadlineExceeded itself", err)
				}
			})
		})
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := new(gcraStore)
		l := newLimiter(t, s, func(c *weir.Config) {
			c.Name = "n"
			c.MaxWait = ms
		})
		if _, err := l.Allow(t.Context(), "k"); err != nil {
			t.Fatal(err)
		}
		d, err := l.Allow(t.Context(), "k")
		if err != nil || d.Allowed || d.Reason != weir.ReasonLimited || d.RetryAfter != 10*ms {
			t.Errorf("got %+v, %v, want a refusal that is no error, retry after 10ms", d, err)
		}
		for _, tt := range []struct {
			name string
			cost int64
			want weir.LimitedError
		}{
			{name: "WaitN", cost: 1, want: weir.LimitedError{Reason: weir.ReasonLimited, RetryAfter: 10 * ms, MaxWait: ms}},
			{name: "ReserveN", cost: 1, want: weir.LimitedError{Reason: weir.ReasonLimited, RetryAfter: 10 * ms, MaxWait: ms}},
			{name: "WaitN", cost: 2, want: weir.LimitedError{Reason: weir.ReasonNeverFits, RetryAfter: store.Never}},
			{name: "ReserveN", cost: math.MaxInt64, want: weir.LimitedError{Reason: weir.ReasonNeverFits, RetryAfter: store.Never}},
		} {
			err := methods[tt.name](l, t.Context(), "k", tt.cost)
			wantKind(t, err, "limited")
			tt.want.Scope, tt.want.Key, tt.want.Cost, tt.want.Limit = "n", "k", tt.cost, l.Config().Limits[0]
			var got *weir.LimitedError
			if !errors.As(err, &got) || *got != tt.want {
				t.Errorf("%s of %d: got %+v, want %+v", tt.name, tt.cost, got, tt.want)
			}
		}
		s.check(t, l, 5, 1) // WaitN asks nothing for a cost that never fits
	})
}

func TestRequestThatTheStoreSees(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got store.Request
		limits := []weir.Limit{weir.PerSecond(7), weir.PerDay(100)}
		l, err := weir.New(weir.Config{
			Store: storeFunc(func(_ context.Context, req store.Request) (store.Decision, error) {
				got = req
				got.Charges = append([]store.Charge(nil), req.Charges...)
				return store.Decision{Allowed: true}, req.Validate()
			}),
			Limits: limits, Name: "n", MaxWait: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		plan := []weir.Limit{weir.PerHour(5)}
		for _, tt := range []struct {
			name       string
			call       func() error
			limits     []weir.Limit
			key        string
			cost       int64
			maxWait    time.Duration
			cancelable bool
		}{
			{"Allow", func() error { _, err := l.Allow(t.Context(), "k"); return err }, limits, "k", 1, 0, false},
			{"AllowN", func() error { _, err := l.AllowN(t.Context(), "k", 7); return err }, limits, "k", 7, 0, false},
			{"AllowLimits", func() error { _, err := l.AllowLimits(t.Context(), "k", 2, plan); return err }, plan, "k", 2, 0, false},
			{"Peek", func() error { _, err := l.Peek(t.Context(), "k"); return err }, limits, "k", 0, 0, false},
			{"Wait", func() error { return l.Wait(t.Context(), "k") }, limits, "k", 1, time.Minute, true},
			{"Wait with a deadline", func() error { return l.Wait(soon, "k") }, limits, "k", 1, time.Second, true},
			{"WaitN", func() error { return l.WaitN(t.Context(), "k", 3) }, limits, "k", 3, time.Minute, true},
			{"Reserve", func() error { _, err := l.Reserve(t.Context(), "k"); return err }, limits, "k", 1, time.Minute, true},
			{"Reserve with a deadline", func() error { _, err := l.Reserve(soon, "k"); return err }, limits, "k", 1, time.Second, true},
		} {
			if err := tt.call(); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			if got.MaxWait != tt.maxWait || got.Cancelable != tt.cancelable || len(got.Charges) != len(tt.limits) {
				t.Errorf("%s: got %+v", tt.name, got)
				continue
			}
			for i, c := range got.Charges {
				if want := (store.Charge{Scope: "n", Key: tt.key, Limit: store.Limit(tt.limits[i]), Cost: tt.cost}); c != want {
					t.Errorf("%s: charge %d is %+v, want %+v", tt.name, i, c, want)
				}
			}
		}
	})
}

func TestAllowLimitsRefuses(t *testing.T) {
	t.Parallel()
	l := newLimiter(t, freeStore{})
	for field, limits := range map[string][]weir.Limit{
		"limits":         nil,
		"limits[1].Rate": {weir.PerSecond(1), weir.PerSecond(0)},
		"limits[2].Name": {weir.PerSecond(1), weir.PerDay(9), weir.PerSecond(1).By(weir.FixedWindow)},
	} {
		_, err := l.AllowLimits(t.Context(), "k", 1, limits)
		var ce *weir.ConfigError
		if !errors.As(err, &ce) || ce.Field != field {
			t.Errorf("got %v, want a ConfigError of %s", err, field)
		}
	}
}

// TestLimitsOfOneName: no two limits of a call have one policy name, given or derived,
// from the Config or with the call.
func TestLimitsOfOneName(t *testing.T) {
	t.Parallel()
	second := weir.PerSecond(1)
	for name, tt := range map[string]struct {
		limits []weir.Limit
		same   bool
	}{
		"both derived":              {[]weir.Limit{second, second.By(weir.FixedWindow)}, true},
		"both derived, of a minute": {[]weir.Limit{weir.PerMinute(1), weir.Per(1, 60*time.Second)}, true},
		"both given":                {[]weir.Limit{second.WithName("a"), weir.PerDay(2).WithName("a")}, true},
		"one given":                 {[]weir.Limit{second, weir.PerDay(2).WithName("1-in-1s")}, true},
		"the first given":           {[]weir.Limit{weir.PerDay(2).WithName("3-in-7us"), weir.Per(3, 7*time.Microsecond)}, true},
		"another rate":              {[]weir.Limit{second, weir.PerSecond(2)}, false},
		"another period":            {[]weir.Limit{second, weir.PerMinute(1)}, false},
		"other names":               {[]weir.Limit{second.WithName("a"), second.WithName("b")}, false},
		"one given, another":        {[]weir.Limit{second, second.WithName("a")}, false},
		"a stretched one":           {[]weir.Limit{second, weir.Per(1, 900*ms).Stretch(100 * ms)}, false},
	} {
		l := newLimiter(t, freeStore{})
		if got := tt.limits[0].Policy() == tt.limits[1].Policy(); got != tt.same {
			t.Fatalf("%s: %v have one name: %t", name, tt.limits, got)
		}
		_, made := weir.New(weir.Config{Name: "api", Store: freeStore{}, Limits: tt.limits})
		_, allowed := l.AllowLimits(t.Context(), "k", 1, tt.limits)
		_, level := weir.AllowLevels(t.Context(), weir.Level{Limiter: l, Key: "k", Limits: tt.limits})
		for _, got := range []struct {
			err   error
			field string
		}{{made, "Config.Limits"}, {allowed, "limits"}, {level, "levels[0].Limits"}} {
			var ce *weir.ConfigError
			if tt.same && (!errors.As(got.err, &ce) || ce.Field != got.field+"[1].Name") || !tt.same && got.err != nil {
				t.Errorf("%s: got %v, want an error of %s: %t", name, got.err, got.field, tt.same)
			}
		}
	}
}

// TestLimitsOfACallAreCheckedWithoutAllocating, because each call checks them.
func TestLimitsOfACallAreCheckedWithoutAllocating(t *testing.T) {
	if long.Race {
		t.Skip("the race detector has pools forget")
	}
	l := newLimiter(t, freeStore{})
	plan := []weir.Limit{weir.PerSecond(5), weir.PerDay(1000), weir.PerMinute(30).WithName("minute")}
	check := testing.AllocsPerRun(100, func() { _, _ = l.AllowLimits(context.Background(), "k", 1, plan) })
	alone := testing.AllocsPerRun(100, func() { _, _ = l.AllowLimits(context.Background(), "k", 1, plan[:1]) })
	levels := []weir.Level{{Limiter: l, Key: "k"}, {Limiter: newLimiter(t, freeStore{}, func(c *weir.Config) { c.Name = "wide" }), Key: "all", Limits: plan}}
	several := testing.AllocsPerRun(100, func() { _, _ = weir.AllowLevels(context.Background(), levels...) })
	if check > alone || several > alone {
		t.Errorf("%v allocations with three limits, %v with levels, %v with one limit", check, several, alone)
	}
}

func TestReset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(t, new(gcraStore))
		for range 3 {
			if d, err := l.Allow(t.Context(), "k"); err != nil || !d.Allowed {
				t.Fatalf("got %+v, %v, want it allowed", d, err)
			}
			if err := l.Reset(t.Context(), "k"); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Reset(t.Context(), ""); !errors.Is(err, weir.ErrEmptyKey) {
			t.Errorf("got %v, want ErrEmptyKey", err)
		}
	})
	l := newLimiter(t, freeStore{})
	err := l.Reset(t.Context(), "k")
	if want := "weir: reset: weir_test.freeStore does not implement store.Resetter: unsupported operation"; !errors.Is(err, weir.ErrUnsupported) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestStoreErrorEvent(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var events []weir.Event
	l := newLimiter(t, storeFunc(func(context.Context, store.Request) (store.Decision, error) {
		return store.Decision{}, broken
	}), func(c *weir.Config) {
		c.Name = "n"
		c.Hook = func(_ context.Context, e weir.Event) { events = append(events, e) }
	})
	for _, method := range methods {
		events = nil
		err := method(l, t.Context(), "k", 1)
		if len(events) != 1 {
			t.Fatalf("%d events, want 1", len(events))
		}
		if e := events[0]; e.Kind != weir.EventStoreCall || e.Err != err || e.Op != "take" || e.Scope != "n" || e.Key != "k" || e.Cost != 1 {
			t.Errorf("got %+v, want the failed call", e)
		}
	}
}

func TestLimitPolicy(t *testing.T) {
	t.Parallel()
	tests := []struct {
		limit weir.Limit
		want  string
	}{
		{weir.PerSecond(25), "25-in-1s"},
		{weir.Per(25, 5*time.Second), "25-in-5s"},
		{weir.PerMinute(300), "300-in-1m"},
		{weir.Per(300, 90*time.Second), "300-in-90s"},
		{weir.Per(300, 90*time.Minute), "300-in-90m"},
		{weir.PerHour(1), "1-in-1h"},
		{weir.PerDay(1_000_000), "1000000-in-1d"},
		{weir.Per(1, 365*24*time.Hour), "1-in-365d"},
		{weir.Per(7, 1500*time.Millisecond), "7-in-1.5s"},
		{weir.Per(7, 250*time.Millisecond), "7-in-250ms"},
		{weir.Per(7, 3*time.Microsecond), "7-in-3us"},
		{weir.PerSecond(25).WithBurst(3), "25-in-1s"},
		{weir.PerSecond(25).By(weir.FixedWindow), "25-in-1s"},
		{weir.PerSecond(25).WithName("burst"), "burst"},
		{weir.Limit{}, "0-in-0s"},
	}
	for _, tt := range tests {
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			if got := tt.limit.Policy(); got != tt.want {
				t.Errorf("Policy() = %q, want %q", got, tt.want)
			}
			if got := tt.limit.String(); got != tt.want {
				t.Errorf("String() = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestLimitStretch(t *testing.T) {
	t.Parallel()
	l := weir.Per(25, 5*time.Second)
	got := l.Stretch(200 * time.Millisecond)
	want := weir.Limit{Name: "25-in-5s", Rate: 25, Period: 5200 * time.Millisecond}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if l != weir.Per(25, 5*time.Second) {
		t.Error("the limit itself was changed")
	}
	if got := l.WithName("n").Stretch(time.Second).Policy(); got != "n" {
		t.Errorf("Policy() = %q, want the name it had", got)
	}
	if err := l.Stretch(math.MaxInt64).Validate(); !errors.Is(err, weir.ErrConfig) {
		t.Errorf("a margin that overflows: got %v, want a ConfigError", err)
	}
}

func TestLimitMax(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		limit weir.Limit
		want  int64
	}{
		{"rate", weir.PerSecond(10), 10},
		{"smaller burst", weir.PerSecond(10).WithBurst(1), 1},
		{"larger burst", weir.PerSecond(10).WithBurst(20), 20},
		{"window", weir.PerSecond(10).By(weir.SlidingWindow), 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.limit.Max(); got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

// TestNear checks the share of units left at which a decision is near its limit.
func TestNear(t *testing.T) {
	t.Parallel()
	hundred, burst := weir.PerMinute(100), weir.PerMinute(100).WithBurst(10)
	for name, c := range map[string]struct {
		d    weir.Decision
		near bool
	}{
		"zero":                       {weir.Decision{}, false},
		"allowed by no limit":        {weir.Decision{Allowed: true}, false},
		"a fifth left":               {weir.Decision{Allowed: true, Limit: hundred, Remaining: 20}, true},
		"more than a fifth left":     {weir.Decision{Allowed: true, Limit: hundred, Remaining: 21}, false},
		"a fifth of the burst":       {weir.Decision{Allowed: true, Limit: burst, Remaining: 2}, true},
		"more than that":             {weir.Decision{Allowed: true, Limit: burst, Remaining: 3}, false},
		"none of four left":          {weir.Decision{Allowed: true, Limit: weir.PerMinute(4)}, false},
		"one of five left":           {weir.Decision{Allowed: true, Limit: weir.PerMinute(5), Remaining: 1}, true},
		"a fifth left, of a share":   {weir.Decision{Allowed: true, Degraded: true, Limit: hundred, Remaining: 20}, false},
		"refused":                    {weir.Decision{Limit: hundred}, false},
		"the largest limit, a fifth": {weir.Decision{Allowed: true, Limit: weir.PerMinute(1<<62 - 1), Remaining: 1 << 59}, true},
	} {
		if got := c.d.Near(); got != c.near {
			t.Errorf("%s: near %v, want %v", name, got, c.near)
		}
	}
}
