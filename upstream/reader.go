package upstream

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// MaxPause is the longest pause if a [Reader] sets none.
const MaxPause = 15 * time.Minute

// Reader reads responses. The zero value is ready to use. A Reader is safe for
// concurrent use; its fields must not change meanwhile.
type Reader struct {
	// MaxPause is the longest pause that an upstream can ask for. 0: 15 minutes.
	MaxPause time.Duration
	// Dialects replaces [Common] for some hosts. Keys are lower case:
	// "api.example.com" or "api.example.com:8443" for one host, "*.example.com" for
	// all hosts below it. The longest matching key wins. Retry-After is read under
	// every dialect. Nil: Common for all hosts.
	Dialects map[string]Dialect
	// Skip reports names or units of budgets to leave out of Signal.Budget, such as
	// tokens if the caller counts requests. A skipped budget with nothing left still
	// pauses. Nil: no budget is left out.
	Skip func(name string) bool
}

// Check returns an error that names the wrong field, or nil.
func (r *Reader) Check() error {
	if r.MaxPause < 0 {
		return fmt.Errorf("upstream: Reader.MaxPause: want 0 or more, got %v", r.MaxPause)
	}
	for host, d := range r.Dialects {
		name := strings.TrimPrefix(host, "*.")
		if name == "" || name != strings.ToLower(name) || strings.ContainsAny(name, "*/ ") {
			return fmt.Errorf("upstream: Reader.Dialects: want a host in lower case such as api.example.com or *.example.com, got %q", host)
		}
		if d == nil {
			return errors.New("upstream: Reader.Dialects: want a dialect for " + host + ", got nil")
		}
	}
	return nil
}

// Speaks reports whether resp may have anything for Read. For most responses it
// says no, in a fraction of Read's time.
func (r *Reader) Speaks(resp *http.Response) bool {
	if resp == nil {
		return false
	}
	if resp.StatusCode == http.StatusTooManyRequests || speaks(resp.Header) {
		return true
	}
	_, common := r.dialect(resp).(Common)
	return !common
}

// Read returns the state of the upstream's limits by resp. Times count from the
// response's Date, or from now if the Date is missing or impossible. A zero now is
// the present. Read looks at the status and the headers only, and changes nothing.
//
// Malformed and impossible values are ignored; no time is negative or over a year.
// A response from a cache (Age above 0, or X-From-Cache) tells of the past: its
// Signal is empty, and no refusal.
func (r *Reader) Read(resp *http.Response, now time.Time) Signal {
	s := Signal{Budget: unsaid("")}
	if !r.Speaks(resp) || cached(resp.Header) {
		return s
	}
	s.Refused = resp.StatusCode == http.StatusTooManyRequests
	dialect := r.dialect(resp)
	date := dateOf(resp.Header, now)
	budgets := slices.Clone(dialect.Budgets(resp.Header, date))
	for i := range budgets {
		budgets[i] = budgets[i].sane()
	}
	s.Budget = r.tightest(budgets)
	if resp.StatusCode < http.StatusBadRequest {
		// The maximum of calls under way is no reason to pause.
		budgets = slices.DeleteFunc(budgets, func(b Budget) bool { return !b.isRate() })
	}
	after := retryAfter(resp.Header, date)
	exhausted := slices.ContainsFunc(budgets, Budget.exhausted)
	if ambiguous(resp.StatusCode) {
		s.Refused = after > 0 || exhausted
	}
	if s.Refused || exhausted {
		s.Pause = pause(s.Refused, resp.StatusCode, after, budgets)
	}
	s.Pause = min(s.Pause, r.maxPause())
	return s
}

// RetryAfter returns how long to wait before the same request is sent again, by
// the Retry-After of a response of any status. It is 0 without one, and at most
// Reader.MaxPause. Times count as in Read. The Retry-After of a 500 is about its
// own request, not about limits, so Read ignores it.
func (r *Reader) RetryAfter(resp *http.Response, now time.Time) time.Duration {
	if resp == nil || !speaks(resp.Header) || cached(resp.Header) {
		return 0
	}
	return min(retryAfter(resp.Header, dateOf(resp.Header, now)), r.maxPause())
}

// tightest returns the budget with the smallest share left, without skipped ones.
func (r *Reader) tightest(budgets []Budget) Budget {
	found, b := false, unsaid("")
	for i := range budgets {
		if !budgets[i].isRate() || r.skips(&budgets[i]) || found && compare(budgets[i], b) >= 0 {
			continue
		}
		found, b = true, budgets[i]
	}
	return b
}

func (r *Reader) skips(b *Budget) bool {
	return r.Skip != nil && (r.Skip(b.Name) || b.Unit != "" && r.Skip(b.Unit))
}

func (r *Reader) maxPause() time.Duration {
	if r == nil || r.MaxPause <= 0 {
		return MaxPause
	}
	return r.MaxPause
}

// dialect returns the dialect for the host that answered.
func (r *Reader) dialect(resp *http.Response) Dialect {
	if r == nil || len(r.Dialects) == 0 || resp.Request == nil || resp.Request.URL == nil {
		return Common{}
	}
	return r.named(resp.Request.URL)
}

// named returns the dialect for a URL's host, or Common.
func (r *Reader) named(u *url.URL) Dialect {
	if d := r.Dialects[strings.ToLower(u.Host)]; d != nil {
		return d
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if d := r.Dialects[host]; d != nil {
		return d
	}
	var buf [256]byte // longer than any host, to avoid an allocation
	for {
		i := strings.IndexByte(host, '.')
		if i < 0 {
			return Common{}
		}
		pattern := append(append(buf[:0], '*'), host[i:]...)
		if d := r.Dialects[string(pattern)]; d != nil {
			return d
		}
		host = host[i+1:]
	}
}
