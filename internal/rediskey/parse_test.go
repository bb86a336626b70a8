package rediskey

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	t.Parallel()
	state := State("weir:", "a:b", "user {1}")
	hashed := State("weir:", "a", strings.Repeat("x", 200))
	for name, want := range map[string]Name{
		state:                {State: state, Scope: "a:b", Key: "user {1}"},
		Log(state):           {State: state, Scope: "a:b", Key: "user {1}", Part: "log"},
		Held(state):          {State: state, Scope: "a:b", Key: "user {1}", Part: "held"},
		Counter(state, 7):    {State: state, Scope: "a:b", Key: "user {1}", Part: "7"},
		Restored(state, "x"): {State: state, Scope: "a:b", Key: "user {1}", Part: "rx"},
		hashed:               {State: hashed, Hash: strings.TrimSuffix(strings.TrimPrefix(hashed, "weir:{#"), "}")},
		"weir:{:}":           {State: "weir:{:}"},
	} {
		if got, ok := Parse("weir:", name); !ok || got != want || got.Full() != name {
			t.Errorf("%q: %+v, %t, want %+v", name, got, ok, want)
		}
	}
	for _, name := range []string{
		"", "weir:", "weir:{", "weir:{a:b", "weir:a:b}", "other:{a:b}", "weir:{a:b}x", "weir:{a:b}:", "weir:{ab}",
		"weir:{a:b c}", "weir:{a:%41}", "weir:{#12}", "weir:{#" + strings.Repeat("g", 40) + "}", "weir:{a:" + strings.Repeat("x", 200) + "}",
		"weir:{a:b}:8", "weir:{a:b}:logs", "weir:{a:b}:r\x1b]0;x\x07", "weir:{a:b}:r\u202e", "weir:{a:b}:r a", "weir:{a:b}:r" + strings.Repeat("x", 200),
		"weir:{a:\x1b[2J}", "weir:{a:\u202e}", "weir:{a:\xff}", "weir:{a:b}:log\n",
	} {
		if got, ok := Parse("weir:", name); ok {
			t.Errorf("%q: %+v", name, got)
		}
	}
}

func TestParseText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][2]string{
		"api:user:1":  {"api", "user:1"},
		"a%3Ab:c%20d": {"a:b", "c d"},
		":k":          {"", "k"},
		"a:100%":      {"a", "100%"},
		"a:%zz":       {"a", "%zz"},
		"a:b c":       {"a", "b c"},
	} {
		if scope, key, ok := ParseText(text); !ok || scope != want[0] || key != want[1] {
			t.Errorf("%q: %q, %q, %t", text, scope, key, ok)
		}
	}
	for _, text := range []string{"", "1", "api"} {
		if _, _, ok := ParseText(text); ok {
			t.Errorf("%q: a text without a colon is read", text)
		}
	}
	for _, n := range [][2]string{{"", ""}, {"", "key"}, {"scope", ""}, {"a:b", "c:1:d"}, {"1:", ":1"}, {" ", "\x00é"}} {
		if scope, key, ok := ParseText(Text(n[0], n[1])); !ok || scope != n[0] || key != n[1] {
			t.Errorf("%q: %q %q %v", n, scope, key, ok)
		}
	}
}

// FuzzParse: every name that this package makes is read back, and no text is misread.
func FuzzParse(f *testing.F) {
	f.Add("api", "user:1")
	f.Add("a:b", "{%}")
	f.Add("", strings.Repeat("é", 70))
	f.Add("weir:{a:b}:log", "")
	f.Fuzz(func(t *testing.T, scope, key string) {
		n, ok := Parse("weir:", Log(State("weir:", scope, key)))
		if !ok || n.Part != "log" || n.Hash == "" && (n.Scope != scope || n.Key != key) {
			t.Errorf("%q %q: %+v, %t", scope, key, n, ok)
		}
		if s, k, ok := ParseText(Text(scope, key)); !ok || s != scope || k != key {
			t.Errorf("%q %q: %q %q", scope, key, s, k)
		}
		if n, ok := Parse("weir:", scope); ok && n.State != strings.TrimSuffix(scope, ":"+n.Part) {
			t.Errorf("%q: %+v", scope, n)
		}
	})
}
