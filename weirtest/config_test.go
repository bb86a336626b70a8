package weirtest_test

import (
	"math"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/weirtest"
)

func TestConfigMistakes(t *testing.T) {
	t.Parallel()
	limit := weir.PerSecond(1)
	cases := []struct {
		name  string
		cfg   weirtest.ProviderConfig
		field string
	}{
		{"a rate of 0", weirtest.ProviderConfig{Limits: []weir.Limit{limit, weir.PerSecond(0)}}, "ProviderConfig.Limits[1].Rate"},
		{"a zero limit", weirtest.ProviderConfig{Limits: []weir.Limit{{}}}, "ProviderConfig.Limits[0].Rate"},
		{"a burst of a window", weirtest.ProviderConfig{Limits: []weir.Limit{limit.By(store.FixedWindow).WithBurst(2)}}, "ProviderConfig.Limits[0].Burst"},
		{"an estimate", weirtest.ProviderConfig{Limits: []weir.Limit{limit.By(store.SlidingCounter)}}, "ProviderConfig.Limits[0].Algorithm"},
		{"an unknown algorithm", weirtest.ProviderConfig{Limits: []weir.Limit{limit.By(99)}}, "ProviderConfig.Limits[0].Algorithm"},
		{"two limits of one name", weirtest.ProviderConfig{Limits: []weir.Limit{limit, limit.By(store.FixedWindow)}}, "ProviderConfig.Limits[1].Name"},
		{"a negative bound in flight", weirtest.ProviderConfig{MaxInFlight: -1}, "ProviderConfig.MaxInFlight"},
		{"a refusal that is none", weirtest.ProviderConfig{Status: 200}, "ProviderConfig.Status"},
		{"a status that is none", weirtest.ProviderConfig{Status: 600}, "ProviderConfig.Status"},
		{"a negative status", weirtest.ProviderConfig{Status: -1}, "ProviderConfig.Status"},
		{"a refusal in flight that is none", weirtest.ProviderConfig{InFlightStatus: 399}, "ProviderConfig.InFlightStatus"},
		{"an unknown form", weirtest.ProviderConfig{RetryAfter: 5}, "ProviderConfig.RetryAfter"},
		{"negative bodies", weirtest.ProviderConfig{KeepBodies: -1}, "ProviderConfig.KeepBodies"},
		{"bodies too long to keep", weirtest.ProviderConfig{KeepBodies: 1<<30 + 1}, "ProviderConfig.KeepBodies"},
		{"negative arrivals", weirtest.ProviderConfig{MaxArrivals: -1}, "ProviderConfig.MaxArrivals"},
		{"more arrivals than memory", weirtest.ProviderConfig{MaxArrivals: math.MaxInt}, "ProviderConfig.MaxArrivals"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p, err := weirtest.NewProvider(tc.cfg)
			wantConfigError(t, err, tc.field)
			if p != nil {
				t.Error("a provider came with the error")
			}
			s, err := weirtest.NewServer(tc.cfg)
			wantConfigError(t, err, tc.field)
			if s != nil {
				t.Error("a server came with the error")
			}
		})
	}
}

func TestSetLimitsMistakes(t *testing.T) {
	t.Parallel()
	was := []weir.Limit{weir.PerSecond(3), weir.PerHour(9).By(store.FixedWindow)}
	cases := []struct {
		name   string
		limits []weir.Limit
		field  string
	}{
		{"none", nil, "limits"},
		{"one too few", was[:1], "limits"},
		{"one too many", append(was[:2:2], weir.PerDay(5)), "limits"},
		{"another order", []weir.Limit{was[1], was[0]}, "limits[0].Algorithm"},
		{"an invalid one", []weir.Limit{was[0], weir.PerHour(-1).By(store.FixedWindow)}, "limits[1].Rate"},
		{"twice the same name", []weir.Limit{was[0], weir.PerSecond(3).By(store.FixedWindow)}, "limits[1].Name"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			p := provider(t, weirtest.ProviderConfig{Limits: was})
			wantConfigError(t, p.SetLimits(tc.limits...), tc.field)
			if got := p.Limits(); len(got) != 2 || got[0] != was[0] || got[1] != was[1] {
				t.Errorf("limits %v after a mistake, want %v", got, was)
			}
		})
	}
}

// Later changes of the caller's slice do not matter.
func TestLimitsAreCopied(t *testing.T) {
	t.Parallel()
	limits := []weir.Limit{weir.PerSecond(3)}
	p := provider(t, weirtest.ProviderConfig{Limits: limits})
	limits[0] = weir.Per(9, time.Hour)
	p.Limits()[0] = weir.Per(8, time.Hour)
	if got := p.Limits()[0]; got != weir.PerSecond(3) {
		t.Errorf("limit %v, want 3-in-1s", got)
	}
	limits[0] = weir.PerSecond(4)
	if err := p.SetLimits(limits...); err != nil {
		t.Fatal(err)
	}
	limits[0] = weir.Per(9, time.Hour)
	if got := p.Limits()[0]; got != weir.PerSecond(4) {
		t.Errorf("limit %v, want 4-in-1s", got)
	}
}
