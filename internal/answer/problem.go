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
	b := make([]byte, 0, 192)
	b = append(b, `{"type":"about:blank"`...)
	b = appendMember(b, "title", http.StatusText(p.Status))
	b = appendStatus(b, p.Status)
	b = appendMember(b, "detail", p.Detail)
	write(w, r, p.Status, new(Values), append(b, "}\n"...))
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
