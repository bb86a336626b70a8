package upstream_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/goweir/weir/upstream"
)

// TestManyBudgetsAreFew: a response names at most 32 budgets, the smallest shares first,
// and no name is longer than a line.
func TestManyBudgetsAreFew(t *testing.T) {
	t.Parallel()
	list := func(n int) string {
		var items []string
		for i := range n {
			items = append(items, fmt.Sprintf("b%d;%d", i, i))
		}
		return strings.Join(items, ",")
	}
	for name, lines := range map[string]func(h http.Header){
		"of names": func(h http.Header) {
			for i := range 1000 {
				h.Set(fmt.Sprintf("X-RateLimit-Remaining-%04d", i), fmt.Sprint(i))
			}
		},
		"of lists": func(h http.Header) {
			for _, kind := range []string{"A", "B", "C"} {
				h.Set("X-RateLimit-Remaining-"+kind, list(100))
			}
		},
		"in a header with a long name": func(h http.Header) {
			h.Set("X-"+strings.Repeat("a", 1<<20)+"-Limit", "0/5")
			h.Set("X-RateLimit-Remaining", "0")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp := response(200)
			lines(resp.Header)
			s, all := new(upstream.Reader).ReadAll(resp, date)
			if n := len(all); n == 0 || n > 32 || all[0] != s.Budget || s.Remaining != 0 {
				t.Errorf("%d budgets, the first is %+v", n, s.Budget)
			}
			for i := range all {
				if len(all[i].Name) > 4096 {
					t.Errorf("a name of %d bytes", len(all[i].Name))
				}
			}
		})
	}
}

// TestRubbishIsBounded: the work for a response full of long lists is bounded. Allocations
// stand for the time, which a busy machine stretches.
func TestRubbishIsBounded(t *testing.T) {
	names := []string{"X-RateLimit-%d", "X-%d-RateLimit", "X-%d-Limit", "Retry-After-%d", "X-RateLimit-Reset-%d", "X-%d-RateLimit-Policy"}
	for _, item := range []string{"b%x=1;", "%x-rem:0;", `"%x";q=9,`, `"%x";r=0;t=1,`, `"%x";r=0;;t=1,`, "a%x=1/9,", "n%x;1,", "x%[1]c,", `"%[1]c,`, ";w=%d", "a-%d"} {
		for lines, length := range map[int]int{1: 1000, 8: 4000} {
			var line strings.Builder
			for i := 0; line.Len() < length; i++ {
				fmt.Fprintf(&line, item, i)
			}
			for _, name := range names {
				resp := response(429)
				for i := range lines * 100 {
					resp.Header.Add(fmt.Sprintf(name, i%100), line.String())
				}
				if allocs := testing.AllocsPerRun(1, func() { new(upstream.Reader).Read(resp, date) }); allocs > 150_000 {
					t.Errorf("%s with %q, %d bytes: %v allocations", name, item, length, allocs)
				}
			}
		}
	}
}
