package answer

import (
	"net/http"
	"strconv"

	"github.com/goweir/weir"
)

// Problem is a body without parameters: RFC 9457 with the type about:blank, whose
// title is that of the status.
type Problem struct {
	Status int
	Detail string
}

// Write answers a request with the problem.
func (p *Problem) Write(w http.ResponseWriter, r *http.Request) {
	b := appendProblem(make([]byte, 0, 192), "about:blank", http.StatusText(p.Status), p.Status, p.Detail)
	write(w, r, p.Status, new(Values), append(b, "}\n"...))
}

// appendProblem appends the first members of a problem, and no detail if it is empty. The
// texts are printable ASCII.
func appendProblem(b []byte, uri, title string, status int, detail string) []byte {
	b = appendString(append(b, `{"type":`...), uri)
	b = appendString(append(b, `,"title":`...), title)
	b = strconv.AppendInt(append(b, `,"status":`...), int64(status), 10)
	if detail != "" {
		b = appendString(append(b, `,"detail":`...), detail)
	}
	return b
}

// write answers with a problem body.
func write(w http.ResponseWriter, r *http.Request, status int, v *Values, body []byte) {
	h := w.Header()
	v.Set(h, "Content-Type", "application/problem+json")
	v.Set(h, "Content-Length", strconv.Itoa(len(body)))
	v.Set(h, "Cache-Control", "no-store")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		// The client may be gone.
		_, _ = w.Write(body)
	}
}

// A problemType is one that draft-ietf-httpapi-ratelimit-headers registers. Each
// lists the policies that a request violated.
type problemType struct{ uri, title string }

const registry = "https://iana.org/assignments/http-problem-types#"

var (
	quotaExceeded   = problemType{registry + "quota-exceeded", "Request cannot be satisfied as assigned quota has been exceeded"}
	reducedCapacity = problemType{registry + "temporary-reduced-capacity", "Request cannot be satisfied due to temporary server capacity constraints"}
	abnormalUsage   = problemType{registry + "abnormal-usage-detected", "Request not satisfied due to detection of abnormal request pattern"}
)

// problemType returns the type of a refusal. A limit that was decided without its
// store is a share of the promised one. A pause does not depend on the client's
// usage, unless it is a penalty for refusals.
func (d *Decision) problemType(penalised bool) *problemType {
	switch {
	case d.Reason == weir.ReasonPaused && penalised:
		return &abnormalUsage
	case d.Reason == weir.ReasonPaused, d.Degraded && d.Reason == weir.ReasonLimited:
		return &reducedCapacity
	}
	return &quotaExceeded
}

// RetryAfterSeconds returns the value of Retry-After, at least 1 s, or "" when the refusal
// never ends.
func (d *Decision) RetryAfterSeconds() string {
	if d.Reason == weir.ReasonNeverFits {
		return ""
	}
	return strconv.FormatInt(max(1, seconds(d.RetryAfter)), 10)
}

// WriteLimited answers with 429 and a problem body. penalised says that a pause of
// the limiter is a penalty.
func (d *Decision) WriteLimited(w http.ResponseWriter, r *http.Request, v *Values, penalised bool) {
	t, detail := d.problemType(penalised), ""
	switch {
	case d.Reason == weir.ReasonNeverFits:
		detail = "The request costs more than a limit admits at once. Repeating it does not help."
	case d.Reason == weir.ReasonPaused:
		detail = "Requests are paused."
	}
	b := appendProblem(make([]byte, 0, 320), t.uri, t.title, http.StatusTooManyRequests, detail)
	b = append(b, `,"violated-policies":[`...)
	n := 0
	for policy := range d.Violated() {
		if n++; n > 1 {
			b = append(b, ',')
		}
		b = appendString(b, policy)
	}
	write(w, r, http.StatusTooManyRequests, v, append(b, "]}\n"...))
}
