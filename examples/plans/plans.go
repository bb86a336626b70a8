package main

import (
	"net/http"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// plans are the plans for sale.
var plans = map[string][]weir.Limit{
	"free": {weir.PerMinute(6).WithBurst(3).WithName("free"), weir.PerDay(1_000).WithName("free-day")},
	"pro":  {weir.PerSecond(10).WithName("pro"), weir.PerDay(100_000).WithName("pro-day")},
}

// limitsOf gives every customer limits, whatever the database says.
func limitsOf(plan string) []weir.Limit {
	if limits, ok := plans[plan]; ok {
		return limits
	}
	return plans["free"]
}

// newPlanLimit returns the limit of the API. It counts by user, not by API key: a second
// key is no second allowance.
func newPlanLimit(store weir.Store, a *accounts, style middleware.HeaderStyle) (func(http.Handler) http.Handler, error) {
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: plans["free"]})
	if err != nil {
		return nil, err
	}
	return middleware.New(middleware.Config{
		Limiter: limiter,
		Key:     weir.KeyContext(userOf),
		// Called for every request: a new plan holds from the next request on.
		Limits: func(r *http.Request) ([]weir.Limit, error) {
			name, _ := userOf(r.Context())
			plan, err := a.plans.plan(r.Context(), name)
			return limitsOf(plan), err
		},
		Headers:   style,
		OnLimited: a.refuse,
	})
}

// newChangeLimit returns the limit on changes of plan.
func newChangeLimit(store weir.Store) (func(http.Handler) http.Handler, error) {
	limiter, err := weir.New(weir.Config{Name: "changes", Store: store, Limits: []weir.Limit{weir.PerHour(10)}})
	if err != nil {
		return nil, err
	}
	return middleware.New(middleware.Config{Limiter: limiter, Key: weir.KeyContext(userOf), Headers: middleware.HeadersNone})
}
