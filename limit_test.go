package weir_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/goweir/weir"
)

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
