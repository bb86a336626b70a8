package inspect

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/goweir/weir/internal/rediskey"
)

// Query says which keys List reads. The zero Query reads all, within the bounds.
type Query struct {
	// Limiter is the name of a limiter. Empty: all limiters. The names of keys with a Hash show
	// no limiter, so these keys match only an empty Limiter.
	Limiter string
	// Contains is a part of the text of a key, as [Key.Text] has it. Empty: all keys.
	Contains string
	// MaxKeys bounds the keys that are read, 1 or more. 0: 10 000.
	MaxKeys int
	// MaxScan bounds the keys of all programs that SCAN visits on a server, about. 0: a
	// million.
	MaxScan int
	// Step is the COUNT of each SCAN. The server serves others between the steps. 0: 500.
	Step int
	// Progress gets the number of keys found, after each step. Nil: no report.
	Progress func(keys int)
}

func (q Query) withDefaults() Query {
	q.MaxKeys, q.MaxScan, q.Step = cmp.Or(q.MaxKeys, 10_000), cmp.Or(q.MaxScan, 1_000_000), cmp.Or(q.Step, 500)
	return q
}

// Listing are the keys of a Query.
type Listing struct {
	// Keys are in the order of their names.
	Keys []Key
	// At is the time of the last server that was read.
	At time.Time
	// Cut says that a bound ended the search: there may be more keys.
	Cut bool
	// Plain is the number of wanted counters of package plainstore, which are no Keys.
	Plain int
}

// List reads the keys of all servers. Keys that end meanwhile are left out. If a server
// fails, the error names it, and the Listing has the keys of the others.
func (i *Inspector) List(ctx context.Context, q Query) (Listing, error) {
	var l Listing
	q = q.withDefaults()
	nodes, err := i.nodes(ctx)
	if err != nil {
		return l, err
	}
	_, failed := each(nodes, func(n node) error { return i.listNode(ctx, n, &q, &l, nil) })
	slices.SortFunc(l.Keys, func(a, b Key) int { return cmp.Compare(a.Stored, b.Stored) })
	return l, failed
}

// listNode reads the keys of a server. It passes all names to also, if that is not nil.
func (i *Inspector) listNode(ctx context.Context, n node, q *Query, l *Listing, also func([]rediskey.Name) error) error {
	seen := map[string]bool{}
	next, err := i.scan(ctx, n, 0, q.Step, (q.MaxScan+q.Step-1)/q.Step, func(names []rediskey.Name) (more bool, err error) {
		if also != nil {
			if err := also(names); err != nil {
				return false, err
			}
		}
		var states []wanted
		for _, name := range names {
			if isCounter(name.Part) && q.wants(&name) {
				l.Plain++
			}
			if !isOfState(name.Part) || seen[name.State] || !q.wants(&name) {
				continue
			}
			seen[name.State] = true
			name.Part = ""
			states = append(states, whole(name))
		}
		room := q.MaxKeys - len(l.Keys)
		full := len(states) > room
		l.Cut = l.Cut || full
		for part := range slices.Chunk(states[:min(len(states), room)], batch) {
			keys, err := i.read(ctx, n, part, fewLog)
			if err != nil {
				return false, err
			}
			for _, k := range keys {
				if l.At = k.At; !k.Missing || k.InFlight > 0 || k.Err != nil {
					l.Keys = append(l.Keys, k)
				}
			}
		}
		if q.Progress != nil {
			q.Progress(len(l.Keys))
		}
		return !full, nil
	})
	l.Cut = l.Cut || next != 0
	return err
}

func isOfState(part string) bool { return part == "" || part == "log" || part == "held" }

func isCounter(part string) bool { return len(part) == 1 && part[0] >= '0' && part[0] <= '7' }

func (q *Query) wants(name *rediskey.Name) bool {
	if q.Limiter != "" && name.Scope != q.Limiter { // A name with a Hash has no Scope.
		return false
	}
	k := Key{Limiter: name.Scope, Key: name.Key, Hash: name.Hash}
	return q.Contains == "" || strings.Contains(k.Text(), q.Contains)
}

// scan passes names of the prefix to each, step by step from a cursor on, some more than
// once. It returns the cursor after so many steps, or after each has ended the search; 0:
// there are no more names.
func (i *Inspector) scan(ctx context.Context, n node, cursor uint64, step, steps int, each func(names []rediskey.Name) (more bool, err error)) (next uint64, err error) {
	pattern := escapePattern(i.prefix) + "{*"
	for range steps {
		found, next, err := n.Client.Scan(ctx, cursor, pattern, int64(step)).Result()
		if err != nil {
			return cursor, err
		}
		cursor = next
		var names []rediskey.Name
		for _, text := range found {
			if name, ok := rediskey.Parse(i.prefix, text); ok {
				names = append(names, name)
			}
		}
		if more, err := each(names); err != nil || !more || cursor == 0 {
			return cursor, err
		}
	}
	return cursor, nil
}

// escapePattern makes a text stand for itself in MATCH.
func escapePattern(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `^`, `\^`).Replace(text)
}
