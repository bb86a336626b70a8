package script

import (
	"fmt"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/internal/redisstate"
	"github.com/goweir/weir/store"
)

// The arguments of the scripts. ARGV[1] is the clock of all: "" for the server's, or a
// time in µs. A '+' after it makes keys live an hour longer, for tests.
//
//	allow   KEYS  state, log of each key where a limit is a sliding window
//	        ARGV  clock, then for keys under the same limits: their number, 1 with
//	              logs, limits, and for each key the number of its calls, with a
//	              space and a tag if they get receipts, and seen
//	take    KEYS  state, log of each key where a limit is a sliding window; leases
//	        ARGV  clock, longest delay in µs, tag, mode, then for each key: 1 with a
//	              log, limits, seen; "hold", max, id, lease, 1 without charges, 1 to keep the next place
//	        mode  All, Look or Find
//	seen          when the caller last saw the key; 0: never
//	limits        their number, and for each: text, cost, units that have to be free
//	              beyond it, maximum, period; of GCRA instead of the last two:
//	              denominator of the emission interval, capacity, time of the cost,
//	              where more has to be free time of that, in whole µs and a remainder
//	settle  KEYS  state, log of each key
//	        ARGV  clock, then for each key: tag, sequence, floor, slot, entry, value
//	              before, number of limits; for each: text, cost, real cost
//
// The other scripts list theirs.

// Key is the part of a request about one key, or calls of one key under the same limits.
type Key struct {
	State  string
	Limits *Limits
	Places []int // of the limits' charges in the request
	Seen   int64 // when a caller last saw the key, the earliest; 0: never
	Tag    int64 // of bookings with receipts; 0: without
	Calls  int32 // of allow
	Logged bool  // the log is among KEYS
}

// The modes of take.
const (
	All  = "take" // decide the request, all or nothing
	Look = "look" // report the state
	Find = "find" // report the state and the slots at which All would allow the request
)

// AllowArgs returns the arguments of allow for n keys, of which those under the same limits
// stand together.
func AllowArgs(n int, key func(i int) *Key, clock any) []any {
	args := make([]any, 3, 6+4*n+len(key(0).Limits.args))
	for i := range n {
		args = key(i).names(args)
	}
	args[2] = len(args) - 3
	args = append(args, clock)
	for i, number := 0, 0; i < n; i++ {
		k := key(i)
		if i == 0 || k.Limits != key(i-1).Limits {
			number = len(args)
			args = append(append(args, 0, flag(k.Logged)), k.Limits.args...)
		}
		args[number] = args[number].(int) + 1
		args = append(args, max(k.Calls, 1), k.Seen)
		if k.Tag > 0 {
			args[len(args)-2] = fmt.Sprint(k.Calls, k.Tag)
		}
	}
	return args
}

// TakeArgs returns the arguments of take for a request.
func TakeArgs(req *store.Request, keys []Key, clock any, tag int64, mode string) []any {
	args, hold := make([]any, 3, 13+4*len(keys)+len(keys[0].Limits.args)), req.Hold.Asked() && req.NeverFits() < 0
	for i := range keys {
		args = keys[i].names(args)
	}
	if hold {
		args = append(args, rediskey.Held(keys[0].State))
	}
	args[2] = len(args) - 3
	args = append(args, clock, exact.MaxWait(req), tag, mode)
	for i := range keys {
		k := &keys[i]
		args = append(append(append(args, flag(k.Logged)), k.Limits.args...), k.Seen)
	}
	if hold {
		args = append(args, "hold", req.Hold.Max, req.Hold.ID, req.Hold.Lease.Microseconds(), flag(req.Free()), flag(req.Hold.Next))
	}
	return args
}

// names appends the KEYS of a key.
func (k *Key) names(args []any) []any {
	if args = append(args, k.State); k.Logged {
		args = append(args, rediskey.Log(k.State))
	}
	return args
}

// Receipt settles the booking of one key.
type Receipt struct {
	Key
	Seq, Floor, Slot, Entry int64
	Before                  string
	starts                  []*exact.Window
}

// Windows returns the slot, in the key's time, and the windows with a beginning that count it.
func (r *Receipt) Windows() (slot int64, list []*exact.Window) { return r.Slot, r.starts }

// SettleArgs returns the arguments that correct bookings to other costs.
func SettleArgs(receipts []*Receipt, clock any, cost func(charge int) int64) []any {
	args := make([]any, 3, 4+9*len(receipts)+3*len(receipts))
	for _, r := range receipts {
		args = append(args, r.State, rediskey.Log(r.State))
	}
	args[2] = len(args) - 3
	args = append(args, clock)
	for _, r := range receipts {
		args = append(args, r.Tag, r.Seq, r.Floor, r.Slot, r.Entry, r.Before, len(r.Places))
		for i, at := range r.Places {
			c := &r.Limits.charges[i]
			args = append(args, r.Limits.specs[c.rule], c.cost, cost(at))
		}
	}
	return args
}

// BrakeArgs returns the arguments that set a brake.
func BrakeArgs(k *Key, b *store.Brake, unit int64, clock any, channel, name string) []any {
	return []any{
		nil, nil, 2, k.State, rediskey.Log(k.State), clock, flag(b.Lift), exact.Whole(b.Pause), exact.Whole(b.Slack),
		flag(b.Cut.Unit > 0), exact.Whole(b.Cut.Recovery), int64(b.Cut.Since),
		flag(b.Tell), exact.Whole(b.Gap), exact.Whole(b.GapFor), unit, channel, name,
	}
}

// LeaseArgs returns the arguments that renew leases.
func LeaseArgs(held string, lease int64, ids []string, clock any) []any {
	args := append(make([]any, 0, 6+len(ids)), nil, nil, 1, held, clock, lease)
	for _, id := range ids {
		args = append(args, id)
	}
	return args
}

// ResetArgs returns the arguments that forget a key.
func ResetArgs(state, log, held string, clock any) []any {
	return []any{nil, nil, 3, state, log, held, clock}
}

// RestoreArgs returns the arguments that restore a loss.
func RestoreArgs(state string, m *store.Memory, clock any) []any {
	id := m.ID
	if m.Spent == nil {
		id = ""
	}
	args := append(make([]any, 0, 13+7*len(m.Limits)), nil, nil, 3, state, rediskey.Log(state), rediskey.Restored(state, m.ID), clock, "restore", int64(m.At), int64(m.Last), int64(m.Ahead), int64(m.SpentAt), id, len(m.Limits))
	for i := range m.Limits {
		args = append(args, redisstate.FormatLimit(&m.Limits[i]))
		for _, of := range [][]store.Used{m.Known, m.Spent} {
			var u store.Used
			if of != nil {
				u = of[i]
			}
			args = append(args, int64(u.At), u.Units, u.Before)
		}
	}
	return args
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}
