package inspect

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store"
)

// Key is the state of one key at an instant.
type Key struct {
	// Limiter and Key are empty if the two are too long: then Hash stands for them.
	Limiter string `json:"limiter"`
	Key     string `json:"-"`
	Hash    string `json:"-"`
	// Stored is the name of the state in Redis, and Server the address of the server.
	Stored string `json:"stored"`
	Server string `json:"server"`
	// At is the server's time.
	At time.Time `json:"at"`
	// Err says why the state can't be read. It matches redisstore.ErrState if the state is
	// not weir's.
	Err error `json:"-"`
	// Missing says that no state is stored: the key is as if never used.
	Missing bool `json:"missing,omitempty"`
	// Limits are the limits of the last call, and known limits that it left out.
	Limits []Limit `json:"limits"`
	// Partial says that the first part of a long log was not read. No more units are free
	// than Limits say.
	Partial bool `json:"partial,omitempty"`
	// Ahead says which slots are booked ahead: calls that wait, and reservations.
	Ahead Ahead `json:"ahead,omitzero"`
	Brake Brake `json:"brake,omitzero"`
	// InFlight is the number of leases, and LeaseEnds the time until the first ends, unless
	// it is renewed.
	InFlight  int64 `json:"in_flight,omitempty"`
	LeaseEnds Span  `json:"lease_ends_s,omitzero"`
	// Next is the outcome of a call of cost 1 without a wait.
	Next Next `json:"next,omitzero"`
	// TTL is the time until Redis drops the state, and NoTTL says that it never does.
	TTL   Span `json:"ttl_s,omitzero"`
	NoTTL bool `json:"no_ttl,omitempty"`
	// Behind is how far the server's clock is behind the state; 0 if it is not.
	Behind Span `json:"server_clock_behind_s,omitzero"`
	// Reset says that the key was reset, and Restored that units were restored after Redis
	// had lost them.
	Reset    bool `json:"reset,omitempty"`
	Restored bool `json:"restored,omitempty"`
}

// Text returns limiter and key as they stand in Redis, as api:user:1, or # and the hash.
// It is printable ASCII.
func (k *Key) Text() string {
	if k.Hash != "" {
		return "#" + k.Hash
	}
	return rediskey.Text(k.Limiter, k.Key)
}

// Limit is a limit of a key, and its use.
type Limit struct {
	store.Limit `json:"-"`
	// Used is the number of units that no call can take now.
	Used int64 `json:"used"`
	// Remaining is the number of units that the next calls can take. A brake may lower it.
	Remaining int64 `json:"remaining"`
	// ResetAfter is the time until the limit is as if never used, unless units are taken.
	ResetAfter Span `json:"reset_after_s"`
	// LeftFor is the time until the key forgets this limit, if its last call left it out;
	// 0: the call named it.
	LeftFor Span `json:"left_out_for_s,omitzero"`
}

// Share returns the used part of the limit, 0 to 1. Of no limit it is 0.
func (l *Limit) Share() float64 {
	if l == nil {
		return 0
	}
	return float64(l.Used) / float64(l.Max())
}

// Ahead are the slots booked ahead.
type Ahead struct {
	// Calls is the number of bookings ahead. 0: none. -1: the state does not give the number.
	Calls int64 `json:"calls"`
	// First is the time until the first slot, at least. Last is the time until the last one.
	First Span `json:"first_s"`
	Last  Span `json:"last_s"`
}

// Brake slows a key beyond its limits.
type Brake struct {
	// Pause is the time until the pause ends.
	Pause Span `json:"pause_s,omitzero"`
	// Rate is the part of the key's rate in 64ths; 64 is the whole rate. For is the time until
	// the rate is whole again.
	Rate int64 `json:"rate_64ths"`
	For  Span  `json:"rate_for_s,omitzero"`
}

// Slow reports whether the rate is lower.
func (b Brake) Slow() bool { return b.For > 0 }

// IsZero reports whether there is no brake.
func (b Brake) IsZero() bool { return b.Pause == 0 && !b.Slow() }

// Next is the outcome of a call.
type Next struct {
	Allowed bool `json:"allowed"`
	// RetryAfter is the time until the slot of a refused call.
	RetryAfter Span `json:"retry_after_s,omitzero"`
	// Reason is the reason of a refusal: limited, paused or waiting (behind slots ahead).
	Reason string `json:"reason,omitempty"`
	// Limit is the index of the limit that refuses; -1: none does.
	Limit int `json:"-"`
}

// Busiest returns the limit with the largest used share; nil without limits.
func (k *Key) Busiest() *Limit {
	var most *Limit
	for i := range k.Limits {
		if l := &k.Limits[i]; most == nil || l.Share() > most.Share() {
			most = l
		}
	}
	return most
}

// MarshalJSON writes the key for programs: with its text, and without Next if there is an
// Err. Parts that are absent are left out.
func (k Key) MarshalJSON() ([]byte, error) {
	type fields Key
	out := struct {
		Text  string `json:"key"`
		Error string `json:"error,omitempty"`
		fields
	}{Text: k.Text(), fields: fields(k)}
	out.Limits = append([]Limit{}, k.Limits...)
	if k.Err != nil {
		out.Error, out.Next = k.Err.Error(), Next{}
	}
	return json.Marshal(out)
}

// MarshalJSON writes the limit for programs.
func (l Limit) MarshalJSON() ([]byte, error) {
	type fields Limit
	return json.Marshal(struct {
		Text      string `json:"limit"`
		Algorithm string `json:"algorithm"`
		Rate      int64  `json:"rate"`
		Period    Span   `json:"period_s"`
		Max       int64  `json:"max"`
		fields
	}{Describe(&l.Limit), l.Algorithm.String(), l.Rate, Span(l.Period), l.Max(), fields(l)})
}

// Span is a duration, in seconds for programs.
type Span time.Duration

// MarshalJSON writes seconds.
func (s Span) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).Seconds()) }

// String writes about three digits, for people.
func (s Span) String() string {
	const day = 24 * time.Hour
	d := time.Duration(s)
	hours := d.Round(time.Hour)
	text := fmt.Sprintf("%dd%dh", hours/day, hours%day/time.Hour)
	for _, step := range []struct{ below, unit time.Duration }{
		{time.Millisecond, time.Microsecond}, {10 * time.Millisecond, 10 * time.Microsecond}, {time.Second, time.Millisecond},
		{time.Minute, 10 * time.Millisecond}, {time.Hour, time.Second}, {2 * day, time.Minute},
	} {
		if r := d.Round(step.unit); r < step.below {
			text = r.String()
			break
		}
	}
	for _, zero := range []string{"m0s", "h0m", "d0h"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
