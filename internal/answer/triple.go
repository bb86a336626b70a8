package answer

import (
	"net/http"
	"strconv"
	"time"

	"github.com/goweir/weir"
)

// triple names three headers that tell of one limit.
type triple struct{ limit, remaining, reset string }

var (
	xTriple      = triple{"X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"}
	draft6Triple = triple{"Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset"}
)

// SetX sets the X-RateLimit headers of one limit, with the seconds until the reset, or since
// 1970 if there is a now. The limit is the binding one of a refusal, otherwise the one with
// the fewest units left.
func (d *Decision) SetX(h http.Header, v *Values, now time.Time) { xTriple.set(h, v, d.single(), now) }

// SetDraft6 sets the headers of draft-ietf-httpapi-ratelimit-headers-06: three of
// the limit of SetX, and RateLimit-Policy with all limits. policies is the latter
// if it is known.
func (d *Decision) SetDraft6(h http.Header, v *Values, policies string) {
	if policies == "" {
		b := make([]byte, 0, 160)
		for i := range d.Levels {
			b = appendDraft6(b, d.Levels[i].Limits)
		}
		policies = string(b)
	}
	v.add(h, headerPolicy, policies)
	draft6Triple.set(h, v, d.single(), time.Time{})
}

// PoliciesDraft6 returns the value of SetDraft6's RateLimit-Policy.
func PoliciesDraft6(limits []weir.Limit) string { return string(appendDraft6(nil, limits)) }

func appendDraft6(b []byte, limits []weir.Limit) []byte {
	for _, l := range limits {
		if len(b) > 0 {
			b = append(b, ", "...)
		}
		b = appendInteger(b, l.Max())
		b = appendWindow(b, l)
	}
	return b
}

// set sets three headers of a decision's limit, unless another limiter on the way has set
// them and has no more remaining. The reset is in seconds since 1970 if there is a now.
func (names *triple) set(h http.Header, v *Values, d weir.Decision, now time.Time) {
	if d.Limit.Rate == 0 {
		return // Decided without the store, which alone knows the state.
	}
	if before := h[names.remaining]; d.Allowed && len(before) > 0 {
		if r, err := strconv.ParseInt(before[0], 10, 64); err == nil && r <= d.Remaining {
			return
		}
	}
	reset := seconds(d.ResetAfter)
	if !now.IsZero() {
		reset = now.Add(d.ResetAfter).Add(time.Second - 1).Unix()
	}
	b := appendInteger(make([]byte, 0, 64), d.Limit.Max())
	i := len(b)
	b = appendInteger(b, d.Remaining)
	j := len(b)
	s := string(appendInteger(b, reset)) // of all three values
	v.Set(h, names.limit, s[:i])
	v.Set(h, names.remaining, s[i:j])
	v.Set(h, names.reset, s[j:])
}
