package redisstate

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/store"
)

func TestLimits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]store.Limit{
		"g25/5s/50":      store.Per(25, 5*time.Second).WithBurst(50),
		"g25/5s":         store.Per(25, 5*time.Second),
		"w7/60s":         store.Per(7, time.Minute).By(store.SlidingWindow),
		"c7/1500000":     store.Per(7, 1500*time.Millisecond).By(store.SlidingCounter),
		"f1/1":           store.Per(1, time.Microsecond).By(store.FixedWindow),
		"a1/1576800000s": store.Per(1, store.MaxPeriod).By(store.AlignedWindow),
	} {
		got, err := ParseLimit(text)
		if err != nil || got != want || FormatLimit(&want) != text {
			t.Errorf("%q: %+v, %v, written as %q", text, got, err, FormatLimit(&want))
		}
	}
	for _, text := range []string{
		"", "g", "g25", "g/5s", "g25/", "x25/5s", "g25/5s/", "g25/5s/25", "g25/5000000", "w25/5s/50", "g025/5s", "g25/5s/50/1", "g0/5s",
		"g25/0s", "g1125899906842625/1s", "a1/1576800001s", "g25/-5s", "g2.5/5s", "g1/1s/1125899906842624", "g99999999999999999999/1s",
	} {
		if l, err := ParseLimit(text); !errors.Is(err, ErrValue) {
			t.Errorf("%q: %+v, %v", text, l, err)
		}
	}
}

// born is a birth for values of tests.
const born = "946684800000000"

func TestParse(t *testing.T) {
	t.Parallel()
	s, err := Parse("1g7/60s=34285714.2~946684900000000;w9/60s=1.2|" + born +
		"|q17142856.16.2.8.2.946684801000000,2.2.1.2.1.1.0.0.0|c946684802000000.946684802000000|l0.2.5.4.0.0.0|r" + born + ";1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	q := s.Queue
	if s.Born != 946684800000000 || s.At != 946684802000000 || len(s.Parts) != 2 || s.Parts[0].State.A != s.Born+34285714 || s.Parts[0].Left != 946684900000000 ||
		q.Last != s.Born+17142856 || q.First != s.Born+16 || q.Cost != 2 || q.Tag != 8 || q.Seq != 2 || !s.Restored || s.Reset || s.Entries() != 2 {
		t.Errorf("%+v", s)
	}
	if all, err := s.ReadLog([]string{"0.2.0", "5.4"}); !all || err != nil || len(s.Log.Entries) != 2 || s.Log.Entries[1].Sum != 4 {
		t.Errorf("%t, %v: %+v", all, err, s.Log)
	}
	if s, err := Parse("1|" + born + "|r"); err != nil || !s.Reset || s.Restored || len(s.Parts) != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := Parse("2g7/60s=0|" + born); !errors.Is(err, ErrVersion) || !errors.Is(err, ErrValue) {
		t.Errorf("another version: %v", err)
	}
}

// TestParseRefuses: the scripts refuse these values, and so does Parse.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"nothing":                        "",
		"another program's":              "hello",
		"no birth":                       "1g7/60s=0",
		"an empty birth":                 "1g7/60s=0|",
		"a birth out of bounds":          "1g7/60s=0|9007199254740992",
		"a limit without numbers":        "1g7/60s|" + born,
		"a limit that is none":           "1x7/60s=0|" + born,
		"a limit twice":                  "1g7/60s=0;g7/60s=0|" + born,
		"an empty limit":                 "1g7/60s=0;|" + born,
		"too many numbers":               "1g7/60s=1.0.0|" + born,
		"a rest out of bounds":           "1g7/60s=1.7|" + born,
		"a TAT out of bounds":            "1g7/60s=4503599627370496|" + born,
		"units out of bounds":            "1f7/60s=1.2251799813685249|" + born,
		"an end of no limit":             "1g7/60s=1~|" + born,
		"65 limits":                      "1" + strings.TrimSuffix(strings.Repeat("g7/60s=0;", 65), ";") + "|" + born,
		"a sliding window without a log": "1w7/60s=0.0|" + born,
		"an unknown part":                "1g7/60s=0|" + born + "|x1",
		"an empty part":                  "1g7/60s=0|" + born + "|",
		"a part twice":                   "1g7/60s=0|" + born + "|r|r",
		"a short queue":                  "1g7/60s=0|" + born + "|q1.2.3.4.5",
		"a queue out of bounds":          "1g7/60s=0|" + born + "|q4503599627370496.2.3.4.5.6",
		"credits that are none":          "1g7/60s=0|" + born + "|q1.2.3.4.5.6,x",
		"a clock of another length":      "1g7/60s=0|" + born + "|c1.2.3",
		"a clock far ahead":              "1g7/60s=0|" + born + "|c1.1000000000000002",
		"a log out of bounds":            "1w7/60s=0.0|" + born + "|l3.2.0.0.0.0.0",
		"restored units that are none":   "1g7/60s=0|" + born + "|rx",
	} {
		if s, err := Parse(value); !errors.Is(err, ErrValue) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
}

func TestReadLog(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		head    string
		entries string
		sums    []int64 // nil: an error
	}{
		"whole":                {"0.2.5.4.0.0.0", "0.2.0 5.4", []int64{2, 4}},
		"after dropped ones":   {"3.5.5.9.5.0.0", "1.7 5.9", []int64{2, 4}},
		"over a wrap":          {"256.257.5.1.4503599627370494.0.4503599627370494", "5.3.4503599627370494", []int64{3}},
		"one is missing":       {"0.2.5.4.0.0.0", "0.2.0", nil},
		"one too many":         {"0.1.5.4.0.0.0", "0.2.0 5.4", nil},
		"a head without a sum": {"0.1.5.4.0.0.0", "0.2", nil},
		"a sum too much":       {"1.2.5.4.0.0.0", "0.2.0", nil},
		"no numbers":           {"0.1.5.4.0.0.0", "x.y.z", nil},
		"sums that fall":       {"0.2.5.4.0.0.0", "0.4.0 5.2", nil},
		"a slot out of bounds": {"0.1.5.4.0.0.0", "4503599627370496.2.0", nil},
	} {
		s, err := Parse("1w7/60s=0.0|" + born + "|l" + test.head)
		if err != nil {
			t.Fatal(name, err)
		}
		all, err := s.ReadLog(strings.Fields(test.entries))
		if test.sums == nil {
			if !errors.Is(err, ErrValue) {
				t.Errorf("%s: %t, %v: %+v", name, all, err, s.Log)
			}
			continue
		}
		var sums []int64
		for _, e := range s.Log.Entries {
			sums = append(sums, e.Sum)
		}
		if !all || err != nil || len(sums) != len(test.sums) || sums[0] != test.sums[0] || sums[len(sums)-1] != test.sums[len(sums)-1] {
			t.Errorf("%s: %v, %t, %v, want %v", name, sums, all, err, test.sums)
		}
	}
}
