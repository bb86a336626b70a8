package middleware

import (
	"net/http"

	"github.com/goweir/weir/internal/answer"
)

// The refusals that no limit causes. See withoutKey for requests without a key.
var (
	blocked     = answer.Problem{Status: http.StatusForbidden, Detail: "The request is from somebody who is blocked."}
	broken      = answer.Problem{Status: http.StatusInternalServerError, Detail: "The request could not be checked against its limits."}
	unavailable = answer.Problem{Status: http.StatusServiceUnavailable, Detail: "The request cannot be checked against its limits right now."}
	// ended answers a client whose request the server gave too little time, if the
	// client is still there. It is no limit, so never 429, and HTTP has no 499.
	ended = answer.Problem{Status: http.StatusServiceUnavailable, Detail: "The request ended before it was checked against its limits."}
)

// refuse answers with p. In shadow the request passes instead.
func (cfg *Config) refuse(w http.ResponseWriter, r *http.Request, p *answer.Problem) (passes bool) {
	if !cfg.Shadow {
		p.Write(w, r)
	}
	return cfg.Shadow
}

// challenge refuses a request without a key. A 401 gets the WWW-Authenticate header.
func (cfg *Config) challenge(w http.ResponseWriter, r *http.Request, p *answer.Problem) (passes bool) {
	if p.Status == http.StatusUnauthorized && cfg.Challenge != "" && !cfg.Shadow {
		w.Header().Add("Www-Authenticate", cfg.Challenge)
	}
	return cfg.refuse(w, r, p)
}

// fail refuses a request that met an error, without the error's text.
func (cfg *Config) fail(w http.ResponseWriter, r *http.Request, p *answer.Problem, err error) (passes bool) {
	if r.Context().Err() != nil {
		return cfg.refuse(w, r, &ended)
	}
	cfg.OnError(r, err)
	return cfg.refuse(w, r, p)
}
