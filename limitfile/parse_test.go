package limitfile_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/limitfile"
	"github.com/goweir/weir/store"
)

const whole = `# Who may ask how often.
default: free

plans:
  free: [10/s, 1000/h]
  pro:
    - 25 per 5 s   # in any five seconds
    - {rate: 300, per: 1m, algorithm: sliding_window, name: minute}
    - {rate: 100_000, per: day, burst: 2_000}

keys:
  acme: pro
  "user:42": [1/s]
  42: [{rate: 5, per: 90s, algorithm: fixed_window}]
`

const wholeJSON = `{
	"default": "free",
	"plans": {
		"free": ["10/s", "1000/h"],
		"pro": [
			"25 per 5 s",
			{"rate": 300, "per": "1m", "algorithm": "sliding_window", "name": "minute"},
			{"rate": 100000, "per": "day", "burst": 2000}
		]
	},
	"keys": {
		"acme": "pro",
		"user:42": ["1/s"],
		"42": [{"rate": 5, "per": "90s", "algorithm": "fixed_window"}]
	}
}
`

var (
	free = []weir.Limit{weir.PerSecond(10).WithName("10-in-1s"), weir.PerHour(1000).WithName("1000-in-1h")}
	pro  = []weir.Limit{
		weir.Per(25, 5*time.Second).WithName("25-in-5s"),
		weir.PerMinute(300).By(weir.SlidingWindow).WithName("minute"),
		weir.PerDay(100_000).WithBurst(2000).WithName("100000-in-1d"),
	}
	user42 = []weir.Limit{weir.PerSecond(1).WithName("1-in-1s")}
	only42 = []weir.Limit{weir.Per(5, 90*time.Second).By(weir.FixedWindow).WithName("5-in-90s")}
)

func TestAFileSaysThePlansAndTheKeysWithLimitsOfTheirOwn(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"limits.yaml":       whole,
		"limits.json":       wholeJSON,
		"limits.JSON":       "\ufeff" + strings.ReplaceAll(wholeJSON, "\n", "\r\n"),
		"yaml.json":         whole,
		"json.yaml":         wholeJSON,
		"with BOM and CRLF": "\ufeff" + strings.ReplaceAll(whole, "\n", "\r\n"),
		"with CR":           strings.ReplaceAll(whole, "\n", "\r"),
		"document marks":    "---\n" + whole + "...\n# the end\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := limitfile.Parse(name, []byte(content))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				key, plan string
				want      []weir.Limit
			}{
				{"ann", "free", free},
				{"ann", "pro", pro},
				{"ann", "", free},
				{"ann", "gold, which is gone", free},
				{"acme", "free", pro},
				{"user:42", "pro", user42},
				{"42", "pro", only42},
				{"", "pro", pro},
			} {
				if got := set.For(c.key, c.plan); !reflect.DeepEqual(got, c.want) {
					t.Errorf("For(%q, %q) = %v, want %v", c.key, c.plan, got, c.want)
				}
			}
			if got := limitfile.Plans(set); !reflect.DeepEqual(got, []string{"free", "pro"}) {
				t.Errorf("plans %q, want those of the file and no key", got)
			}
			if got := set.For("acme", ""); cap(got) != len(got) {
				t.Error("an append would write into a shared slice")
			}
		})
	}
}

func TestLimitsAreWrittenInManyWays(t *testing.T) {
	t.Parallel()
	gcra := func(n int64, d time.Duration) weir.Limit { return weir.Per(n, d) }
	for text, want := range map[string]weir.Limit{
		"10/s":                               gcra(10, time.Second),
		"10 / s":                             gcra(10, time.Second),
		"10 per s":                           gcra(10, time.Second),
		"10 per second":                      gcra(10, time.Second),
		"25/5s":                              gcra(25, 5*time.Second),
		"25 per 5 s":                         gcra(25, 5*time.Second),
		"300/1m":                             gcra(300, time.Minute),
		"300 per minute":                     gcra(300, time.Minute),
		"7/90s":                              gcra(7, 90*time.Second),
		"7/1m30s":                            gcra(7, 90*time.Second),
		"7/1 min 30 sec":                     gcra(7, 90*time.Second),
		"7/1.5 m":                            gcra(7, 90*time.Second),
		"1/0.1s":                             gcra(1, 100*time.Millisecond),
		"1/1.000001s":                        gcra(1, 1000001*time.Microsecond),
		"1/500ms":                            gcra(1, 500*time.Millisecond),
		"1/1us":                              gcra(1, time.Microsecond),
		"1/1µs":                              gcra(1, time.Microsecond),
		"10_000/d":                           gcra(10_000, 24*time.Hour),
		"1/2 days":                           gcra(1, 48*time.Hour),
		"1 per 2 weeks":                      gcra(1, 14*24*time.Hour),
		"1/18250d":                           gcra(1, store.MaxPeriod),
		"1125899906842624/h":                 gcra(store.MaxUnits, time.Hour),
		"{rate: 1, per: 1h}":                 gcra(1, time.Hour),
		"{rate: 3, per: s, burst: 3}":        gcra(3, time.Second).WithBurst(3),
		"{rate: 3, per: s, algorithm: gcra}": gcra(3, time.Second),
		"{rate: 3, per: s, algorithm: sliding_window}":  gcra(3, time.Second).By(weir.SlidingWindow),
		"{rate: 3, per: s, algorithm: sliding_counter}": gcra(3, time.Second).By(weir.SlidingCounter),
		"{rate: 3, per: s, algorithm: fixed_window}":    gcra(3, time.Second).By(weir.FixedWindow),
		"{rate: 3, per: s, algorithm: aligned_window}":  gcra(3, time.Second).By(weir.AlignedWindow),
		`{rate: 3, per: s, name: a b}`:                  gcra(3, time.Second).WithName("a b"),
		`{rate: 3, per: s, name: "404"}`:                gcra(3, time.Second).WithName("404"),
		`{rate: 3, per: s, name: 2026-01-01}`:           gcra(3, time.Second).WithName("2026-01-01"),
	} {
		set, err := limitfile.Parse("x", fmt.Appendf(nil, "default: p\nplans: {p: [%s]}\n", quoteText(text)))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := set.For("", ""); len(got) != 1 || got[0] != want.WithName(want.Policy()) {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

func quoteText(s string) string {
	if strings.HasPrefix(s, "{") {
		return s
	}
	return "'" + s + "'"
}

func TestJSONStrings(t *testing.T) {
	t.Parallel()
	content := `{"default":"p","plans":{"p":["1\/s"]},"keys":{"a😀\u003c": ["2/s"], "b\"\\\u00e9"` + "\n\t:\n" + `["3/s"]}}`
	set, err := limitfile.Parse("x.json", []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]int64{"a😀<": 2, `b"\é`: 3, "c": 1} {
		if got := set.For(key, "")[0].Rate; got != want {
			t.Errorf("key %q: rate %d, want %d", key, got, want)
		}
	}
}
