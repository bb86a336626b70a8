package limitfile_test

import (
	"errors"
	"testing"

	"github.com/goweir/weir/limitfile"
)

// FuzzParse checks that right content has valid limits, and that wrong content has
// mistakes with a line and a column.
func FuzzParse(f *testing.F) {
	for _, content := range []string{
		whole, wholeJSON, in("[1/s, {rate: 1, per: 1s, burst: 2}]"), in("&l [*l]"), "a: *b", "? [a]\n: b", "---\n---\n",
		"plans:\n\tfree", "{\"plans\": {\"a\\ud83d\": [1e3]}}", "default: p\nplans: {p: [1.5 per 1.5h 3us]}\nkeys:\n", "!!map {a: !!str b}", "|\n a",
	} {
		f.Add(content)
	}
	f.Fuzz(func(t *testing.T, content string) {
		const name = "limits.yaml"
		set, err := limitfile.Parse(name, []byte(content))
		if err == nil {
			for _, plan := range append(limitfile.Plans(set), "", "?") {
				limits := set.For("no key", plan)
				if len(limits) == 0 {
					t.Fatalf("plan %q has no limit", plan)
				}
				for _, limit := range limits {
					if err := limit.Validate(); err != nil || limit.Name == "" {
						t.Fatalf("plan %q has the limit %+v: %v", plan, limit, err)
					}
				}
			}
			return
		}
		told := 0
		for _, one := range err.(interface{ Unwrap() []error }).Unwrap() {
			var e *limitfile.Error
			if !errors.As(one, &e) {
				continue // how many more there are
			}
			told++
			if e.File != name || e.Line < 1 || e.Column < 1 || e.Want == "" || e.Got == "" {
				t.Fatalf("%#v", e)
			}
		}
		if told == 0 {
			t.Fatalf("no mistake has a place: %v", err)
		}
	})
}
