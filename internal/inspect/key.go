package inspect

import (
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
