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
	unidentified = problem{http.StatusUnauthorized, "The request does not say who it is from."}
	ambiguous    = problem{http.StatusBadRequest, "The request says more than once who it is from."}
	broken       = problem{http.StatusInternalServerError, "The request could not be checked against its limits."}
	unavailable  = problem{http.StatusServiceUnavailable, "The request cannot be checked against its limits right now."}
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
	writeProblem(w, r, p.status, append(b, "}\n"...))
}

// The problem type that draft-ietf-httpapi-ratelimit-headers registers, and its
// title.
const (
	quotaExceededType  = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	quotaExceededTitle = "Request cannot be satisfied as assigned quota has been exceeded"
)

// limit answers a request that a limit refused.
func (g *Guard) limit(w http.ResponseWriter, r *http.Request, limits []weir.Limit, d *weir.Decision) {
	setRetryAfter(w.Header(), d)
	if g.cfg.OnLimited != nil {
		g.cfg.OnLimited(w, r, *d)
		return
	}
	writeProblem(w, r, http.StatusTooManyRequests, appendLimited(make([]byte, 0, 320), limits, d))
}

// appendLimited appends the problem body of a refusal.
func appendLimited(b []byte, limits []weir.Limit, d *weir.Decision) []byte {
	if d.Reason == weir.Paused {
		// No quota is exceeded: somebody has paused the key.
		b = append(b, `{"type":"about:blank"`...)
		b = appendMember(b, "title", http.StatusText(http.StatusTooManyRequests))
		b = appendStatus(b, http.StatusTooManyRequests)
		b = appendMember(b, "detail", "Requests are paused.")
		return append(b, "}\n"...)
	}
	b = append(b, `{"type":"`+quotaExceededType+`"`...)
	b = appendMember(b, "title", quotaExceededTitle)
	b = appendStatus(b, http.StatusTooManyRequests)
	if d.RetryAfter == weir.Never {
		b = appendMember(b, "detail", "The request costs more than a limit admits at once. Repeating it does not help.")
	}
	b = append(b, `,"violated-policies":[`...)
	b = appendViolated(b, limits, d)
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
		if d.Charge(i).RetryAfter <= 0 {
			continue
		}
		if n++; n > 1 {
			b = append(b, ',')
		}
		b = appendString(b, limits[i].Policy())
	}
	return b
}

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

func writeProblem(w http.ResponseWriter, r *http.Request, status int, body []byte) {
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		// The client may be gone; there is nobody to tell.
		_, _ = w.Write(body)
	}
}
