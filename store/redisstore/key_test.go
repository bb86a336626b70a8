package redisstore

import (
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	s := &Store{prefix: "weir:"}
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
	} {
		t.Run(name, func(t *testing.T) {
			state, log := s.keys(test.scope, test.key)
			if state != test.want || log != test.want+":log" {
				t.Errorf("got %q and %q, want %q", state, log, test.want)
			}
		})
	}
}

// FuzzKeys checks that different keys stay different, and that nothing in them
// breaks the hash tag or makes it long.
func FuzzKeys(f *testing.F) {
	f.Add("", "a:b", "a", "b")
	f.Add("{", "}", "", "{}")
	f.Add("a", strings.Repeat("x", 200), "a", strings.Repeat("x", 199)+"y")
	f.Add("#", "", "", "#")
	f.Fuzz(func(t *testing.T, scope1, key1, scope2, key2 string) {
		s := &Store{prefix: "weir:"}
		one, log := s.keys(scope1, key1)
		two, _ := s.keys(scope2, key2)
		if (one == two) != (scope1 == scope2 && key1 == key2) {
			t.Errorf("%q %q is %q, %q %q is %q", scope1, key1, one, scope2, key2, two)
		}
		inner, opened := strings.CutPrefix(one, "weir:{")
		inner, closed := strings.CutSuffix(inner, "}")
		if !opened || !closed || inner == "" || strings.ContainsAny(inner, "{} \r\n") || len(one) > 260 || log == two {
			t.Errorf("%q %q is %q", scope1, key1, one)
		}
	})
}
