package dashboard

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/goweir/weir"
)

func TestLimitersAreBounded(t *testing.T) {
	t.Parallel()
	d := newDashboard(t, Config{})
	for i := range 3 * maxLimiters {
		d.Observe(t.Context(), weir.Event{Kind: weir.EventDecision, Scope: fmt.Sprint("l", i), Decision: weir.Decision{Allowed: true}})
	}
	rows := shown(d).Process.Limiters
	if len(rows) != maxLimiters+1 || rows[0].Limiter != otherName || rows[0].Admitted != 2*maxLimiters {
		t.Errorf("%d rows, the first %+v", len(rows), rows[0])
	}
}

func TestHotKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c calls
		now := time.Now()
		busy := fullKey{"api", "busy"}
		for i := range 20_000 {
			c.add(fullKey{"api", fmt.Sprint(i)}, false, now)
			if i%4 == 0 {
				c.add(busy, true, now)
			}
		}
		got := c.copy(now)
		if b := got[busy]; len(got) != maxHot || b.calls != 5000 || b.refused != 5000 {
			t.Errorf("%d keys, the busy one %+v", len(got), b)
		}
		if b := c.copy(now.Add(hotHalf))[busy]; b.refused != 2500 {
			t.Errorf("half a minute later: %+v", b)
		}
		if got := c.copy(now.Add(time.Hour)); len(got) != 0 {
			t.Errorf("an hour later: %d keys", len(got))
		}
	})
}

// TestKeyThatGetsHotLate finds a place among many keys with steady calls.
func TestKeyThatGetsHotLate(t *testing.T) {
	t.Parallel()
	var c calls
	now, hot := time.Now(), fullKey{"api", "hot"}
	for second := range 120 {
		for i := range maxKeys {
			c.add(fullKey{"api", fmt.Sprint(i)}, false, now.Add(time.Duration(second)*time.Second))
		}
	}
	now = now.Add(2 * time.Minute)
	for range 2000 {
		c.add(hot, true, now)
	}
	got := c.copy(now)
	if h := got[hot]; h.refused < 1000 || len(got) != maxHot {
		t.Errorf("the hot key is %+v among %d keys", h, len(got))
	}
	for k, one := range got {
		if k != hot && one.calls > got[hot].calls {
			t.Errorf("%v has %d calls, the hot key %d", k, one.calls, got[hot].calls)
		}
	}
}

func TestNotesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var n notes
		for i := range 3 * maxNotes {
			n.add(fmt.Sprint(i), levelInfo, fmt.Sprint(i))
		}
		if got := n.newest(); len(got) != maxNotes || got[0].Text != fmt.Sprint(3*maxNotes-1) {
			t.Errorf("%d notes, the newest %v", len(got), got[0])
		}
		n.add("0", levelInfo, "again")
		time.Sleep(noteEvery)
		n.add("0", levelInfo, "later")
		if got := n.newest(); got[0].Text != "later" || got[1].Text == "again" {
			t.Errorf("%+v", got[:2])
		}
	})
}

func TestReasons(t *testing.T) {
	t.Parallel()
	now, key := time.Now(), fullKey{"api", "k"}
	var c calls
	for i := range 2 * maxKeys {
		c.add(fullKey{"api", fmt.Sprint(i)}, false, now) // They leave room for reasons.
	}
	for name, step := range map[string]struct {
		pause, slow string
		after       time.Duration
		want        string
	}{
		"a pause":                 {"why", "", 0, "why"},
		"a pause that is over":    {"why", "", time.Minute, ""},
		"a lower rate":            {"", "slow", 0, "slow"},
		"a lower rate in a pause": {"why", "slow", 0, "why"},
		"lifted":                  {"", "", 0, ""},
	} {
		c.slow(key, step.pause, true, now, now.Add(time.Minute))
		if step.pause == "" {
			c.slow(key, "", true, now, now)
		}
		if step.slow != "" {
			c.slow(key, step.slow, false, now, now.Add(time.Minute))
		}
		if got := c.copy(now.Add(step.after))[key].reason; got != step.want {
			t.Errorf("%s: %q, want %q", name, got, step.want)
		}
	}
	for i := range 2 * maxKeys {
		c.slow(fullKey{"api", fmt.Sprint("slow", i)}, "why", true, now, now.Add(time.Hour))
	}
	if n := len(c.copy(now)); n != maxKeys {
		t.Errorf("%d keys", n)
	}
}

func TestWaitsAreBounded(t *testing.T) {
	t.Parallel()
	var c calls
	now := time.Now()
	for i := range 2 * maxKeys {
		c.begin(fullKey{"api", fmt.Sprint(i)}, now)
	}
	for range 2 * maxWaits {
		c.begin(fullKey{"api", "0"}, now)
	}
	if len(c.keys) != maxKeys || c.waits != maxWaits {
		t.Errorf("%d keys, %d waits", len(c.keys), c.waits)
	}
}

func TestShownKeys(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		plain     bool
		key, want string
	}{
		"hashed":      {false, "user:1", "abc3a47b8a"},
		"plain":       {true, "user:1", "user:1"},
		"HTML":        {true, "<b>&amp;", "<b>&amp;"},
		"no UTF-8":    {true, "a\xff", "a\uFFFD"},
		"long":        {true, strings.Repeat("ä", 200), strings.Repeat("ä", 100) + "…"},
		"long, split": {true, "x" + strings.Repeat("ä", 200), "x" + strings.Repeat("ä", 99) + "…"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (namer{test.plain}).show(test.key); got != test.want || !utf8.ValidString(got) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	if idOf("a", "b") == idOf("a\x00b", "") || idOf("ab", "c") == idOf("a", "bc") {
		t.Error("two keys share an identity")
	}
}

func TestLatencyClasses(t *testing.T) {
	t.Parallel()
	for d := time.Microsecond; d < time.Hour; d = d*9/8 + time.Microsecond {
		us := float64(d.Microseconds())
		if got := middle(classOf(d)) * 1000; d < 1<<31*time.Microsecond && (got < us*.9 || got > us*1.1+1) {
			t.Errorf("%v is in a class around %v µs", d, got)
		}
	}
	if classOf(-1) != 0 || classOf(1<<62) != len(latencies{})-1 {
		t.Error("bounds")
	}
}
