package inspect

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store/redisstore"
	"github.com/redis/go-redis/v9"
)

// TestFaults plants a fault in the keys of a healthy server, and expects the finding.
func TestFaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		plant  func(t *testing.T, c *redis.Client, i *Inspector)
		found  string // level and name; empty: nothing
		text   string
		remedy string
	}{
		"nothing": {func(*testing.T, *redis.Client, *Inspector) {}, "", "", ""},
		"no TTL": {func(t *testing.T, c *redis.Client, _ *Inspector) {
			for i := range 5 {
				must(t, c.Persist(t.Context(), fmt.Sprintf("weir:{api:user:%d}", i)).Err())
			}
		}, "warning ttl", "5 keys have no TTL", "PERSIST"},
		"a log without a TTL": {func(t *testing.T, c *redis.Client, _ *Inspector) {
			must(t, c.Persist(t.Context(), "weir:{api:user:1}:log").Err())
		}, "warning ttl", "weir:{api:user:1}:log", "PERSIST"},
		"another program's value": {func(t *testing.T, c *redis.Client, _ *Inspector) {
			must(t, c.Set(t.Context(), "weir:{api:x}", "hello", time.Minute).Err())
		}, "fault state", "weir:{api:x}", "weir reset"},
		"another version": {func(t *testing.T, c *redis.Client, _ *Inspector) {
			must(t, c.Set(t.Context(), "weir:{api:x}", "9g7/60s=0|1", time.Minute).Err())
		}, "fault state", "another version", "one version of weir"},
		"a clock that stepped back": {func(t *testing.T, c *redis.Client, _ *Inspector) {
			must(t, c.Set(t.Context(), "weir:{api:x}", fmt.Sprintf("1g7/60s=0|%d", time.Now().Add(time.Hour).UnixMicro()), time.Minute).Err())
		}, "warning clock", "behind its states", "NTP"},
		"a clock behind":   {func(_ *testing.T, _ *redis.Client, i *Inspector) { i.ahead = -10 * time.Second }, "warning clock", "behind", "NTP"},
		"a clock ahead":    {func(_ *testing.T, _ *redis.Client, i *Inspector) { i.ahead = time.Minute }, "warning clock", "ahead of this machine's", "NTP"},
		"a clock that may": {func(_ *testing.T, _ *redis.Client, i *Inspector) { i.ahead = time.Second }, "", "", ""},
		"two limits under one name": {func(t *testing.T, c *redis.Client, _ *Inspector) {
			for _, n := range []int64{20, 25} {
				l := newLimiter(t, c, weir.Config{Name: "shared", Limits: []weir.Limit{weir.Per(n, time.Hour)}})
				_, err := l.Allow(t.Context(), "key")
				must(t, err)
			}
		}, "warning limits", `"shared" counts under limits that the last calls left out (20/1h gcra; 25/1h gcra)`, "different Names"},
		"it may not read": {func(t *testing.T, c *redis.Client, i *Inspector) {
			must(t, c.Do(t.Context(), "ACL", "SETUSER", "blind", "on", ">p", "+ping", "+time").Err())
			o := *c.Options()
			o.Username, o.Password = "blind", "p"
			blind := redis.NewClient(&o)
			t.Cleanup(func() { _ = blind.Close() })
			i.client = blind
		}, "unknown unread", "can't be read", "+scan"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := redistest.Start(t).Client(patient, redisstore.Configure)
			fill(t, client)
			i := newInspector(t, client, "")
			test.plant(t, client, i)
			found, cut := i.Faults(t.Context(), Query{})
			if cut {
				t.Error("a bound ended the search")
			}
			if test.found == "" {
				if len(found) > 0 {
					t.Errorf("found %v", found)
				}
				return
			}
			if len(found) != 1 || string(found[0].Level)+" "+found[0].Name != test.found || !strings.Contains(found[0].What, test.text) || !strings.Contains(found[0].Remedy, test.remedy) {
				t.Errorf("found %v, want %s, %q, %q", found, test.found, test.text, test.remedy)
			}
		})
	}
}

// TestFaultsEndWithTheirContext: the end of the context is a finding.
func TestFaultsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	found, _ := newInspector(t, redistest.Start(t).Client(), "").Faults(ctx, Query{})
	if len(found) != 1 || found[0].Name != "unread" || found[0].Err == nil {
		t.Errorf("found %v", found)
	}
}
