package middleware

import (
	"net/http"
	"strconv"

	"github.com/goweir/weir"
)

// problem is an answer without parameters: RFC 9457 with the type about:blank,
// whose title is that of the status.
type problem struct {
	status int
	detail string
}

var (
	blocked     = problem{http.StatusForbidden, "The request is from somebody who is blocked."}
	broken      = problem{http.StatusInternalServerError, "The request could not be checked against its limits."}
	unavailable = problem{http.StatusServiceUnavailable, "The request cannot be checked against its limits right now."}
	// ended is for nobody when the client has gone, and for a client whose
	// request the server gave too little time. It is not a limit, so never 429,
	// and 499 is no status of HTTP's.
	ended = problem{http.StatusServiceUnavailable, "The request ended before it was checked against its limits."}
)

func (p *problem) write(w http.ResponseWriter, r *http.Request) {
	b := make([]byte, 0, 192)
	b = append(b, `{"type":"about:blank"`...)
	b = appendMember(b, "title", http.StatusText(p.status))
	b = appendStatus(b, p.status)
	b = appendMember(b, "detail", p.detail)
	writeProblem(w, r, p.status, make([]string, 3), append(b, "}\n"...))
}

// A problemType is one that draft-ietf-httpapi-ratelimit-headers registers, all
// of which list the policies that a request violated.
type problemType struct{ uri, title string }

var (
	quotaExceeded = problemType{
		"https://iana.org/assignments/http-problem-types#quota-exceeded",
		"Request cannot be satisfied as assigned quota has been exceeded",
	}
	reducedCapacity = problemType{
		"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",
		"Request cannot be satisfied due to temporary server capacity constraints",
	}
	abnormalUsage = problemType{
		"https://iana.org/assignments/http-problem-types#abnormal-usage-detected",
		"Request not satisfied due to detection of abnormal request pattern",
	}
)

// problemType says what a refusal is. While the store is away limits are shares
// of what the client was promised, and a pause is no matter of what it used, but
// of how often it was refused if there is a penalty for that.
func (g *Guard) problemType(d *weir.Decision) *problemType {
	own := len(g.cfg.Levels) == 0 || d.Scope == g.cfg.Limiter.Name()
	if d.Reason == weir.Paused && g.cfg.Penalty.Limiter != nil && own {
		return &abnormalUsage
	}
	if d.Reason == weir.Paused || d.Degraded && d.Reason == weir.Limited {
		return &reducedCapacity
	}
	return &quotaExceeded
}

// limit answers a request that a limit refused.
func (g *Guard) limit(w http.ResponseWriter, r *http.Request, m *mark, limits []weir.Limit, d *weir.Decision) {
	g.tellWriter(w, m, limits, d)
	v := new([4]string)
	h := w.Header()
	if after := retryAfter(d); after != "" {
		setAt(h, headerRetryAfter, v[:], 3, after)
	}
	if g.cfg.OnLimited != nil {
		setAt(h, headerCacheControl, v[:], 2, "no-store")
		g.cfg.OnLimited(w, r, *d)
		return
	}
	writeProblem(w, r, http.StatusTooManyRequests, v[:], g.appendLimited(make([]byte, 0, 320), limits, d))
}

// appendLimited appends the problem body of a refusal.
func (g *Guard) appendLimited(b []byte, limits []weir.Limit, d *weir.Decision) []byte {
	t := g.problemType(d)
	b = append(b, `{"type":"`...)
	b = append(b, t.uri...)
	b = append(b, '"')
	b = appendMember(b, "title", t.title)
	b = appendStatus(b, http.StatusTooManyRequests)
	switch {
	case d.RetryAfter == weir.Never:
		b = appendMember(b, "detail", "The request costs more than a limit admits at once. Repeating it does not help.")
	case d.Reason == weir.Paused:
		b = appendMember(b, "detail", "Requests are paused.")
	}
	b = append(b, `,"violated-policies":[`...)
	if d.Reason != weir.Paused { // which violates none
		b = appendViolated(b, limits, d)
	}
	return append(b, "]}\n"...)
}

// appendViolated appends the names of the limits that refuse. A decision that
// was made without the store may know the binding one only.
func appendViolated(b []byte, limits []weir.Limit, d *weir.Decision) []byte {
	if !known(d, len(limits)) {
		return appendString(b, d.Limit.Policy())
	}
	n := 0
	for i := range limits {
		if !violates(d, i) {
			continue
		}
		if n++; n > 1 {
			b = append(b, ',')
		}
		b = appendString(b, limits[i].Policy())
	}
	return b
}

// violates reports whether the i-th limit refuses.
func violates(d *weir.Decision, i int) bool { return d.Charge(i).RetryAfter > 0 }

// appendMember appends a member whose value is printable ASCII.
func appendMember(b []byte, name, value string) []byte {
	b = append(b, ',')
	b = appendString(b, name)
	b = append(b, ':')
	return appendString(b, value)
}

func appendStatus(b []byte, status int) []byte {
	b = append(b, `,"status":`...)
	return strconv.AppendInt(b, int64(status), 10)
}

// writeProblem answers with a problem body. It takes the first three of v for
// the values of headers.
func writeProblem(w http.ResponseWriter, r *http.Request, status int, v []string, body []byte) {
	h := w.Header()
	setAt(h, "Content-Type", v, 0, "application/problem+json")
	setAt(h, "Content-Length", v, 1, strconv.Itoa(len(body)))
	setAt(h, headerCacheControl, v, 2, "no-store")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		// The client may be gone; there is nobody to tell.
		_, _ = w.Write(body)
	}
}

// retryAfter returns the value of Retry-After, or "" when the refusal never ends.
func retryAfter(d *weir.Decision) string {
	if d.RetryAfter == weir.Never {
		return ""
	}
	return strconv.FormatInt(max(1, seconds(d.RetryAfter)), 10)
}
