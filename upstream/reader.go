package upstream

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
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
	// Bodies lets Read read the beginning of the body of a 400, 403, 418, 420, 429, 503 or a 5xx of no standard, for upstreams that say
	// only there that a limit refused, which, or how long to wait. It believes texts that an error repeats from a request. False: none is read.
	Bodies bool
	// Amend may change the signal of a response, for an upstream that says in its own
	// way which limit refused. It is called last, for responses that say something and
	// for all of status 400 or above, from many goroutines at once. A weir.Transport
	// takes Cause.Limit for the Name of the limiter to slow down. Amend must not change
	// the response nor read its body. Nil: no change.
	Amend func(resp *http.Response, s *Signal)
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
	if resp.StatusCode == http.StatusTooManyRequests || r.peeks(resp) || speaks(resp.Header) {
		return true
	}
	if resp.StatusCode >= http.StatusBadRequest && (noRetry(resp.StatusCode, resp.Header) != "" || slices.ContainsFunc(errorNames[:], func(name string) bool { return resp.Header[name] != nil }) || r != nil && r.Amend != nil) {
		return true
	}
	_, common := r.dialect(resp).(Common)
	return !common
}

func (r *Reader) peeks(resp *http.Response) bool {
	return r != nil && r.Bodies && (resp.StatusCode == http.StatusBadRequest || resp.StatusCode == http.StatusTooManyRequests || ambiguous(resp.StatusCode))
}

// Read returns the state of the upstream's limits by resp. Times count from the
// response's Date, or from now if the Date is missing or impossible. A zero now is
// the present. Read looks at the status and the headers, and changes nothing. With Bodies
// it also reads the beginning of some bodies, at most 4 KiB and for at most 20 ms. Such a
// body stays whole: resp.Body is replaced by one that returns all of it. Compressed bodies
// are left alone.
//
// Malformed and impossible values are ignored; no time is negative or over a year.
// A response from a cache (Age above 0, or X-From-Cache) tells of the past: its
// Signal is empty, and no refusal.
func (r *Reader) Read(resp *http.Response, now time.Time) Signal {
	s, _ := r.ReadAll(resp, now)
	return s
}

// ReadAll is Read. It also returns all budgets that the signal's Budget was chosen
// from, the smallest share left first, and informational ones last: at most 32.
func (r *Reader) ReadAll(resp *http.Response, now time.Time) (Signal, []Budget) {
	s := Signal{Budget: unsaid("")}
	if !r.Speaks(resp) || cached(resp.Header) {
		return s, nil
	}
	date := dateOf(resp.Header, now)
	if r.peeks(resp) {
		peek(resp, date)
	}
	budgets := slices.Clone(r.dialect(resp).Budgets(resp.Header, date))
	for i := range budgets {
		budgets[i] = budgets[i].sane()
	}
	slices.SortFunc(budgets, compare)
	rates := r.rates(budgets)
	if len(rates) > 0 {
		s.Budget = rates[0]
	}
	r.judge(&s, resp, date, budgets)
	if r != nil && r.Amend != nil {
		amended := s // Only a copy escapes to Amend.
		r.Amend(resp, &amended)
		s, s.Budget = amended, amended.sane()
	}
	s.Pause = min(max(s.Pause, 0), r.maxPause())
	return s, rates
}

// judge completes a signal: is the response a refusal, by which limit, for how long?
func (r *Reader) judge(s *Signal, resp *http.Response, date time.Time, budgets []Budget) {
	status, after := resp.StatusCode, retryAfter(resp.Header, date)
	s.NoRetry = noRetry(status, resp.Header)
	exhausted := slices.ContainsFunc(budgets, Budget.exhausted)
	said := peeked(resp, date)
	s.Refused = status == http.StatusTooManyRequests || ambiguous(status) && (after > 0 || exhausted) || said.limited && status >= http.StatusBadRequest
	if !s.Refused {
		// The maximum of calls under way is no reason to pause.
		budgets = slices.DeleteFunc(budgets, func(b Budget) bool { return !b.isRate() })
		if slices.ContainsFunc(budgets, Budget.exhausted) {
			s.Pause = pause(false, status, after, budgets)
		}
		return
	}
	after, s.NoRetry = cmp.Or(after, said.after), cmp.Or(s.NoRetry, said.noRetry)
	cause, resource := causeOf(resp.Header)
	for i := range budgets {
		// The reset that counts is that of the budget that refused.
		if b := &budgets[i]; b.Remaining < 0 && b.Reset > 0 && cause.Limit != "" && strings.EqualFold(b.Name, cause.Limit) {
			b.Remaining = 0
		}
	}
	s.Cause = blame(said.complete(cause), resource, s.Remaining, budgets, after > 0)
	s.Pause = cmp.Or(pause(true, status, after, budgets), said.least)
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

// rates returns the budgets of rates, without skipped ones.
func (r *Reader) rates(budgets []Budget) []Budget {
	rates := slices.DeleteFunc(slices.Clone(budgets), func(b Budget) bool {
		return !b.isRate() || r != nil && r.Skip != nil && (r.Skip(b.Name) || b.Unit != "" && r.Skip(b.Unit))
	})
	return rates[:min(len(rates), maxBudgets)]
}

func (r *Reader) maxPause() time.Duration {
	if r == nil || r.MaxPause <= 0 {
		return MaxPause
	}
	return r.MaxPause
}

// dialect returns the dialect for the host that answered, or Common.
func (r *Reader) dialect(resp *http.Response) Dialect {
	if r == nil || len(r.Dialects) == 0 || resp.Request == nil || resp.Request.URL == nil {
		return Common{}
	}
	u := resp.Request.URL
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if d := cmp.Or(r.Dialects[strings.ToLower(u.Host)], r.Dialects[host]); d != nil {
		return d
	}
	var found Dialect = Common{}
	longest := 0
	for pattern, d := range r.Dialects {
		end := strings.TrimPrefix(pattern, "*")
		if d != nil && strings.HasPrefix(pattern, "*.") && strings.HasSuffix(host, end) && len(end) > longest {
			found, longest = d, len(end)
		}
	}
	return found
}
