package inspect

import (
	"fmt"
	"strings"

	"github.com/goweir/weir/store"
)

// Explain describes a key's state in sentences: use, when units are free, the queue, the
// brake, and the next call. Each sentence stands in a line of its own.
func (k *Key) Explain() []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	switch {
	case k.Err != nil:
		add("The state can't be read: %v.", k.Err)
		add("Calls fail with this error until the key is reset.")
	case k.Missing:
		add("No state is stored under this name: all units are free, unless plainstore counts the key. weir keys lists the names.")
	case k.Reset:
		add("The key was reset.")
	case k.Restored:
		add("Redis had lost the key. Units that processes knew of were restored.")
	}
	if k.Behind > 0 {
		add("The server's clock is %s behind the state: it stepped back. Calls go on from where the state is.", k.Behind)
	}
	for i := range k.Limits {
		lines = append(lines, k.Limits[i].explain())
	}
	if k.Partial {
		add("The log is long, and its first part was not read: more units may be free.")
	}
	if k.Err == nil {
		lines = append(lines, k.Ahead.explain())
	}
	if k.Brake.Pause > 0 {
		add("The key is paused for %s.", k.Brake.Pause)
	}
	if k.Brake.Slow() {
		add("It runs at %d/64 of its rate. The rate is whole again in %s.", k.Brake.Rate, k.Brake.For)
	}
	if k.InFlight > 0 {
		add("%s in flight. The first lease ends in %s, unless it is renewed.", count(k.InFlight, "call is", "calls are"), k.LeaseEnds)
	}
	if k.Err == nil {
		lines = append(lines, k.ExplainNext())
	}
	switch {
	case k.NoTTL && k.Err != nil:
		add("Redis never drops it, as it has no TTL.")
	case k.NoTTL:
		add("Redis never drops the state, as it has no TTL. The next calls set one.")
	case !k.Missing:
		add("Redis drops the state in %s, unless calls come.", k.TTL)
	}
	return lines
}

func (l *Limit) explain() string {
	are := "are"
	if l.Used == 1 {
		are = "is"
	}
	text := fmt.Sprintf("%s: %d of %d units %s used.", Describe(&l.Limit), l.Used, l.Max(), are)
	switch {
	case l.ResetAfter == 0:
		text = fmt.Sprintf("%s: none of %d units is used.", Describe(&l.Limit), l.Max())
	case l.Used == 0:
		text += fmt.Sprintf(" It is as new in %s.", l.ResetAfter)
	default:
		text += fmt.Sprintf(" All are free again in %s.", l.ResetAfter)
	}
	if l.LeftFor > 0 {
		text += fmt.Sprintf(" The last call left this limit out: it is forgotten in %s.", l.LeftFor)
	}
	return text
}

func (a *Ahead) explain() string {
	calls := "Calls wait"
	if a.Calls > 0 {
		calls = count(a.Calls, "call waits", "calls wait")
	}
	switch {
	case a.Calls == 0:
		return "No call has booked a slot ahead."
	case a.Calls == 1:
		return fmt.Sprintf("%s: its slot comes in %s.", calls, a.First)
	case a.First.String() == a.Last.String():
		return fmt.Sprintf("%s: their slots come in %s.", calls, a.First)
	}
	return fmt.Sprintf("%s: the first slot comes in %s, the last in %s.", calls, a.First, a.Last)
}

// ExplainNext says how the next call fares.
func (k *Key) ExplainNext() string {
	switch {
	case k.Next.Allowed && k.InFlight > 0:
		return "A call of 1 unit leaves at once, unless its limiter allows no more calls in flight: Redis does not have Config.InFlight."
	case k.Next.Allowed:
		return "A call of 1 unit leaves at once."
	}
	why := map[string]string{"paused": "as the key is paused", "waiting": "as others wait before it"}[k.Next.Reason]
	if why == "" && k.Next.Limit >= 0 && len(k.Limits) > 1 {
		why = "as " + Describe(&k.Limits[k.Next.Limit].Limit) + " is used up"
	} else if why == "" {
		why = "as the limit is used up"
	}
	return fmt.Sprintf("A call of 1 unit is refused, %s. If it may wait, it leaves in %s.", why, k.Next.RetryAfter)
}

func count(n int64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", more)
}

// Describe writes a limit as 25/5s gcra burst 50.
func Describe(l *store.Limit) string {
	_, period, _ := strings.Cut(store.Per(1, l.Period).Policy(), "-in-")
	text := fmt.Sprintf("%d/%s %s", l.Rate, period, l.Algorithm)
	if l.Max() != l.Rate {
		text += fmt.Sprintf(" burst %d", l.Max())
	}
	return text
}
