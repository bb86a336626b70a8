package rediskey

import (
	"errors"
	"strings"
	"testing"

	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/store"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestState(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxText)
	for name, test := range map[string]struct{ scope, key, want string }{
		"plain":             {"", "user-1", "weir:{:user-1}"},
		"scope":             {"api", "user:1", "weir:{api:user:1}"},
		"nothing":           {"", "", "weir:{:}"},
		"colon in scope":    {"a:b", "c", "weir:{a%3Ab:c}"},
		"colon in key":      {"a", "b:c", "weir:{a:b:c}"},
		"braces":            {"", "a}b{", "weir:{:a%7Db%7B}"},
		"space and newline": {"", "a b\n", "weir:{:a%20b%0A}"},
		"percent":           {"", "%7D", "weir:{:%257D}"},
		"hash":              {"#", "#1", "weir:{%23:%231}"},
		"not ASCII":         {"", "é\x00", "weir:{:%C3%A9%00}"},
		"the longest":       {"", long, "weir:{:" + long + "}"},
		"longer":            {"", long + "x", "weir:{#66963b0133972e0c56a9a727654c6dedc60704ef}"},
		"long when escaped": {"", strings.Repeat("{", 80), "weir:{#442064f23d24890f387f657cd34dc2eb9a3a9ca8}"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := State("weir:", test.scope, test.key); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestOtherNames(t *testing.T) {
	t.Parallel()
	state := State("weir:", "api", "user")
	for got, want := range map[string]string{
		Log(state):        "weir:{api:user}:log",
		Held(state):       "weir:{api:user}:held",
		Counter(state, 0): "weir:{api:user}:0",
		Counter(state, 7): "weir:{api:user}:7",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPrefix(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]string{
		"": "weir:", "weir:": "weir:", "my app ~": "my app ~", strings.Repeat("p", 64): strings.Repeat("p", 64),
	} {
		if got, err := Prefix("Config.Prefix", prefix); got != want || err != nil {
			t.Errorf("%q: %q, %v", prefix, got, err)
		}
	}
	for _, prefix := range []string{"{", "a}", "é", "\n", "\x7f", "\xff", strings.Repeat("p", 65)} {
		_, err := Prefix("redisstore.Config.Prefix", prefix)
		var wrong *store.ConfigError
		if !errors.As(err, &wrong) || wrong.Field != "redisstore.Config.Prefix" {
			t.Errorf("%q: %v", prefix, err)
		}
	}
}

func TestStateAllocatesOnce(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { State("weir:", "api", "customer-00000001") }); n > 1 {
		t.Errorf("%v allocations, want 1", n)
	}
}

// FuzzNames checks that different weir keys never share a name, and that the hash
// tag is the one non-empty text in braces.
func FuzzNames(f *testing.F) {
	long := strings.Repeat("x", 2*maxText)
	f.Add("", "a:b", "a", "b")
	f.Add("{", "}", "", "{}")
	f.Add("a", long, "a", long[1:]+"y")
	f.Add("#", "", "", "#")
	f.Add("", "a:0", "", "a")
	f.Add("a:"+long, "b", "a", long+":b")
	f.Add("%3A", "", ":", "")
	f.Fuzz(func(t *testing.T, scope1, key1, scope2, key2 string) {
		one, two := State("weir:", scope1, key1), State("weir:", scope2, key2)
		if (one == two) != (scope1 == scope2 && key1 == key2) {
			t.Errorf("%q %q is %q, %q %q is %q", scope1, key1, one, scope2, key2, two)
		}
		for _, name := range []string{one, Log(one), Held(one), Counter(one, 3)} {
			if name != one && name == two {
				t.Errorf("%q belongs to %q %q and to %q %q", name, scope1, key1, scope2, key2)
			}
			before, rest, opened := strings.Cut(name, "{")
			tag, after, closed := strings.Cut(rest, "}")
			if before != "weir:" || !opened || !closed || tag == "" || strings.ContainsAny(tag+after, "{} \r\n") || len(name) > 260 {
				t.Errorf("%q %q is %q", scope1, key1, name)
			}
		}
	})
}
