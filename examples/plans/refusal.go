package main

import (
	"encoding/json"
	"net/http"

	"github.com/goweir/weir"
)

// These types are registered by draft-ietf-httpapi-ratelimit-headers.
const (
	quotaExceeded   = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	reducedCapacity = "https://iana.org/assignments/http-problem-types#temporary-reduced-capacity"
)

// refusal is a problem of RFC 9457. A program acts on the type and on Retry-After, which
// is set already; a person on the rest.
type refusal struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Violated []string `json:"violated-policies"`
	Plan     string   `json:"plan"`
	Upgrade  string   `json:"upgrade,omitempty"` // a request that gives more
}

// refuse answers a request over its plan.
func (a *accounts) refuse(w http.ResponseWriter, r *http.Request, d weir.Decision) {
	name, _ := userOf(r.Context())
	plan, _ := a.plans.plan(r.Context(), name) // known from the decision
	answer := refusal{
		Type:     quotaExceeded,
		Title:    "Your plan admits no more at the moment.",
		Status:   http.StatusTooManyRequests,
		Violated: []string{d.Limit.Policy()},
		Plan:     plan,
	}
	switch {
	case d.Degraded, d.Reason == weir.ReasonPaused: // no plan admits more now
		answer.Type, answer.Title = reducedCapacity, "There is less for everybody at the moment."
	case answer.Plan == "free":
		answer.Upgrade = "PUT /plan/pro"
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(answer.Status)
	_ = json.NewEncoder(w).Encode(answer) // the client may be gone
}
