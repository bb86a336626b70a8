package answer

import (
	"net/http"
	"strconv"
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
