package middleware

import (
	"net/http"

	"github.com/goweir/weir"
)

// LimitedWriter is a ResponseWriter that is told of the decision when a limit
// refuses: what adapters to other protocols than HTTP give to [Guard.Check], to
// answer with more than headers and a problem body say.
type LimitedWriter interface {
	http.ResponseWriter
	// Limited is called once, when the rate headers are set and nothing else of
	// the answer is. It writes nothing.
	Limited(d weir.Decision)
}

// tellWriter tells the writer of a refusal, if it wants to know.
func tellWriter(w http.ResponseWriter, d *weir.Decision) {
	if to, ok := w.(LimitedWriter); ok {
		to.Limited(*d)
	}
}
