package answer

import (
	"cmp"
	"net/http"
	"slices"
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
		policies = PoliciesDraft6(d.Levels)
	}
	v.add(h, headerPolicy, policies)
	draft6Triple.set(h, v, d.single(), time.Time{})
}

// PoliciesDraft6 returns the value of SetDraft6's RateLimit-Policy. The draft demands w, and
// one policy for each number of units: the longest window holds for the others.
func PoliciesDraft6(levels []Level) string {
	var few [8]weir.Limit
	limits, b := few[:0], make([]byte, 0, 160)
	for i := range levels {
		limits = append(limits, levels[i].Limits...)
	}
	slices.SortFunc(limits, func(l, m weir.Limit) int {
		return cmp.Or(cmp.Compare(l.Max(), m.Max()), cmp.Compare(window(&m), window(&l)))
	})
	for _, l := range slices.CompactFunc(limits, func(l, m weir.Limit) bool { return l.Max() == m.Max() }) {
		b = appendParam(appendInteger(appendComma(b), l.Max()), ";w=", seconds(window(&l)))
	}
	return string(b)
}

// set sets three headers of a decision's limit, unless another limiter on the way has set
// them and has less remaining, or as much until later. The reset is in seconds since 1970 if
// there is a now.
func (names *triple) set(h http.Header, v *Values, d weir.Decision, now time.Time) {
	if d.Limit.Rate == 0 {
		return // Decided without the store, which alone knows the state.
	}
	after := untilMore(&d)
	reset := seconds(after)
	if !now.IsZero() {
		reset = now.Add(after).Add(time.Second - 1).Unix()
	}
	if len(h[names.remaining]) > 0 && d.Allowed {
		r, err := strconv.ParseInt(h.Get(names.remaining), 10, 64)
		until, _ := strconv.ParseInt(h.Get(names.reset), 10, 64)
		if err == nil && (r < d.Remaining || r == d.Remaining && until >= reset) {
			return
		}
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
