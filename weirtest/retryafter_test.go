package weirtest_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/weirtest"
)

// rateHeaders returns a response's headers about limits, by canonical names.
func rateHeaders(h http.Header) map[string]string {
	said := make(map[string]string)
	for name, values := range h {
		if lower := strings.ToLower(name); strings.Contains(lower, "limit") || strings.HasPrefix(lower, "retry-after") {
			said[name] = strings.Join(values, " | ")
		}
	}
	return said
}

func TestRetryAfterForms(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		form weirtest.RetryAfterForm
		d    time.Duration
		want map[string]string
	}{
		{"seconds, rounded up", weirtest.RetryAfterSeconds, 1001 * time.Millisecond, map[string]string{"Retry-After": "2"}},
		{"seconds, at least 1", weirtest.RetryAfterSeconds, 1, map[string]string{"Retry-After": "1"}},
		{"seconds that are whole", weirtest.RetryAfterSeconds, 3 * time.Second, map[string]string{"Retry-After": "3"}},
		{"none", weirtest.RetryAfterNone, time.Second, map[string]string{}},
		{"a fraction, rounded up", weirtest.RetryAfterFraction, 1479001 * time.Microsecond, map[string]string{"Retry-After": "1.480"}},
		{"a small fraction", weirtest.RetryAfterFraction, 1, map[string]string{"Retry-After": "0.001"}},
		{"milliseconds", weirtest.RetryAfterMillis, 1479001 * time.Microsecond, map[string]string{"Retry-After-Ms": "1480", "Retry-After": "2"}},
		{"a date, rounded up", weirtest.RetryAfterDate, 1500 * time.Millisecond, map[string]string{"Retry-After": "Sat, 01 Jan 2000 00:00:02 GMT"}},
		{"not known", weirtest.RetryAfterSeconds, 0, map[string]string{}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := provider(t, weirtest.ProviderConfig{RetryAfter: tc.form})
				p.Refuse(1, tc.d)
				res := get(t, p.Transport(), "")
				if got := rateHeaders(res.Header); res.StatusCode != 429 || !maps.Equal(got, tc.want) {
					t.Errorf("%d with %v, want 429 with %v", res.StatusCode, got, tc.want)
				}
			})
		})
	}
}

func TestNeverSaysNothing(t *testing.T) {
	t.Parallel()
	for form := weirtest.RetryAfterSeconds; form <= weirtest.RetryAfterDate; form++ {
		p := provider(t, weirtest.ProviderConfig{
			Limits:     []weir.Limit{weir.PerSecond(2), weir.PerHour(1)},
			Cost:       func(*http.Request, weir.Limit) int64 { return 2 },
			RetryAfter: form,
		})
		res := get(t, p.Transport(), "")
		if got := rateHeaders(res.Header); res.StatusCode != 429 || len(got) != 0 {
			t.Errorf("form %d: %d with %v, want 429 with nothing", form, res.StatusCode, got)
		}
	}
}
