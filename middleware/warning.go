package middleware

import (
	"net/http"
	"strconv"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/answer"
)

// warn calls OnWarning if d is near a limit, or over a limit that refuses nothing.
func (cfg *Config) warn(w http.ResponseWriter, r *http.Request, d *answer.Decision) {
	if cfg.OnWarning == nil {
		return
	}
	if about, ok := d.Warning(); ok {
		cfg.OnWarning(w, r, about)
	}
}

// WarnByHeader is a Config.OnWarning that adds the header X-RateLimit-Warning. Its
// value is "near" or "over" with the limit's policy as a parameter:
//
//	X-RateLimit-Warning: near;policy="100-in-1m"
//
// A request with several warnings gets several such lines.
func WarnByHeader(w http.ResponseWriter, _ *http.Request, d weir.Decision) {
	state := "over"
	if d.Allowed {
		state = "near"
	}
	w.Header().Add("X-RateLimit-Warning", state+";policy="+strconv.Quote(d.Limit.Policy()))
}
