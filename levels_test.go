package weir_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/weirtest"
)

// nest is three limiters on one store, and the events of the first one's Hook.
type nest struct {
	store          *weirtest.Store
	user, org, all *weir.Limiter
	events         []weir.Event
}

func newNest(t *testing.T) *nest {
	t.Helper()
	local, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	n := &nest{store: weirtest.NewStore(local)}
	hook := func(_ context.Context, e weir.Event) {
		if e.Kind != weir.EventStoreCall || e.Err != nil {
			n.events = append(n.events, e)
		}
	}
	silent := func(_ context.Context, e weir.Event) {
		if len(e.Decision.Charges) > 2 {
			t.Errorf("a wider level's Hook got %+v", e)
		}
	}
	limiter := func(name string, hook weir.Hook, l weir.Limit) *weir.Limiter {
		made, err := weir.New(weir.Config{Store: n.store, Name: name, Limits: []weir.Limit{l}, Hook: hook, Reserve: 50})
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	n.user, n.org, n.all = limiter("user", hook, weir.PerHour(2)), limiter("org", silent, weir.PerHour(4)), limiter("all", silent, weir.PerHour(60).WithBurst(10))
	return n
}

func (n *nest) levels(user string) []weir.Level {
	return []weir.Level{{Limiter: n.user, Key: user}, {Limiter: n.org, Key: "acme"}, {Limiter: n.all, Key: "all"}}
}

// left returns the units left of each level.
func (n *nest) left(t *testing.T, user string) string {
	t.Helper()
	var left []int64
	for _, l := range n.levels(user) {
		d, err := l.Limiter.Peek(t.Context(), l.Key)
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, d.Remaining)
	}
	n.events = nil
	return fmt.Sprint(left)
}

func TestAllowLevels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNest(t)
		costs := n.levels("dan")
		costs[0].Limits, costs[1].Cost, costs[2].Peek = []weir.Limit{weir.PerDay(9), weir.PerHour(9)}, 3, true
		for i, step := range []struct {
			levels  []weir.Level
			allowed bool
			scope   string
			left    string
		}{
			{n.levels("ann"), true, "user", "[1 3 9]"},
			{n.levels("ann"), true, "user", "[0 2 8]"},
			{n.levels("ann"), false, "user", "[0 2 8]"},
			{n.levels("bob"), true, "org", "[1 1 7]"},
			{n.levels("bob"), true, "user", "[0 0 6]"},
			{n.levels("cyd"), false, "org", "[2 0 6]"},
			{n.levels("bob"), false, "user", "[0 0 6]"},
			{n.levels("eve")[2:], true, "all", "[2 0 5]"},
			{costs, false, "org", "[2 0 5]"},
		} {
			n.events = nil
			takes := n.store.Counts().Takes
			d, err := weir.AllowLevels(t.Context(), step.levels...)
			if err != nil || d.Allowed != step.allowed || d.Scope != step.scope || n.store.Counts().Takes != takes+1 {
				t.Errorf("step %d: %+v, %v, want %v by %s", i, d, err, step.allowed, step.scope)
			}
			if len(step.levels) == 3 && (len(n.events) != 1 || n.events[0].Scope != step.scope || n.events[0].Kind != weir.EventDecision) {
				t.Errorf("step %d: the hook got %+v", i, n.events)
			}
			if left := n.left(t, step.levels[0].Key); left != step.left && len(step.levels) == 3 {
				t.Errorf("step %d: %s remain, want %s", i, left, step.left)
			}
		}
		time.Sleep(time.Hour)
		n.events = nil
		if d, err := weir.AllowLevels(t.Context(), costs...); err != nil || !d.Allowed || len(d.Charges) != 4 || d.Charges[2].Remaining != 1 || d.Charges[3].Remaining != 10 {
			t.Errorf("with costs of their own: %+v, %v", d, err)
		}
		if e := n.events[0]; e.Scope != "org" || e.Key != "acme" || e.Cost != 3 {
			t.Errorf("the hook got %+v", e)
		}
		// A background call leaves half of each level's burst.
		bg := weir.InBackground(t.Context())
		levels := n.levels("gus")[1:]
		levels[0].Key, levels[1].Key = "gus", "gus"
		for i := range 3 {
			if d, err := weir.AllowLevels(bg, levels...); err != nil || d.Allowed != (i < 2) {
				t.Errorf("in the background, call %d: %+v, %v", i, d, err)
			}
		}
	})
}

func TestLevelsRefuse(t *testing.T) {
	t.Parallel()
	n, other := newNest(t), newNest(t)
	free := func(name string) *weir.Limiter {
		l, err := weir.New(weir.Config{Store: uncomparableStore{}, Name: name, Limits: []weir.Limit{weir.PerSecond(1)}})
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	flying, err := weir.New(weir.Config{Store: n.store, Name: "flying", Limits: []weir.Limit{weir.PerSecond(1)}, InFlight: 1})
	if err != nil {
		t.Fatal(err)
	}
	second := func(l weir.Level) []weir.Level { return []weir.Level{{Limiter: n.user, Key: "a"}, l} }
	for name, tt := range map[string]struct {
		levels []weir.Level
		field  string
	}{
		"none":                  {nil, "levels"},
		"no limiter":            {second(weir.Level{Key: "b"}), "levels[1].Limiter"},
		"a zero limiter":        {second(weir.Level{Key: "b", Limiter: &weir.Limiter{}}), "levels[1].Limiter"},
		"another store":         {second(weir.Level{Key: "b", Limiter: other.org}), "levels[1].Limiter"},
		"one name":              {second(weir.Level{Key: "b", Limiter: n.user}), "levels[1].Limiter"},
		"in flight":             {second(weir.Level{Key: "b", Limiter: flying}), "levels[1].Limiter"},
		"stores not comparable": {[]weir.Level{{Limiter: free("a"), Key: "a"}, {Limiter: free("b"), Key: "b"}}, "levels[1].Limiter"},
		"a cost below 0":        {second(weir.Level{Key: "b", Limiter: n.org, Cost: -1}), "levels[1].Cost"},
		"a look that costs":     {second(weir.Level{Key: "b", Limiter: n.org, Cost: 1, Peek: true}), "levels[1].Cost"},
		"no limits":             {second(weir.Level{Key: "b", Limiter: n.org, Limits: []weir.Limit{}}), "levels[1].Limits"},
		"a wrong limit":         {second(weir.Level{Key: "b", Limiter: n.org, Limits: []weir.Limit{weir.PerDay(1), {}}}), "levels[1].Limits[1].Rate"},
	} {
		_, err := weir.AllowLevels(t.Context(), tt.levels...)
		_, _, also := weir.WaitLevels(t.Context(), time.Second, tt.levels...)
		_, _, too := weir.WaitLevels(t.Context(), 0, tt.levels...)
		for _, err := range []error{err, also, too} {
			var ce *weir.ConfigError
			if !errors.As(err, &ce) || ce.Field != tt.field {
				t.Errorf("%s: %v, want an error that names %s", name, err, tt.field)
			}
		}
	}
	if _, err := weir.AllowLevels(t.Context(), second(weir.Level{Limiter: n.org})...); !errors.Is(err, weir.ErrEmptyKey) {
		t.Errorf("an empty key: %v", err)
	}
	if _, _, err := weir.WaitLevels(t.Context(), -1, n.levels("a")...); !errors.Is(err, weir.ErrConfig) {
		t.Errorf("a wait below 0: %v", err)
	}
	if d, err := weir.AllowLevels(t.Context(), weir.Level{Limiter: free("a"), Key: "a"}); err != nil || !d.Allowed {
		t.Errorf("one level needs no comparison: %+v, %v", d, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := weir.AllowLevels(ended, n.levels("a")...); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that is over: %v", err)
	}
	n.store.Next(weirtest.Fail(errors.New("down")))
	if _, err := weir.AllowLevels(t.Context(), n.levels("a")...); !errors.Is(err, weir.ErrStore) || n.events[0].Kind != weir.EventStoreCall {
		t.Errorf("a store that fails: %v, the hook got %+v", err, n.events)
	}
}

// uncomparableStore panics when it is compared.
type uncomparableStore struct {
	freeStore
	_ []int
}

func TestWaitLevelsNow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNest(t)
		ctx := t.Context()
		reserve := func(levels []weir.Level) *weir.Reservation {
			r, d, err := weir.WaitLevels(ctx, 0, levels...)
			if err != nil || r == nil || !d.Allowed || r.Delay() != 0 {
				t.Fatalf("%+v, %+v, %v", r, d, err)
			}
			return r
		}
		r := reserve(n.levels("ann"))
		if err := errors.Join(r.Cancel(ctx), r.Cancel(ctx)); err != nil || n.left(t, "ann") != "[2 4 10]" {
			t.Errorf("cancelled: %s remain, %v", n.left(t, "ann"), err)
		}
		if err := reserve(n.levels("ann")).Settle(ctx, 2); err != nil || n.left(t, "ann") != "[0 2 8]" {
			t.Errorf("settled at 2: %s remain, %v", n.left(t, "ann"), err)
		}
		levels := n.levels("bob")
		levels[1].Peek, levels[2].Cost = true, 3
		r = reserve(levels)
		if err := r.Settle(ctx, 1, 2); !errors.Is(err, weir.ErrConfig) {
			t.Errorf("two costs of three levels: %v", err)
		}
		if err := r.Settle(ctx, 1, 1, -1); !errors.Is(err, weir.ErrConfig) {
			t.Errorf("a cost below 0: %v", err)
		}
		if err := r.Settle(ctx, 0, 7, 4); err != nil || n.left(t, "bob") != "[2 2 4]" || r.Cost() != 1 {
			t.Errorf("settled at 0, nothing and 4: %s remain, %v", n.left(t, "bob"), err)
		}
		settles := n.store.Counts().Settles
		if err := reserve(n.levels("cyd")).Settle(ctx, 1, 1, 1); err != nil || n.store.Counts().Settles != settles {
			t.Errorf("an estimate that was right: %v", err)
		}
		if r, d, err := weir.WaitLevels(ctx, 0, n.levels("ann")...); r != nil || err != nil || d.Scope != "user" {
			t.Errorf("refused: %+v, %+v, %v", r, d, err)
		}
	})
}

// TestWaitLevels: a call waits for its narrow level without holding up other calls on
// the wide ones. It gives its booked units back if it does not leave.
func TestWaitLevels(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := newNest(t)
		ctx := t.Context()
		wait := func(maxWait time.Duration, levels ...weir.Level) (*weir.Reservation, weir.Decision, time.Duration, error) {
			start := time.Now()
			r, d, err := weir.WaitLevels(ctx, maxWait, levels...)
			return r, d, time.Since(start), err
		}
		for range 2 {
			if _, d, took, err := wait(time.Hour, n.levels("ann")...); !d.Allowed || took != 0 || err != nil {
				t.Fatalf("%+v after %v, %v", d, took, err)
			}
		}
		if _, d, took, err := wait(time.Minute, n.levels("ann")...); d.Allowed || took != 0 || err != nil || d.RetryAfter != 30*time.Minute {
			t.Errorf("a slot too far away: %+v after %v, %v", d, took, err)
		}
		n.events = nil
		done := make(chan struct{})
		go func() {
			defer close(done)
			r, d, took, err := wait(time.Hour, n.levels("ann")...)
			if r == nil || !d.Allowed || took != 30*time.Minute || err != nil || d.Delay != 0 || len(d.Charges) != 3 || d.Charge(1).Remaining != 2 {
				t.Errorf("%+v, %+v after %v, %v", r, d, took, err)
				return
			}
			if kinds := len(n.events); kinds != 3 || n.events[0].Kind != weir.EventWaitBegin || n.events[1].Kind != weir.EventDecision || n.events[2].Kind != weir.EventWait || n.events[2].Took != took {
				t.Errorf("the hook got %+v", n.events)
			}
			if err := r.Settle(ctx, 0, 0, 2); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		if d, err := n.org.Allow(ctx, "acme"); !d.Allowed || err != nil {
			t.Errorf("while a user waits the organisation is held up: %+v, %v", d, err)
		}
		<-done
		if left := n.left(t, "ann"); left != "[1 3 8]" {
			t.Errorf("settled at 0, 0 and 2: %s remain", left)
		}
	})
}

func TestWaitLevelsGivesBack(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		wide  func(n *nest) // meanwhile, to the wide level
		leave time.Duration
		want  error
	}{
		"a wide level refuses": {wide: func(n *nest) { _, _ = n.org.AllowN(context.Background(), "acme", 4) }, leave: time.Hour},
		"the store fails": {wide: func(n *nest) {
			// The first asks whether the slot is still the call's.
			n.store.Next(weirtest.Pass(), weirtest.Fail(nil))
		}, leave: time.Hour, want: weir.ErrStore},
		"the context ends": {wide: func(*nest) {}, leave: time.Minute, want: context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := newNest(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				levels := n.levels("ann")
				levels[0].Limits = []weir.Limit{weir.PerHour(2).By(weir.FixedWindow)}
				if _, err := weir.AllowLevels(ctx, weir.Level{Limiter: n.user, Key: "ann", Limits: levels[0].Limits, Cost: 2}); err != nil {
					t.Fatal(err)
				}
				time.AfterFunc(time.Minute*59, func() { tt.wide(n) })
				time.AfterFunc(tt.leave, func() {
					if tt.leave < time.Hour {
						cancel()
					}
				})
				r, d, err := weir.WaitLevels(ctx, time.Hour, levels...)
				if r != nil || !errors.Is(err, tt.want) || err == nil && (d.Allowed || d.Scope != "org") {
					t.Fatalf("%+v, %+v, %v", r, d, err)
				}
				if n.store.Counts().Cancels != 1 {
					t.Errorf("given back %d times", n.store.Counts().Cancels)
				}
				time.Sleep(2 * time.Hour)
				if d, err := n.all.Peek(t.Context(), "all"); d.Remaining != 10 || err != nil {
					t.Errorf("%d remain of the widest level, %v", d.Remaining, err)
				}
			})
		})
	}
}
