package inspect

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/store/redisstore"
	"github.com/redis/go-redis/v9"
)

// decoded reads a value and a log at an instant.
func decoded(at int64, value string, log []string) *Key {
	k := &Key{At: time.UnixMicro(at), Stored: "weir:{a:b}", Limiter: "a", Key: "b"}
	k.Err = k.decode(&stored{
		value: redis.NewStringResult(value, nil), ttl: redis.NewDurationResult(time.Minute, nil), log: redis.NewStringSliceResult(log, nil),
		leases: redis.NewIntResult(0, nil), flights: redis.NewZSliceCmdResult(nil, nil),
	})
	return k
}

// TestFixture: package inspect reads states as the scripts do. The fixture of package
// redisstore has states and their meaning.
func TestFixture(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../store/redisstore/testdata/states/v1.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []struct {
		Name, Value string
		Log         []string
		At          int64 `json:"at_us"`
		Says        struct {
			Remaining  []int64
			ResetAfter []int64 `json:"reset_after_us"`
			Delay      int64   `json:"delay_us"`
			Paused     bool
		}
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	if len(all) < 40 {
		t.Fatalf("%d states", len(all))
	}
	delays := 0
	for _, f := range all {
		k := decoded(f.At, f.Value, f.Log)
		if k.Err != nil || k.Behind != 0 || k.Partial {
			t.Errorf("%s: %+v", f.Name, k)
			continue
		}
		var named []Limit
		for _, l := range k.Limits {
			if l.LeftFor == 0 {
				named = append(named, l)
			}
		}
		if len(named) != len(f.Says.Remaining) {
			t.Errorf("%s: %+v, want %d limits", f.Name, k, len(f.Says.Remaining))
			continue
		}
		for i, l := range named {
			reset := time.Duration(l.ResetAfter).Microseconds()
			if l.Remaining != f.Says.Remaining[i] || reset != f.Says.ResetAfter[i] {
				t.Errorf("%s: limit %d has %d remaining, reset after %d, want %d, %d", f.Name, i, l.Remaining, reset, f.Says.Remaining[i], f.Says.ResetAfter[i])
			}
		}
		if paused := k.Brake.Pause > 0; paused != f.Says.Paused {
			t.Errorf("%s: paused is %t", f.Name, paused)
		}
		// Where all units remain, the fixture's call comes after one that took them.
		if f.Says.Remaining[0] < named[0].Max() {
			delays++
			if time.Duration(k.Next.RetryAfter).Microseconds() != f.Says.Delay || k.Next.Allowed != (f.Says.Delay == 0) {
				t.Errorf("%s: the next call is %+v, want a delay of %d", f.Name, k.Next, f.Says.Delay)
			}
		}
		if ahead := strings.Contains(f.Name, "ahead") || strings.Contains(f.Name, "paused"); ahead && k.Ahead.Last == 0 {
			t.Errorf("%s: nothing is ahead: %+v", f.Name, k.Ahead)
		}
		if len(k.Explain()) == 0 {
			t.Errorf("%s: no explanation", f.Name)
		}
	}
	if delays < 30 {
		t.Errorf("%d delays are compared", delays)
	}
}

// TestLongLog: if the start of a log is not read, no unit seems free that is used.
func TestLongLog(t *testing.T) {
	t.Parallel()
	const value = "1w1000/3600s=0.0|946684800000000|l0.600.599000000.1200.0.0.1024"
	var log []string
	for i := range int64(600) {
		entry := []int64{i * 1_000_000, 2 * (i%256 + 1)}
		if i%256 == 0 {
			entry = append(entry, 2*i)
		}
		text, _ := json.Marshal(entry)
		log = append(log, strings.ReplaceAll(strings.Trim(string(text), "[]"), ",", "."))
	}
	at := int64(946684800_000_000)
	for _, test := range []struct {
		name       string
		at         int64
		entries    int
		used, want int64
		partial    bool
	}{
		{"all", 4_000_000_000, 600, 0, 398, false}, // live after 400 s: entries 401 to 599
		{"half", 4_000_000_000, 300, 0, 398, true}, // 512 to 599 are read, 0 to 511 count until 512 lapses
	} {
		k := decoded(at+test.at, value, log[600-test.entries:])
		if k.Err != nil || k.Partial != test.partial || len(k.Limits) != 1 {
			t.Errorf("%s: %+v", test.name, k)
			continue
		}
		l := k.Limits[0]
		if test.partial && l.Used < test.want || !test.partial && l.Used != test.want {
			t.Errorf("%s: %d used, want %d", test.name, l.Used, test.want)
		}
		if want := Span(3600*time.Second + 599*time.Second - time.Duration(test.at)*time.Microsecond); l.ResetAfter != want {
			t.Errorf("%s: reset after %v, want %v", test.name, l.ResetAfter, want)
		}
	}
	if k := decoded(at+4_150_000_000, value, log[300:]); k.Limits[0].Used != 2*(599-550) {
		t.Errorf("once the unread part has lapsed: %+v", k.Limits)
	}
}

// TestServerBehind: the server's clock is behind a state.
func TestServerBehind(t *testing.T) {
	t.Parallel()
	k := decoded(946684800_000_000-3600_000_000, "1g7/60s=8571428.4|946684800000000", nil)
	if k.Err != nil || k.Behind != Span(time.Hour) || k.Limits[0].Used != 1 {
		t.Errorf("%+v", k)
	}
}

func TestForeignValues(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]error{
		"hello":                        redisstore.ErrState,
		"2g7/60s=0|946684800000000":    redisstore.ErrVersion,
		"1g7/60s=9|9007199254740992":   redisstore.ErrState,
		"1w7/60s=0.0|1|l0.2.0.0.0.0.0": redisstore.ErrState,
	} {
		k := decoded(946684800_000_000, value, nil)
		if !errors.Is(k.Err, want) || len(k.Limits) != 0 || len(k.Explain()) < 2 {
			t.Errorf("%q: %+v", value, k)
		}
	}
}

// FuzzDecode: no stored value panics or takes long, and the used units stay in bounds.
func FuzzDecode(f *testing.F) {
	text, err := os.ReadFile("../../store/redisstore/testdata/states/v1.json")
	if err != nil {
		f.Fatal(err)
	}
	var all []struct {
		Value string
		Log   []string
	}
	if err := json.Unmarshal(text, &all); err != nil {
		f.Fatal(err)
	}
	for _, seed := range all {
		if len(seed.Log) < 10 {
			f.Add(seed.Value, strings.Join(seed.Log, " "), int64(5_000_000))
		}
	}
	f.Add("1g7/60s=1|1|c1.1000000000000001.0.0.1.1000000000000.900000000000000.1.1.10000000000000.1000000000000000", "", int64(0))
	f.Add("1g1125899906842624/1=1|1|q4503599627370495.1.1.1.1.1", "", int64(0))
	f.Add("1c7/60s=946684800000000.5.5;f1/1=0.2251799813685248;a1/1576800000s=9007199254740991.1|946684800000000|r", "", int64(1))
	f.Add("1w1/1s=0.0|0|l0.5.0.3.0.0.0", "0.2251799813685248.0 1.0 2.2251799813685248 3.0 4.2251799813685248", int64(0))
	f.Fuzz(func(t *testing.T, value, log string, after int64) {
		if after < 0 || after > 1<<52 {
			return
		}
		k := decoded(946684800_000_000+after, value, strings.Fields(log))
		for i := range k.Limits {
			if l := &k.Limits[i]; l.Used < 0 || l.Used > l.Max() || l.Remaining < 0 || l.Remaining > l.Max() || l.ResetAfter < 0 {
				t.Errorf("%q %q: %+v", value, log, l)
			}
		}
		if b := k.Brake; b.Pause < 0 || b.For < 0 || k.Err == nil && !k.Missing && (b.Rate < 0 || b.Rate > 64) || k.Behind < 0 {
			t.Errorf("%q %q: %+v", value, log, k)
		}
		if k.Next.RetryAfter < 0 || k.Ahead.First > k.Ahead.Last || k.Ahead.First < 0 {
			t.Errorf("%q %q: %+v", value, log, k)
		}
		checkTexts(t, k)
	})
}
