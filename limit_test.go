package weir_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
)

func TestLimitValidate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		limit weir.Limit
		field string // "": valid
	}{
		{"per second", weir.PerSecond(1), ""},
		{"most per second", weir.PerSecond(weir.MaxUnits), ""},
		{"1 per 365 days", weir.Per(1, 365*24*time.Hour), ""},
		{"longest period", weir.Per(1, weir.MaxPeriod), ""},
		{"shortest period", weir.Per(1, time.Microsecond), ""},
		{"longest period, highest rate", weir.Per(weir.MaxUnits, weir.MaxPeriod), ""},
		{"largest burst", weir.PerSecond(weir.MaxUnits).WithBurst(weir.MaxUnits), ""},
		{"burst that takes the longest to fill", weir.Per(1, time.Hour).WithBurst(int64(weir.MaxPeriod / time.Hour)), ""},
		{"sliding window", weir.PerDay(1_000_000).By(weir.SlidingWindow), ""},
		{"sliding counter", weir.PerDay(1).By(weir.SlidingCounter), ""},
		{"fixed window", weir.PerDay(1).By(weir.FixedWindow), ""},
		{"aligned window", weir.PerDay(1).By(weir.AlignedWindow), ""},
		{"longest name", weir.PerSecond(1).WithName(strings.Repeat("n", 64)), ""},

		{"zero value", weir.Limit{}, "Limit.Rate"},
		{"zero rate", weir.PerSecond(0), "Limit.Rate"},
		{"negative rate", weir.PerSecond(-1), "Limit.Rate"},
		{"lowest rate", weir.PerSecond(math.MinInt64), "Limit.Rate"},
		{"rate over the bound", weir.PerSecond(weir.MaxUnits + 1), "Limit.Rate"},
		{"highest rate", weir.PerSecond(math.MaxInt64), "Limit.Rate"},
		{"zero period", weir.Per(1, 0), "Limit.Period"},
		{"negative period", weir.Per(1, -time.Second), "Limit.Period"},
		{"period under a microsecond", weir.Per(1, 999), "Limit.Period"},
		{"period of half microseconds", weir.Per(1, 1500), "Limit.Period"},
		{"period over the bound", weir.Per(1, weir.MaxPeriod+time.Microsecond), "Limit.Period"},
		{"longest duration", weir.Per(1, math.MaxInt64), "Limit.Period"},
		{"negative burst", weir.PerSecond(1).WithBurst(-1), "Limit.Burst"},
		{"burst over the bound", weir.PerSecond(1).WithBurst(weir.MaxUnits + 1), "Limit.Burst"},
		{"highest burst", weir.PerSecond(1).WithBurst(math.MaxInt64), "Limit.Burst"},
		{"burst that takes too long to fill", weir.Per(1, time.Hour).WithBurst(int64(weir.MaxPeriod/time.Hour) + 1), "Limit.Burst"},
		{"burst whose time to fill overflows", weir.Per(1, weir.MaxPeriod).WithBurst(weir.MaxUnits), "Limit.Burst"},
		{"burst of a sliding window", weir.PerSecond(1).WithBurst(1).By(weir.SlidingWindow), "Limit.Burst"},
		{"burst of a sliding counter", weir.PerSecond(1).WithBurst(1).By(weir.SlidingCounter), "Limit.Burst"},
		{"burst of a fixed window", weir.PerSecond(1).WithBurst(1).By(weir.FixedWindow), "Limit.Burst"},
		{"burst of an aligned window", weir.PerSecond(1).WithBurst(1).By(weir.AlignedWindow), "Limit.Burst"},
		{"unknown algorithm", weir.PerSecond(1).By(5), "Limit.Algorithm"},
		{"long name", weir.PerSecond(1).WithName(strings.Repeat("n", 65)), "Limit.Name"},
		{"name that is not ASCII", weir.PerSecond(1).WithName("größe"), "Limit.Name"},
		{"name of two lines", weir.PerSecond(1).WithName("a\r\nb"), "Limit.Name"},
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
			var ce *weir.ConfigError
			if !errors.As(err, &ce) || !errors.Is(err, weir.ErrConfig) || ce.Field != tt.field {
				t.Fatalf("got %v, want a ConfigError of %s", err, tt.field)
			}
			if want := "weir: " + tt.field + ": want "; !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %q, want it to start with %q", err, want)
			}
		})
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

func TestAlgorithmText(t *testing.T) {
	t.Parallel()
	names := map[weir.Algorithm]string{
		weir.GCRA: "gcra", weir.SlidingWindow: "sliding_window", weir.SlidingCounter: "sliding_counter",
		weir.FixedWindow: "fixed_window", weir.AlignedWindow: "aligned_window",
	}
	for a, name := range names {
		text, err := a.MarshalText()
		if string(text) != name || err != nil || a.String() != name {
			t.Errorf("got %q, %v and %q, want %q", text, err, a, name)
		}
		got := weir.Algorithm(99)
		if err := got.UnmarshalText([]byte(name)); err != nil || got != a {
			t.Errorf("%q: got %v, %v", name, got, err)
		}
	}
	unknown := weir.Algorithm(5)
	if _, err := unknown.MarshalText(); err == nil {
		t.Error("an unknown algorithm has a text")
	}
	if got := unknown.String(); got != "algorithm(5)" {
		t.Errorf("got %q", got)
	}
	got := weir.FixedWindow
	if err := got.UnmarshalText(nil); err != nil || got != weir.GCRA {
		t.Errorf("empty text: got %v, %v, want GCRA", got, err)
	}
	got = weir.FixedWindow
	if err := got.UnmarshalText([]byte("GCRA")); err == nil || got != weir.FixedWindow {
		t.Errorf("wrong text: got %v, %v, want an error and no change", got, err)
	}
	var l weir.Limit
	if err := json.Unmarshal([]byte(`{"Rate":5,"Period":1000000000,"Algorithm":"fixed_window"}`), &l); err != nil || l != weir.PerSecond(5).By(weir.FixedWindow) {
		t.Errorf("JSON: got %+v, %v", l, err)
	}
}

func FuzzLimitValidate(f *testing.F) {
	f.Add("", int64(1), int64(time.Second), int64(0), uint8(0))
	f.Add("n", int64(weir.MaxUnits), int64(weir.MaxPeriod), int64(weir.MaxUnits), uint8(1))
	f.Add("", int64(1), int64(math.MaxInt64), int64(math.MaxInt64), uint8(9))
	f.Fuzz(func(t *testing.T, name string, rate, period, burst int64, algorithm uint8) {
		l := weir.Limit{Name: name, Rate: rate, Period: time.Duration(period), Burst: burst, Algorithm: weir.Algorithm(algorithm)}
		if err := l.Validate(); err != nil {
			if !errors.Is(err, weir.ErrConfig) {
				t.Errorf("got %v, want a ConfigError", err)
			}
			return
		}
		if l.Max() < 1 || l.Max() > weir.MaxUnits {
			t.Errorf("%+v: Max() = %d", l, l.Max())
		}
		for _, c := range l.Policy() {
			if c < ' ' || c > '~' {
				t.Errorf("%+v: Policy() = %q is not printable ASCII", l, l.Policy())
			}
		}
	})
}
