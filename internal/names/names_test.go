package names_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/names"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

func localStore(t *testing.T) weir.Store {
	s, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// onLocal makes a limiter, on a store of its own unless cfg has one.
func onLocal(t *testing.T, cfg weir.Config) *weir.Limiter {
	if cfg.Store == nil {
		cfg.Store = localStore(t)
	}
	l, err := weir.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// wrapper is a store that is a value: two of one pointer are one store.
type wrapper struct{ weir.Store }

// TestNamesOfUnlikeLimits makes two limiters.
func TestNamesOfUnlikeLimits(t *testing.T) {
	t.Parallel()
	minute := []weir.Limit{weir.PerMinute(10)}
	for name, tt := range map[string]struct {
		first, second []weir.Limit
		other         func(*weir.Config) // of the second
		taken         string             // limits in the error; "": no error
	}{
		"like":                         {minute, minute, nil, ""},
		"equal under another policy":   {minute, []weir.Limit{weir.PerMinute(10).WithName("minute")}, nil, ""},
		"equal with the burst in full": {minute, []weir.Limit{weir.PerMinute(10).WithBurst(10)}, nil, ""},
		"equal in another order":       {[]weir.Limit{weir.PerMinute(10), weir.PerDay(9)}, []weir.Limit{weir.PerDay(9), weir.PerMinute(10)}, nil, ""},
		"another rate":                 {minute, []weir.Limit{weir.PerMinute(11)}, nil, "10-in-1m gcra"},
		"another algorithm":            {[]weir.Limit{weir.PerMinute(10).By(weir.FixedWindow)}, minute, nil, "10-in-1m fixed_window"},
		"another burst":                {[]weir.Limit{weir.PerMinute(10).WithBurst(2)}, minute, nil, "10-in-1m gcra burst 2"},
		"one more":                     {minute, []weir.Limit{weir.PerMinute(10), weir.PerDay(9)}, nil, "10-in-1m gcra"},
		"one less":                     {[]weir.Limit{weir.PerMinute(10), weir.PerDay(9)}, minute, nil, "10-in-1m gcra, 9-in-1d gcra"},
		"another name":                 {minute, []weir.Limit{weir.PerMinute(11)}, func(c *weir.Config) { c.Name = "other" }, ""},
		"another store":                {minute, []weir.Limit{weir.PerMinute(11)}, func(c *weir.Config) { c.Store = localStore(t) }, ""},
		"a store in another":           {minute, []weir.Limit{weir.PerMinute(11)}, func(c *weir.Config) { c.Store = wrapper{c.Store} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for kind, st := range map[string]weir.Store{"pointer": localStore(t), "value": wrapper{localStore(t)}} {
				first := onLocal(t, weir.Config{Name: "name", Store: st, Limits: tt.first})
				cfg := weir.Config{Name: "name", Store: st, Limits: tt.second}
				if tt.other != nil {
					tt.other(&cfg)
				}
				_, err := weir.New(cfg)
				var ce *weir.ConfigError
				switch {
				case tt.taken == "" && err != nil:
					t.Errorf("%s: %v", kind, err)
				case tt.taken != "" && (!errors.As(err, &ce) || ce.Field != "Config.Name" || ce.Got != `"name" of a limiter with `+tt.taken || !strings.Contains(ce.Want, "AllowLimits")):
					t.Errorf("%s: got %v, want an error with %q", kind, err, tt.taken)
				}
				runtime.KeepAlive(first)
			}
		})
	}
}

// TestNamesOfUnlikeInFlight: a limiter with a larger maximum would let more calls be in
// flight than the other's.
func TestNamesOfUnlikeInFlight(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		second int64
		lease  time.Duration
		taken  string
	}{
		"alike":         {2, 0, ""},
		"another Lease": {2, time.Second, ""},
		"more":          {3, 0, "InFlight 2"},
		"none":          {0, 0, "InFlight 2"},
	} {
		cfg := weir.Config{Name: "name", Store: localStore(t), Limits: []weir.Limit{weir.PerMinute(10)}, InFlight: 2}
		first := onLocal(t, cfg)
		cfg.InFlight, cfg.Lease = c.second, c.lease
		_, err := weir.New(cfg)
		var ce *weir.ConfigError
		if errors.As(err, &ce) != (c.taken != "") || c.taken != "" && !strings.HasSuffix(ce.Got, c.taken) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.taken)
		}
		runtime.KeepAlive(first)
	}
}

// TestNamesOnStoresThatAreNotCompared: limiters on stores that are equal or not comparable
// may share a name.
func TestNamesOnStoresThatAreNotCompared(t *testing.T) {
	t.Parallel()
	for name, st := range map[string]weir.Store{"no fields": blankStore{}, "a pointer to no fields": &blankStore{}, "not comparable": unlikeStore{}} {
		first := onLocal(t, weir.Config{Name: name, Store: st, Limits: []weir.Limit{weir.PerMinute(10)}})
		_ = onLocal(t, weir.Config{Name: name, Store: st, Limits: []weir.Limit{weir.PerMinute(11)}})
		if n := names.Users(name); n != 0 {
			t.Errorf("%s: %d in the registry", name, n)
		}
		runtime.KeepAlive(first)
	}
}

// TestNameIsFreeAgain replaces a limiter that was used, as a reload does, without any
// collection of garbage in between.
func TestNameIsFreeAgain(t *testing.T) {
	t.Parallel()
	st := localStore(t)
	for n := range int64(5) {
		l := onLocal(t, weir.Config{Name: "reload", Store: st, Limits: []weir.Limit{weir.PerMinute(10 + n)}})
		if _, err := l.Allow(context.Background(), "key"); err != nil {
			t.Error(err)
		}
		if _, err := l.AllowLimits(context.Background(), "key", 1, []weir.Limit{weir.PerMinute(1), weir.PerDay(2)}); err != nil {
			t.Error(err)
		}
	}
}

// TestNamesDoNotLeak makes many limiters.
func TestNamesDoNotLeak(t *testing.T) {
	t.Parallel()
	st := localStore(t)
	var kept []*weir.Limiter
	for range 100 {
		kept = append(kept, onLocal(t, weir.Config{Name: "leak", Store: st, Limits: []weir.Limit{weir.PerMinute(10)}}))
		_ = onLocal(t, weir.Config{Name: "leak", Limits: []weir.Limit{weir.PerMinute(10)}}) // on another store
	}
	wantUsers := func(want int) {
		t.Helper()
		for end := time.Now().Add(time.Minute); names.Users("leak") != want; time.Sleep(time.Millisecond) {
			if runtime.GC(); time.Now().After(end) {
				t.Fatalf("%d in the registry, want %d", names.Users("leak"), want)
			}
		}
	}
	wantUsers(1)
	runtime.KeepAlive(kept)
	kept = nil
	wantUsers(0)
	runtime.KeepAlive(st)
}

// TestNamesAtOnce: many goroutines claim a name with two limits. One limit gets it.
func TestNamesAtOnce(t *testing.T) {
	t.Parallel()
	st := localStore(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var made []*weir.Limiter
	var refused atomic.Int64
	for n := range int64(8) {
		wg.Go(func() {
			l, err := weir.New(weir.Config{Name: "at once", Store: st, Limits: []weir.Limit{weir.PerMinute(1 + n%2)}})
			if err != nil {
				refused.Add(1)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			made = append(made, l)
		})
	}
	wg.Wait()
	for _, l := range made {
		if len(made) != 4 || refused.Load() != 4 || l.Config().Limits[0] != made[0].Config().Limits[0] {
			t.Errorf("%d made, one with %v, %d refused", len(made), l, refused.Load())
		}
	}
}

// blankStore has no fields.
type blankStore struct{}

func (blankStore) Take(context.Context, store.Request) (store.Decision, error) {
	return store.Decision{}, nil
}

// unlikeStore can't be compared.
type unlikeStore struct {
	blankStore
	_ []int
}
