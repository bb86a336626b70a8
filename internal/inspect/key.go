package inspect

import (
	"encoding/json"
	"time"

	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store"
)

// Key is the state of one key at an instant.
type Key struct {
	// Limiter and Key are empty if the two are too long: then Hash stands for them.
	Limiter, Key, Hash string
	// Stored is the name of the state in Redis, and Server the address of the server.
	Stored, Server string
	// At is the server's time.
	At time.Time
	// Err says why the state can't be read. It matches redisstore.ErrState if the state is
	// not weir's.
	Err error
	// Missing says that no state is stored: the key is as if never used.
	Missing bool
	// TTL is the time until Redis drops the state, and NoTTL says that it never does.
	TTL   time.Duration
	NoTTL bool
	// Reset says that the key was reset, and Restored that units were restored after Redis
	// had lost them.
	Reset, Restored bool
	// Behind is how far the server's clock is behind the state; 0 if it is not.
	Behind time.Duration
	// Limits are the limits of the last call, and known limits that it left out.
	Limits []Limit
	// Partial says that the first part of a long log was not read. No more units are free
	// than Limits say.
	Partial bool
	// Ahead says which slots are booked ahead: calls that wait, and reservations.
	Ahead Ahead
	Brake Brake
	// InFlight is the number of leases, and LeaseEnds the time until the first ends, unless
	// it is renewed.
	InFlight  int64
	LeaseEnds time.Duration
	// Next is the outcome of a call of cost 1 without a wait.
	Next Next
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
	store.Limit
	// Used is the number of units that no call can take now.
	Used int64
	// Remaining is the number of units that the next calls can take. A brake may lower it.
	Remaining int64
	// ResetAfter is the time until the limit is as if never used, unless units are taken.
	ResetAfter time.Duration
	// LeftFor is the time until the key forgets this limit, if its last call left it out;
	// 0: the call named it.
	LeftFor time.Duration
}

// Share returns the used part of the limit, 0 to 1.
func (l *Limit) Share() float64 { return float64(l.Used) / float64(l.Max()) }

// Ahead are the slots booked ahead.
type Ahead struct {
	// Calls is the number of bookings ahead. 0: none. -1: the state does not give the number.
	Calls int64
	// First is the time until the first slot, at least. Last is the time until the last one.
	First, Last time.Duration
}

// Brake slows a key beyond its limits. Zero: no brake.
type Brake struct {
	// Pause is the time until the pause ends.
	Pause time.Duration
	// Rate is the part of the key's rate in 64ths; 64 is the whole rate. For is the time until
	// the rate is whole again.
	Rate int64
	For  time.Duration
}

// Slow reports whether the rate is lower.
func (b *Brake) Slow() bool { return b.For > 0 }

// Next is the outcome of a call.
type Next struct {
	Allowed bool
	// RetryAfter is the time until the slot of a refused call.
	RetryAfter time.Duration
	// Reason is the reason of a refusal: limited, paused or waiting (behind slots ahead).
	Reason string
	// Limit is the index of the limit that refuses; -1: none does.
	Limit int
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

// MarshalJSON writes the key for programs. Durations are seconds, parts that are absent
// are left out.
func (k Key) MarshalJSON() ([]byte, error) {
	type limit struct {
		Limit      string  `json:"limit"`
		Algorithm  string  `json:"algorithm"`
		Rate       int64   `json:"rate"`
		Period     float64 `json:"period_s"`
		Max        int64   `json:"max"`
		Used       int64   `json:"used"`
		Remaining  int64   `json:"remaining"`
		ResetAfter float64 `json:"reset_after_s"`
		LeftFor    float64 `json:"left_out_for_s,omitempty"`
	}
	type ahead struct {
		Calls int64   `json:"calls"` // -1: unknown
		First float64 `json:"first_s"`
		Last  float64 `json:"last_s"`
	}
	type brake struct {
		Pause float64 `json:"pause_s,omitempty"`
		Rate  int64   `json:"rate_64ths"`
		For   float64 `json:"rate_for_s,omitempty"`
	}
	type next struct {
		Allowed    bool    `json:"allowed"`
		RetryAfter float64 `json:"retry_after_s,omitempty"`
		Reason     string  `json:"reason,omitempty"`
	}
	out := struct {
		Key       string    `json:"key"`
		Limiter   string    `json:"limiter"`
		Stored    string    `json:"stored"`
		Server    string    `json:"server"`
		At        time.Time `json:"at"`
		Error     string    `json:"error,omitempty"`
		Missing   bool      `json:"missing,omitempty"`
		Limits    []limit   `json:"limits"`
		Partial   bool      `json:"partial,omitempty"`
		Ahead     *ahead    `json:"ahead,omitempty"`
		Brake     *brake    `json:"brake,omitempty"`
		InFlight  int64     `json:"in_flight,omitempty"`
		LeaseEnds float64   `json:"lease_ends_s,omitempty"`
		Next      *next     `json:"next,omitempty"`
		TTL       float64   `json:"ttl_s,omitempty"`
		NoTTL     bool      `json:"no_ttl,omitempty"`
		Behind    float64   `json:"server_clock_behind_s,omitempty"`
		Reset     bool      `json:"reset,omitempty"`
		Restored  bool      `json:"restored,omitempty"`
	}{
		Key: k.Text(), Limiter: k.Limiter, Stored: k.Stored, Server: k.Server, At: k.At.UTC(), Missing: k.Missing, Limits: []limit{}, Partial: k.Partial,
		InFlight: k.InFlight, LeaseEnds: k.LeaseEnds.Seconds(), TTL: k.TTL.Seconds(), NoTTL: k.NoTTL, Behind: k.Behind.Seconds(),
		Reset: k.Reset, Restored: k.Restored,
	}
	for i := range k.Limits {
		l := &k.Limits[i]
		out.Limits = append(out.Limits, limit{
			Describe(&l.Limit), l.Algorithm.String(), l.Rate, l.Period.Seconds(), l.Max(), l.Used, l.Remaining, l.ResetAfter.Seconds(), l.LeftFor.Seconds(),
		})
	}
	if a := k.Ahead; a.Calls != 0 {
		out.Ahead = &ahead{a.Calls, a.First.Seconds(), a.Last.Seconds()}
	}
	if b := k.Brake; b.Pause > 0 || b.Slow() {
		out.Brake = &brake{b.Pause.Seconds(), b.Rate, b.For.Seconds()}
	}
	if k.Err != nil {
		out.Error = k.Err.Error()
	} else {
		out.Next = &next{k.Next.Allowed, k.Next.RetryAfter.Seconds(), k.Next.Reason}
	}
	return json.Marshal(out)
}
