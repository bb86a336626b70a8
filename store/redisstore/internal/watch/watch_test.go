package watch

import "testing"

func TestPublishedNames(t *testing.T) {
	t.Parallel()
	for _, n := range [][2]string{{"", ""}, {"", "key"}, {"scope", ""}, {"a:b", "c:1:d"}, {"1:", ":1"}, {" ", "\x00é"}} {
		if scope, key, ok := parse(Name(n[0], n[1])); !ok || scope != n[0] || key != n[1] {
			t.Errorf("%q: %q %q %v", n, scope, key, ok)
		}
	}
	for _, text := range []string{"", "1", "9:ab", "-1:ab", "x:ab", "ab", ":ab"} {
		if scope, key, ok := parse(text); ok {
			t.Errorf("%q: %q %q", text, scope, key)
		}
	}
}
