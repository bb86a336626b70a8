package middleware

import (
	"net/http"
	"strconv"
	"time"

	"github.com/goweir/weir"
)

// The fields' names in the canonical form that http.Header stores.
const (
	headerPolicy     = "Ratelimit-Policy"
	headerState      = "Ratelimit"
	headerLimit      = "X-Ratelimit-Limit"
	headerRemaining  = "X-Ratelimit-Remaining"
	headerReset      = "X-Ratelimit-Reset"
	headerRetryAfter = "Retry-After"
)

// values holds the header values of one response, so that setting them does
// not allocate a slice each.
type values [3]string

// put adds the i-th value to a header's list.
func (v *values) put(h http.Header, name string, i int, value string) {
	if len(h[name]) > 0 {
		h[name] = append(h[name], value)
		return
	}
	v.set(h, name, i, value)
}

// set replaces a header. The slice has no room to spare, so that a handler's
// Add never writes into the next value.
func (v *values) set(h http.Header, name string, i int, value string) {
	v[i] = value
	h[name] = v[i : i+1 : i+1]
}

// setIETF sets RateLimit-Policy, and RateLimit when the decision knows the
// state of every limit: one that was made without the store may not.
func (v *values) setIETF(h http.Header, policies string, limits []weir.Limit, d *weir.Decision) {
	v.put(h, headerPolicy, 0, policies)
	if known(d, len(limits)) {
		var room [160]byte
		v.put(h, headerState, 1, string(appendStates(room[:0], limits, d)))
	}
}

// setX sets the X-RateLimit family, unless another limiter on the way has set
// it and has less remaining.
func (v *values) setX(h http.Header, d *weir.Decision) {
	if d.Limit.Rate == 0 {
		return // decided without the store, which alone knows the state
	}
	if d.Allowed && len(h[headerRemaining]) > 0 {
		r, err := strconv.ParseInt(h[headerRemaining][0], 10, 64)
		if err == nil && r <= d.Remaining {
			return
		}
	}
	var room [64]byte
	b := appendInteger(room[:0], d.Limit.Max())
	i := len(b)
	b = appendInteger(b, d.Remaining)
	j := len(b)
	// The three values share one string.
	s := string(appendInteger(b, seconds(d.ResetAfter)))
	v.set(h, headerLimit, 0, s[:i])
	v.set(h, headerRemaining, 1, s[i:j])
	v.set(h, headerReset, 2, s[j:])
}

// known reports whether the decision tells the state of n limits.
func known(d *weir.Decision, n int) bool {
	return d.Limit.Rate > 0 && (len(d.Charges) == n || d.Charges == nil && n == 1)
}

// setRetryAfter sets Retry-After, unless no waiting helps.
func setRetryAfter(h http.Header, d *weir.Decision) {
	if d.RetryAfter != weir.Never {
		h[headerRetryAfter] = []string{strconv.FormatInt(max(1, seconds(d.RetryAfter)), 10)}
	}
}

// seconds rounds up, so that after that many the time has come.
func seconds(d time.Duration) int64 {
	s := int64(d / time.Second)
	if d%time.Second > 0 {
		s++
	}
	return max(0, s)
}
