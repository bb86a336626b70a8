package store_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/store"
)

func TestLimitValidate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		limit store.Limit
		field string // "": valid
	}{
		{"per second", store.Per(1, time.Second), ""},
		{"most per second", store.Per(store.MaxUnits, time.Second), ""},
		{"1 per 365 days", store.Per(1, 365*24*time.Hour), ""},
		{"longest period", store.Per(1, store.MaxPeriod), ""},
		{"shortest period", store.Per(1, time.Microsecond), ""},
		{"longest period, highest rate", store.Per(store.MaxUnits, store.MaxPeriod), ""},
		{"largest burst", store.Per(store.MaxUnits, time.Second).WithBurst(store.MaxUnits), ""},
		{"burst that takes the longest to fill", store.Per(1, time.Hour).WithBurst(int64(store.MaxPeriod / time.Hour)), ""},
		{"sliding window", store.Per(1_000_000, 24*time.Hour).By(store.SlidingWindow), ""},
		{"sliding counter", store.Per(1, 24*time.Hour).By(store.SlidingCounter), ""},
		{"fixed window", store.Per(1, 24*time.Hour).By(store.FixedWindow), ""},
		{"aligned window", store.Per(1, 24*time.Hour).By(store.AlignedWindow), ""},
		{"longest name", store.Per(1, time.Second).WithName(strings.Repeat("n", 64)), ""},

		{"zero value", store.Limit{}, "Limit.Rate"},
		{"zero rate", store.Per(0, time.Second), "Limit.Rate"},
		{"negative rate", store.Per(-1, time.Second), "Limit.Rate"},
		{"lowest rate", store.Per(math.MinInt64, time.Second), "Limit.Rate"},
		{"rate over the bound", store.Per(store.MaxUnits+1, time.Second), "Limit.Rate"},
		{"highest rate", store.Per(math.MaxInt64, time.Second), "Limit.Rate"},
		{"zero period", store.Per(1, 0), "Limit.Period"},
		{"negative period", store.Per(1, -time.Second), "Limit.Period"},
		{"period under a microsecond", store.Per(1, 999), "Limit.Period"},
		{"period of half microseconds", store.Per(1, 1500), "Limit.Period"},
		{"period over the bound", store.Per(1, store.MaxPeriod+time.Microsecond), "Limit.Period"},
		{"longest duration", store.Per(1, math.MaxInt64), "Limit.Period"},
		{"negative burst", store.Per(1, time.Second).WithBurst(-1), "Limit.Burst"},
		{"burst over the bound", store.Per(1, time.Second).WithBurst(store.MaxUnits + 1), "Limit.Burst"},
		{"highest burst", store.Per(1, time.Second).WithBurst(math.MaxInt64), "Limit.Burst"},
		{"burst that takes too long to fill", store.Per(1, time.Hour).WithBurst(int64(store.MaxPeriod/time.Hour) + 1), "Limit.Burst"},
		{"burst whose time to fill overflows", store.Per(1, store.MaxPeriod).WithBurst(store.MaxUnits), "Limit.Burst"},
		{"burst of a sliding window", store.Per(1, time.Second).WithBurst(1).By(store.SlidingWindow), "Limit.Burst"},
		{"burst of a sliding counter", store.Per(1, time.Second).WithBurst(1).By(store.SlidingCounter), "Limit.Burst"},
		{"burst of a fixed window", store.Per(1, time.Second).WithBurst(1).By(store.FixedWindow), "Limit.Burst"},
		{"burst of an aligned window", store.Per(1, time.Second).WithBurst(1).By(store.AlignedWindow), "Limit.Burst"},
		{"unknown algorithm", store.Per(1, time.Second).By(5), "Limit.Algorithm"},
		{"long name", store.Per(1, time.Second).WithName(strings.Repeat("n", 65)), "Limit.Name"},
		{"name that is not ASCII", store.Per(1, time.Second).WithName("größe"), "Limit.Name"},
		{"name of two lines", store.Per(1, time.Second).WithName("a\r\nb"), "Limit.Name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tt.limit.Validate()
			if tt.field == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			var ce *store.ConfigError
			if !errors.As(err, &ce) || !errors.Is(err, store.ErrConfig) || ce.Field != tt.field {
				t.Fatalf("got %v, want a ConfigError of %s", err, tt.field)
			}
			if want := "weir: " + tt.field + ": want "; !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %q, want it to start with %q", err, want)
			}
		})
	}
}

func TestAlgorithmText(t *testing.T) {
	t.Parallel()
	names := map[store.Algorithm]string{
		store.GCRA: "gcra", store.SlidingWindow: "sliding_window", store.SlidingCounter: "sliding_counter",
		store.FixedWindow: "fixed_window", store.AlignedWindow: "aligned_window",
	}
	for a, name := range names {
		text, err := a.MarshalText()
		if string(text) != name || err != nil || a.String() != name {
			t.Errorf("got %q, %v and %q, want %q", text, err, a, name)
		}
		got := store.Algorithm(99)
		if err := got.UnmarshalText([]byte(name)); err != nil || got != a {
			t.Errorf("%q: got %v, %v", name, got, err)
		}
	}
	unknown := store.Algorithm(5)
	if _, err := unknown.MarshalText(); err == nil {
		t.Error("an unknown algorithm has a text")
	}
	if got := unknown.String(); got != "algorithm(5)" {
		t.Errorf("got %q", got)
	}
	got := store.FixedWindow
	if err := got.UnmarshalText(nil); err != nil || got != store.GCRA {
		t.Errorf("empty text: got %v, %v, want GCRA", got, err)
	}
	got = store.FixedWindow
	if err := got.UnmarshalText([]byte("GCRA")); err == nil || got != store.FixedWindow {
		t.Errorf("wrong text: got %v, %v, want an error and no change", got, err)
	}
	var l store.Limit
	if err := json.Unmarshal([]byte(`{"Rate":5,"Period":1000000000,"Algorithm":"fixed_window"}`), &l); err != nil || l != store.Per(5, time.Second).By(store.FixedWindow) {
		t.Errorf("JSON: got %+v, %v", l, err)
	}
}

func FuzzLimitValidate(f *testing.F) {
	f.Add("", int64(1), int64(time.Second), int64(0), uint8(0))
	f.Add("n", int64(store.MaxUnits), int64(store.MaxPeriod), int64(store.MaxUnits), uint8(1))
	f.Add("", int64(1), int64(math.MaxInt64), int64(math.MaxInt64), uint8(9))
	f.Fuzz(func(t *testing.T, name string, rate, period, burst int64, algorithm uint8) {
		l := store.Limit{Name: name, Rate: rate, Period: time.Duration(period), Burst: burst, Algorithm: store.Algorithm(algorithm)}
		if err := l.Validate(); err != nil {
			if !errors.Is(err, store.ErrConfig) {
				t.Errorf("got %v, want a ConfigError", err)
			}
			return
		}
		if l.Max() < 1 || l.Max() > store.MaxUnits {
			t.Errorf("%+v: Max() = %d", l, l.Max())
		}
		for _, c := range l.Policy() {
			if c < ' ' || c > '~' {
				t.Errorf("%+v: Policy() = %q is not printable ASCII", l, l.Policy())
			}
		}
	})
}
