package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store/redisstore"
)

// maxSkew is the largest difference of two clocks that is no finding.
const maxSkew = Span(5 * time.Second)

// Faults looks for faults of the keys on all servers, within the bounds of a Query, and
// for servers whose clock differs from this machine's. cut says that a bound ended the search
// for keys. redisstore.Store.Check finds faults of the client and the servers.
//
//	name       level    found
//	ttl        warning  keys without a TTL, which Redis never drops
//	state      fault    values that are not weir's, or of another version of weir
//	clock      warning  a server's clock behind states, or apart from this machine's
//	limits     warning  keys under limits that their last call left out
//	unread     unknown  the keys can't be read
func (i *Inspector) Faults(ctx context.Context, q Query) (found []redisstore.Finding, cut bool) {
	q = q.withDefaults()
	nodes, err := i.nodes(ctx)
	if err != nil {
		return []redisstore.Finding{unread("", err)}, false
	}
	for _, n := range nodes {
		f := faults{server: n.Addr}
		if err := i.faultsOf(ctx, n, &q, &f); err != nil {
			found = append(found, unread(n.Addr, err))
		}
		found = append(found, f.findings()...)
		cut = cut || f.states.Cut
	}
	return found, cut
}

func unread(server string, err error) redisstore.Finding {
	return redisstore.Finding{
		Name: "unread", Level: redisstore.Unknown, Server: server, What: "the keys can't be read",
		Remedy: "ACL SETUSER with +scan +getrange +pttl +lrange +zcard +zrange +time", Err: err,
	}
}

// examples are different names, and the first few of them.
type examples struct {
	first []string
	all   map[string]bool
}

const maxExamples = 3

func (e *examples) add(name string) {
	if e.all == nil {
		e.all = map[string]bool{}
	}
	if !e.all[name] && len(e.first) < maxExamples {
		e.first = append(e.first, name)
	}
	e.all[name] = true
}

// of writes "3 keys have no TTL: a, b, c".
func (e *examples) of(one, more string) string {
	text := count(int64(len(e.all)), one, more) + ": " + strings.Join(e.first, ", ")
	if len(e.all) > len(e.first) {
		text += ", …"
	}
	return text
}

type faults struct {
	server                             string
	lasting, foreign, versions, behind examples
	unread                             examples
	err                                error // of the last unread one
	longest                            Span  // that the clock is behind a state
	skew                               Span  // of the server's clock to this machine's
	left                               []leftOut
	states                             Listing
}

// leftOut are limits of one limiter on keys whose last call left them out.
type leftOut struct {
	limiter string
	limits  []string
	keys    examples
}

func (i *Inspector) faultsOf(ctx context.Context, n node, q *Query, f *faults) error {
	before := time.Now()
	now, err := n.Client.Time(ctx).Result()
	if err != nil {
		return err
	}
	now = now.Add(i.ahead)
	f.skew = Span(min(now.Sub(before), 0) + max(time.Until(now), 0))
	err = i.listNode(ctx, n, q, &f.states, func(names []rediskey.Name) error { return i.lasting(ctx, n, names, f) })
	for j := range f.states.Keys {
		f.look(&f.states.Keys[j])
	}
	return err
}

// lasting finds names without a TTL.
func (i *Inspector) lasting(ctx context.Context, n node, names []rediskey.Name, f *faults) error {
	pipe := n.Client.Pipeline()
	for _, name := range names {
		pipe.PTTL(ctx, name.Full())
	}
	sent, err := pipe.Exec(ctx)
	for j := range sent {
		if d, ok := sent[j].(interface{ Val() time.Duration }); ok && sent[j].Err() == nil && d.Val() == -1 {
			f.lasting.add(names[j].Full())
		}
	}
	return err
}

func (f *faults) look(k *Key) {
	switch {
	case errors.Is(k.Err, redisstore.ErrVersion):
		f.versions.add(k.Stored)
	case errors.Is(k.Err, redisstore.ErrState):
		f.foreign.add(k.Stored)
	case k.Err != nil: // As while a cluster moves the key: that is no fault of the key.
		f.unread.add(k.Stored)
		f.err = k.Err
	}
	if k.Behind > maxSkew {
		f.behind.add(k.Stored)
		f.longest = max(f.longest, k.Behind)
	}
	if !slices.ContainsFunc(k.Limits, func(l Limit) bool { return l.LeftFor > 0 }) {
		return
	}
	at := slices.IndexFunc(f.left, func(l leftOut) bool { return l.limiter == k.Limiter })
	if at < 0 {
		at, f.left = len(f.left), append(f.left, leftOut{limiter: k.Limiter})
	}
	left := &f.left[at]
	left.keys.add(k.Stored)
	for i := range k.Limits {
		if text := Describe(&k.Limits[i].Limit); !slices.Contains(left.limits, text) {
			left.limits = append(left.limits, text)
		}
	}
}

func (f *faults) findings() (found []redisstore.Finding) {
	add := func(name string, level redisstore.Level, what, remedy string) {
		found = append(found, redisstore.Finding{Name: name, Level: level, Server: f.server, What: what, Remedy: remedy})
	}
	if f.lasting.all != nil {
		add("ttl", redisstore.Warning, f.lasting.of("key has no TTL, so Redis never drops it", "keys have no TTL, so Redis never drops them"),
			"find the program that runs PERSIST. Calls of these keys set a TTL again; DEL those that no program uses")
	}
	if f.foreign.all != nil {
		add("state", redisstore.Fault, f.foreign.of("key holds something else than weir's state, and its calls fail", "keys hold something else than weir's state, and their calls fail"),
			"weir reset KEY, or another prefix for the program that wrote them")
	}
	if f.versions.all != nil {
		add("state", redisstore.Fault, f.versions.of("key has a state of another version of weir", "keys have a state of another version of weir"),
			"use one version of weir, or weir reset KEY")
	}
	if f.unread.all != nil {
		finding := unread(f.server, f.err)
		finding.What = f.unread.of("key can't be read", "keys can't be read")
		found = append(found, finding)
	}
	switch {
	case f.behind.all != nil:
		add("clock", redisstore.Warning, fmt.Sprintf("the server's clock is %s behind its states: %s", f.longest, f.behind.of("key is ahead", "keys are ahead")),
			"synchronise the clocks of all Redis servers by NTP: it stepped back, or a server with another clock took over")
	case f.skew < -maxSkew:
		add("clock", redisstore.Warning, fmt.Sprintf("the server's clock is %s behind this machine's", -f.skew), clockRemedy)
	case f.skew > maxSkew:
		add("clock", redisstore.Warning, fmt.Sprintf("the server's clock is %s ahead of this machine's", f.skew), clockRemedy)
	}
	for _, left := range f.left {
		slices.Sort(left.limits)
		add("limits", redisstore.Warning,
			fmt.Sprintf("limiter %q counts under limits that the last calls left out (%s). %s", left.limiter, strings.Join(left.limits, "; "), left.keys.of("key", "keys")),
			"give limiters with unlike limits different Names. After a change of limits or of a plan, this ends by itself")
	}
	return found
}

const clockRemedy = "synchronise both by NTP: a failover to a server with another clock, or Config.PassTime, would move limits in time"
