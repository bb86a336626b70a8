package main

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goweir/weir/internal/inspect"
	"github.com/spf13/cobra"
)

// listing has the flags of commands that list keys. Only weir keys has first.
type listing struct {
	connection
	query inspect.Query
	sort  string
	first int
}

const listHelp = `
  USED     used share of the limit that is used most
  UNITS    used units of it, and its maximum
  LIMIT    its rate; +1: the key has one more limit
  WAITING  calls whose slots are booked ahead, ? if the state does not say how
           many, and the time until the last slot
  NEXT     when the next call leaves
  NOTE     a pause, a lower rate, calls in flight, an error. long log: only its
           last 600 entries were read, and fewer units may be used

--sort is name, use (used share), refusal (how long calls are refused from now
on; the state counts no refusals of the past) or queue (the last slot).

The command reads with SCAN, GETRANGE, PTTL, LRANGE, ZCARD, ZRANGE and TIME. It
changes nothing, and runs no script.`

func (l *listing) flags(cmd *cobra.Command, sort string) {
	l.connection.flags(cmd)
	f := cmd.Flags()
	f.StringVar(&l.query.Limiter, "limiter", "", "only keys of this limiter: its Config.Name")
	f.StringVar(&l.query.Contains, "contains", "", "only keys with this part")
	f.StringVar(&l.sort, "sort", sort, "order: name, use, refusal or queue")
	f.IntVar(&l.query.MaxKeys, "max-keys", 10_000, "read at most so many keys")
	f.IntVar(&l.query.MaxScan, "max-scan", 1_000_000, "look at about so many keys of a server, of all programs")
	names := cobra.FixedCompletions([]cobra.Completion{"name", "use", "refusal", "queue"}, cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("sort", names)
}

// orders are those of --sort. Keys that are alike stand in the order of their names.
var orders = map[string]func(a, b *inspect.Key) int{
	"name":    func(a, b *inspect.Key) int { return 0 },
	"use":     func(a, b *inspect.Key) int { return cmp.Compare(b.Busiest().Share(), a.Busiest().Share()) },
	"refusal": func(a, b *inspect.Key) int { return cmp.Compare(b.Next.RetryAfter, a.Next.RetryAfter) },
	"queue":   func(a, b *inspect.Key) int { return cmp.Compare(b.Ahead.Last, a.Ahead.Last) },
}

func (l *listing) check() error {
	wrong := func(flag string, got any, want string) error {
		return &exit{exitUsage, errFlag(flag, fmt.Sprint(got), want)}
	}
	switch {
	case orders[l.sort] == nil:
		return wrong("sort", l.sort, "name, use, refusal or queue")
	case l.first < 0:
		return wrong("first", l.first, "0 or more")
	case l.query.MaxKeys < 1:
		return wrong("max-keys", l.query.MaxKeys, "1 or more")
	case l.query.MaxScan < 1:
		return wrong("max-scan", l.query.MaxScan, "1 or more")
	}
	return nil
}

// read lists keys in the order of the flags. If a server of a cluster fails, its error comes
// beside the keys of the others.
func (l *listing) read(cmd *cobra.Command, s *session) (found inspect.Listing, err error) {
	q := l.query
	p := newProgress(cmd.ErrOrStderr())
	q.Progress = func(keys int) { p.show("%d keys", keys) }
	found, err = s.List(cmd.Context(), q)
	p.clear()
	found.Cut = found.Cut || err != nil && l.json
	l.order(found.Keys)
	return found, err
}

func (l *listing) order(keys []inspect.Key) {
	slices.SortFunc(keys, func(a, b inspect.Key) int { return cmp.Or(orders[l.sort](&a, &b), cmp.Compare(a.Stored, b.Stored)) })
}

// top returns the keys that --first prints.
func (l *listing) top(keys []inspect.Key) []inspect.Key {
	if l.first > 0 {
		return keys[:min(l.first, len(keys))]
	}
	return keys
}

func newKeys() *cobra.Command {
	var l listing
	c := &cobra.Command{
		Use: "keys", Short: "List keys with their use, queue and brake", Long: "Lists keys with their use, queue and brake.\n" + listHelp,
		Example: "  weir keys --sort use --first 20\n  weir keys --limiter api --contains user: --json | jq .keys[].key",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := l.check(); err != nil {
				return err
			}
			return l.with(func(s *session) error { return l.list(cmd, s) })
		},
	}
	l.flags(c, "name")
	c.Flags().IntVar(&l.first, "first", 0, "print so many keys; 0: all")
	return c
}

func (l *listing) list(cmd *cobra.Command, s *session) error {
	found, missing := l.read(cmd, s)
	if len(found.Keys) == 0 && missing != nil {
		return missing
	}
	if err := l.print(cmd, l.report(found), func(p *page) { l.show(p, s.Prefix(), found) }); err != nil {
		return err
	}
	if hint := s.hint(cmd.Context()); hint != "" {
		fmt.Fprintln(cmd.ErrOrStderr(), "weir:", printable(hint))
	}
	return missing
}

func (l *listing) show(p *page, prefix string, found inspect.Listing) {
	if len(found.Keys) == 0 {
		which, answer := "keys", "There are no"
		if l.query.Limiter != "" || l.query.Contains != "" {
			which = "such keys"
		}
		if found.Cut {
			answer = "The search found no"
		}
		p.line("%s %s under %s.", answer, which, prefix)
	} else {
		p.table(l.top(found.Keys), 0)
	}
	switch found.Plain {
	case 0:
	case 1:
		p.line("1 counter of plainstore is not listed.")
	default:
		p.line("%d counters of plainstore are not listed.", found.Plain)
	}
	if hidden := len(found.Keys) - len(l.top(found.Keys)); hidden > 0 {
		p.line("%d more: --first 0 prints all", hidden)
	}
	p.cut(found.Cut)
}

// cut says that a bound ended a search for keys, if one did.
func (p *page) cut(cut bool) {
	if cut {
		p.line("There may be more keys: --max-keys and --max-scan end the search.")
	}
}

// report is a listing for programs.
func (l *listing) report(found inspect.Listing) any {
	return struct {
		Keys  []inspect.Key `json:"keys"`
		All   int           `json:"found"`
		Cut   bool          `json:"cut"`
		Plain int           `json:"plain_counters"`
	}{append([]inspect.Key{}, l.top(found.Keys)...), len(found.Keys), found.Cut, found.Plain}
}
