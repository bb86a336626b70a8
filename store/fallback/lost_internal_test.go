package fallback

import (
	"testing"
	"time"
)

func TestUnfaded(t *testing.T) {
	t.Parallel()
	const p = 10 * time.Second
	for name, c := range map[string]struct {
		units      int64
		reset, ago time.Duration
		want       int64
	}{
		"told just now":                        {100, 2*p - time.Second, 0, 100},
		"told as the window began":             {100, 2*p + time.Microsecond, 0, 100},
		"told then, a while ago":               {100, 2*p - 4*time.Second, 4*time.Second + time.Millisecond, 60},
		"what is told is rounded up":           {10, 2*p - 2*time.Millisecond, time.Millisecond, 10},
		"half of what was left has gone":       {100, p + 3*time.Second, 3 * time.Second, 50},
		"the window has ended":                 {100, p, 3 * time.Second, 0},
		"the next has, too":                    {100, 0, 2 * p, 0},
		"units of the window before":           {40, 4 * time.Second, 0, 40},
		"units of the window before, faded":    {40, 4 * time.Second, 6 * time.Second, 40},
		"used in the next one since":           {100, 2*p - time.Second, 4 * time.Second, 0},
		"more was given back than was in use":  {-3, p + 3*time.Second, 3 * time.Second, -3},
		"nothing is in use":                    {0, p + 3*time.Second, 3 * time.Second, 0},
		"nobody knows since when, and it ends": {100, time.Second, 1 << 62, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if n := unfaded(c.units, p, c.reset, c.ago); n != c.want {
				t.Errorf("%d, want %d", n, c.want)
			}
		})
	}
}
