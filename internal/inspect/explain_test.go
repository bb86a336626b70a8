package inspect

import (
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/store"
)

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0:                                      "0s",
		999*time.Microsecond + 1:               "999µs",
		1234 * time.Microsecond:                "1.23ms",
		9996 * time.Microsecond:                "10ms",
		999 * time.Millisecond:                 "999ms",
		999600 * time.Microsecond:              "1s",
		59990 * time.Millisecond:               "59.99s",
		59996 * time.Millisecond:               "1m",
		89600 * time.Millisecond:               "1m30s",
		time.Hour - time.Second:                "59m59s",
		time.Hour - 30*time.Millisecond:        "1h",
		25 * time.Hour:                         "25h",
		48*time.Hour - time.Second:             "2d",
		50*time.Hour + 29*time.Minute:          "2d2h",
		24*365*time.Hour + 500*time.Nanosecond: "365d",
	} {
		if got := Span(d).String(); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}

// TestExplain has sentences that depend on numbers.
func TestExplain(t *testing.T) {
	t.Parallel()
	limit := Limit{Limit: store.Limit{Rate: 10, Period: time.Minute}, Used: 1, Remaining: 9, ResetAfter: Span(6 * time.Second)}
	key := func(change func(*Key)) *Key {
		k := &Key{Limits: []Limit{limit}, Brake: Brake{Rate: 64}, Next: Next{Allowed: true, Limit: -1}, TTL: Span(time.Minute)}
		change(k)
		return k
	}
	for name, test := range map[string]struct {
		key  *Key
		want string
	}{
		"one unit":     {key(func(*Key) {}), "10/1m gcra: 1 of 10 units is used. All are free again in 6s."},
		"two units":    {key(func(k *Key) { k.Limits[0].Used = 2 }), "2 of 10 units are used."},
		"none used":    {key(func(k *Key) { k.Limits[0].Used = 0 }), "0 of 10 units are used. It is as new in 6s."},
		"none in line": {key(func(*Key) {}), "A call of 1 unit leaves at once.\n"},
		"in flight":    {key(func(k *Key) { k.InFlight = 3 }), "A call of 1 unit leaves at once, unless its limiter allows no more calls in flight: Redis does not have Config.InFlight."},
	} {
		if got := strings.Join(test.key.Explain(), "\n") + "\n"; !strings.Contains(got, test.want) {
			t.Errorf("%s: no %q in\n%s", name, test.want, got)
		}
	}
}
