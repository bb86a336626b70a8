package deny

import (
	"strings"
	"testing"
	"time"
)

func TestGet(t *testing.T) {
	t.Parallel()
	const sent, ends = 10 * time.Second, 10*time.Second + 300*time.Millisecond
	long := strings.Repeat("x", maxText+1)
	for name, test := range map[string]struct {
		scope, key string
		of         int
		at         time.Duration
		change     func(table *Table[int, string])
		want       bool
	}{
		"at once":             {"api", "key", 1, sent, nil, true},
		"until it ends":       {"api", "key", 1, ends - 1, nil, true},
		"when it ends":        {"api", "key", 1, ends, nil, false},
		"before it was sent":  {"api", "key", 1, sent - 1, nil, false},
		"another question":    {"api", "key", 2, sent, nil, false},
		"another key":         {"api", "other", 1, sent, nil, false},
		"another scope":       {"", "key", 1, sent, nil, false},
		"a text that is long": {"api", long, 1, sent, nil, false},
		"forgotten":           {"api", "key", 1, sent, func(t *Table[int, string]) { t.Forget("api", "key") }, false},
		"lost":                {"api", "key", 1, sent, func(t *Table[int, string]) { t.Lose() }, false},
		"changed":             {"api", "key", 1, sent, func(t *Table[int, string]) { t.Place("api", "key").Changed("api", "key", 2) }, false},
		"not changed":         {"api", "key", 1, sent, func(t *Table[int, string]) { t.Place("api", "key").Changed("api", "key", 1) }, true},
		"another one changed": {"api", "key", 1, sent, func(t *Table[int, string]) { t.Place("api", "key").Changed("", "key", 2) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var table Table[int, string]
			for _, key := range []string{"key", long} {
				p := table.Place("api", key)
				table.Put(p, p.Turn(), "api", key, 1, "no", sent, ends)
			}
			if test.change != nil {
				test.change(&table)
			}
			a, _, ok := table.Get(table.Place(test.scope, test.key), test.scope, test.key, test.of, func() time.Duration { return test.at })
			if ok != test.want || ok && a != "no" {
				t.Errorf("%q, %t, want %t", a, ok, test.want)
			}
		})
	}
}

// TestPut: a refusal is kept for at most a second, and replaces another one. It is not kept
// if the place forgot since the question was sent.
func TestPut(t *testing.T) {
	var table Table[int, string]
	p := table.Place("", "key")
	get := func(of int, at time.Duration) string {
		a, now, ok := table.Get(p, "", "key", of, func() time.Duration { return at })
		if ok && now != at {
			t.Errorf("the time is %v, want %v", now, at)
		}
		if !ok {
			return ""
		}
		return a
	}
	turn := p.Turn()
	table.Put(p, turn, "", "key", 1, "first", 0, time.Hour)
	if get(1, Life-1) != "first" || get(1, Life) != "" {
		t.Error("it is not kept for a second")
	}
	table.Put(p, turn, "", "key", 1, "of the same batch", 0, time.Hour)
	if get(1, 0) != "first" {
		t.Error("another call of the batch took its place")
	}
	table.Put(p, turn, "", "key", 1, "second", 1, time.Hour)
	if get(1, 1) != "second" {
		t.Error("a later one did not take its place")
	}
	p.Forget()
	table.Put(p, turn, "", "key", 1, "late", 2, time.Hour)
	if get(1, 2) != "" {
		t.Error("a refusal from before is kept")
	}
	if n := testing.AllocsPerRun(100, func() { get(1, 3) }); n > 0 {
		t.Errorf("%v allocations to look", n)
	}
}
