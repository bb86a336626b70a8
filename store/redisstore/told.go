package redisstore

import (
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// quickly returns what the rest of the script would have told of calls that its quick
// part has admitted, of what that replied of a key.
func quickly(now int64, list []int64) []int64 {
	rest := append(make([]int64, 0, 2+len(list)/3*4), now, now)
	for i := 0; i < len(list); i += 3 {
		rest = append(rest, now, list[i], list[i+1], list[i+2])
	}
	return rest
}

// told is what the rest of the script replied to calls: of how many it told how
// they were decided, how many of those were admitted, and what follows "allowed" in
// its other replies, after the last one that was admitted and for the first that was
// not; and whether nothing is in it that could be given back.
type told struct {
	calls, admitted int64
	rest            []int64
	firm            bool
}

// isTold reports whether the rest of the script has replied.
func isTold(reply []int64) bool { return len(reply) > 2 && (reply[1] == -2 || reply[1] == -3) }

// readTold reads its reply to some calls.
func readTold(reply []int64, calls int) (told, error) {
	if len(reply) < 4+2+4 {
		return told{}, errReply
	}
	t := told{reply[2], reply[3], reply[4:], reply[1] == -3}
	if t.calls < 1 || t.calls > int64(calls) || t.admitted < 0 || t.admitted > t.calls {
		return told{}, errReply
	}
	return t, nil
}

// answer is that of the n-th call.
func (t told) answer(n int64, sent time.Duration) answer {
	return answer{rest: t.rest, allowed: n <= t.admitted, after: max(t.admitted-n, 0), firm: t.firm, sent: sent}
}

// read makes a verdict of what was told, for a call after which others were admitted
// at the same instant, or for one that is refused later. The outcomes are as many as the charges.
func (a *answer) read(charges []store.Charge, outcomes []exact.Outcome) (exact.Verdict, error) {
	list, most := a.rest, 2+4*len(charges)
	if len(list) != most && len(list) != most+5 {
		return exact.Verdict{}, errReply
	}
	v := exact.Verdict{Allowed: a.allowed, Now: max(list[0], a.now), Slot: list[1]}
	if a.allowed {
		v.Slot = v.Now
	}
	for i := range outcomes {
		n, c := list[2+4*i:], &charges[i]
		s := exact.State{A: n[1], B: n[2], C: n[3]}
		outcomes[i] = exact.Outcome{Slot: max(n[0], v.Now), State: s.Before(&c.Limit, a.after*c.Cost)}
	}
	if len(list) > most {
		k := list[most:]
		v.Braked = true
		v.Brakes = []exact.Braked{{At: k[0], Paused: k[1], From: k[2], Gap: k[3], Told: k[4]}}
	}
	return v, nil
}
