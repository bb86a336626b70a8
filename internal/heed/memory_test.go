package heed_test

import (
	"testing"
	"time"

	"github.com/goweir/weir/internal/heed"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/upstream"
)

// TestOlderResponses: responses to concurrent requests come in any order. An older one does not undo the
// gap that a later one advertised.
func TestOlderResponses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key     string
		granted store.Instant
		left    int64 // of 20 in 2 s, for 1 s
		want    time.Duration
	}{
		"more left, granted together":    {"a", 7, 8, 0},
		"less left, granted together":    {"a", 7, 2, 500 * time.Millisecond},
		"more left, granted before":      {"a", 6, 8, 0},
		"less left, granted before":      {"a", 6, 2, 500 * time.Millisecond},
		"more left, granted after":       {"a", 8, 8, 125 * time.Millisecond},
		"more left of another key":       {"b", 7, 8, 125 * time.Millisecond},
		"more left, of an unknown grant": {"a", 0, 8, 125 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var shard heed.Shard
			news := func(key string, granted store.Instant, left int64) time.Duration {
				signal := upstream.Signal{Budget: upstream.Budget{Limit: 20, Remaining: left, Reset: time.Second, Window: 2 * time.Second}}
				b := on(store.Per(40, time.Second))
				b.At = granted
				view := heed.Compare(&signal, nil, []heed.Booking{b})
				brake, news := shard.Brake(key, view)
				if news != brake.Tell {
					t.Errorf("%+v, news: %v", brake, news)
				}
				return brake.Gap
			}
			if gap := news("a", 7, 4); gap != 250*time.Millisecond {
				t.Fatalf("the first gap is %v", gap)
			}
			if gap := news(c.key, c.granted, c.left); gap != c.want {
				t.Errorf("then the gap is %v, want %v", gap, c.want)
			}
		})
	}
}
