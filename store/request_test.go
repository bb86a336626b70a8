package store_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/goweir/weir/store"
)

func TestRequestValidate(t *testing.T) {
	t.Parallel()
	charge := store.Charge{Key: "k", Limit: store.Per(1, time.Second), Cost: 1}
	for _, tt := range []struct {
		name  string
		req   store.Request
		field string
	}{
		{"valid", store.Request{Charges: []store.Charge{charge}}, ""},
		{"no charge", store.Request{}, "Request.Charges"},
		{"negative max wait", store.Request{Charges: []store.Charge{charge}, MaxWait: -1}, "Request.MaxWait"},
		{"negative cost", store.Request{Charges: []store.Charge{charge, {Limit: charge.Limit, Cost: -1}}}, "cost"},
		{"wrong limit", store.Request{Charges: []store.Charge{charge, {Cost: 1}}}, "Limit.Rate"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := tt.req.Validate()
			var ce *store.ConfigError
			if tt.field == "" && err != nil || tt.field != "" && (!errors.As(err, &ce) || ce.Field != tt.field) {
				t.Errorf("got %v, want a ConfigError of %q", err, tt.field)
			}
		})
	}
}

func TestRequestNeverFitsAndPeek(t *testing.T) {
	t.Parallel()
	of := func(costs ...int64) (r store.Request) {
		for _, c := range costs {
			r.Charges = append(r.Charges, store.Charge{Limit: store.Per(5, time.Second), Cost: c})
		}
		return r
	}
	for _, tt := range []struct {
		name  string
		req   store.Request
		never int
		peek  bool
	}{
		{"fits", of(5), -1, false},
		{"does not fit", of(6), 0, false},
		{"second does not fit", of(1, math.MaxInt64), 1, false},
		{"peek", of(0, 0), -1, true},
		{"one of two looks", of(0, 1), -1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.req.NeverFits(); got != tt.never {
				t.Errorf("NeverFits() = %d, want %d", got, tt.never)
			}
			if got := tt.req.Peek(); got != tt.peek {
				t.Errorf("Peek() = %v, want %v", got, tt.peek)
			}
		})
	}
}

func TestDecisionCharge(t *testing.T) {
	t.Parallel()
	one := store.Decision{Remaining: 3, ResetAfter: time.Second, RetryAfter: time.Minute}
	if got, want := one.Charge(0), (store.ChargeState{Remaining: 3, ResetAfter: time.Second, RetryAfter: time.Minute}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	two := store.Decision{Remaining: 3, Charges: []store.ChargeState{{Remaining: 3}, {Remaining: 4}}}
	if got := two.Charge(1); got.Remaining != 4 {
		t.Errorf("got %+v, want the second", got)
	}
}
