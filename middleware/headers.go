package middleware

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/goweir/weir"
)

// The fields' names in the canonical form that http.Header stores.
const (
	headerPolicy       = "Ratelimit-Policy"
	headerState        = "Ratelimit"
	headerRetryAfter   = "Retry-After"
	headerCacheControl = "Cache-Control"
	headerExpose       = "Access-Control-Expose-Headers"
)

// values holds the header values of one response, so that setting them does
// not allocate a slice each.
type values [4]string

// put adds the i-th value to a header's list.
func (v *values) put(h http.Header, name string, i int, value string) {
	if len(h) > 0 && len(h[name]) > 0 {
		h[name] = append(h[name], value)
		return
	}
	v.set(h, name, i, value)
}

// set replaces a header. The slice has no room to spare, so that a handler's
// Add never writes into the next value.
func (v *values) set(h http.Header, name string, i int, value string) {
	setAt(h, name, v[:], i, value)
}

func setAt(h http.Header, name string, v []string, i int, value string) {
	v[i] = value
	h[name] = v[i : i+1 : i+1]
}

// setDraft11 sets RateLimit-Policy, and RateLimit when the decision knows the
// state of every limit: one that was made without the store may not.
func (v *values) setDraft11(h http.Header, policies string, limits []weir.Limit, d *weir.Decision, pk string) {
	v.put(h, headerPolicy, 0, policies)
	if known(d, len(limits)) {
		var room [160]byte
		v.put(h, headerState, 1, string(appendStates(room[:0], limits, d, 0, pk)))
	}
}

// triple names three headers that tell of one limit.
type triple struct{ limit, remaining, reset string }

var (
	xTriple      = triple{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"}
	draft6Triple = triple{"Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset"}
)

// setTriple sets three headers of the binding limit, unless another limiter on
// the way has set them and has less remaining.
func (v *values) setTriple(h http.Header, names *triple, d *weir.Decision, reset int64) {
	if d.Limit.Rate == 0 {
		return // decided without the store, which alone knows the state
	}
	if d.Allowed && len(h[names.remaining]) > 0 {
		r, err := strconv.ParseInt(h[names.remaining][0], 10, 64)
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
	s := string(appendInteger(b, reset))
	v.set(h, names.limit, 0, s[:i])
	v.set(h, names.remaining, 1, s[i:j])
	v.set(h, names.reset, 2, s[j:])
}

// known reports whether the decision tells the state of n limits.
func known(d *weir.Decision, n int) bool {
	return d.Limit.Rate > 0 && (len(d.Charges) == n || d.Charges == nil && n == 1)
}

// exposed are the names that ExposeHeaders lists, by style.
var exposed = [...]string{
	HeadersDraft11: "RateLimit, RateLimit-Policy, Retry-After",
	HeadersX:       "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After",
	HeadersXEpoch:  "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After",
	HeadersDraft6:  "RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, RateLimit-Policy, Retry-After",
	HeadersNone:    "Retry-After",
}

// expose lets a browser show scripts the headers of a style.
func expose(h http.Header, style HeaderStyle) {
	if !slices.Contains(h[headerExpose], exposed[style]) {
		h[headerExpose] = append(h[headerExpose], exposed[style])
	}
}

// setHeaders sets the rate headers of a decision.
func (g *Guard) setHeaders(h http.Header, m *mark, limits []weir.Limit, d *weir.Decision) {
	switch style := g.cfg.Headers; style {
	case HeadersDraft11:
		if m.levels != nil {
			g.setLevels(h, m, d)
			break
		}
		pk := g.partition(g.cfg.Limiter.Name(), m.key)
		policies := g.policies
		if g.cfg.Limits != nil || pk != "" {
			var room [160]byte
			policies = string(appendPolicies(room[:0], limits, pk))
		}
		m.values.setDraft11(h, policies, limits, d, pk)
	case HeadersX:
		m.values.setTriple(h, &xTriple, d, seconds(d.ResetAfter))
	case HeadersXEpoch:
		m.values.setTriple(h, &xTriple, d, epoch(time.Now().Add(d.ResetAfter)))
	case HeadersDraft6:
		policies := g.policies
		if g.cfg.Limits != nil || m.levels != nil {
			var room [160]byte
			policies = string(appendOldPolicies(room[:0], limits))
		}
		m.values.put(h, headerPolicy, 3, policies)
		m.values.setTriple(h, &draft6Triple, d, seconds(d.ResetAfter))
	}
	if g.cfg.ExposeHeaders {
		expose(h, g.cfg.Headers)
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

// epoch returns the seconds since 1970 of an instant, rounded up.
func epoch(t time.Time) int64 {
	s := t.Unix()
	if t.Nanosecond() > 0 {
		s++
	}
	return max(0, s)
}
