package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/inspect"
	"github.com/goweir/weir/internal/rediskey"
	"github.com/spf13/cobra"
)

// action has the flags of commands that change a key.
type action struct {
	connection
	limits []string
}

// limiter returns a limiter for the key. Its limits are those of the flag, or of the
// key's state. Only a pause needs them, for the pace at which calls leave after it.
func (a *action) limiter(s *session, t *rediskey.Name, k *inspect.Key, needed bool) (*weir.Limiter, error) {
	if t.Scope == "" {
		return nil, &exit{exitUsage, errors.New("the name of the limiter is unknown: name the key as LIMITER:KEY")}
	}
	var limits []weir.Limit
	for _, text := range a.limits {
		l, kind, err := parseLimit("limit", text)
		if err != nil {
			return nil, &exit{exitUsage, err}
		}
		if kind == outbound {
			l = weir.Outbound(l.Rate, l.Period)
		}
		limits = append(limits, l)
	}
	for i := range k.Limits {
		if l := &k.Limits[i]; len(a.limits) == 0 && l.LeftFor == 0 {
			// Without names, limits that differ in the algorithm alone would have one
			// policy name.
			limits = append(limits, weir.Limit(l.Limit).WithName(fmt.Sprint("limit ", i+1)))
		}
	}
	if limits == nil && needed && k.Err != nil {
		return nil, failed(k.Err)
	}
	if limits == nil && needed {
		return nil, &exit{exitUsage, fmt.Errorf("no limits of %s are stored: name them, as --limit 25/5s", k.Text())}
	}
	if limits == nil {
		limits = []weir.Limit{weir.Per(1, time.Second)}
	}
	return weir.New(weir.Config{Store: s.Store, Name: t.Scope, Limits: limits})
}

// act finds the key, changes it, and reports its new state.
func (a *action) act(cmd *cobra.Command, text string, needed bool, do func(l *weir.Limiter, ctx context.Context, key string) error, say func(before, after *inspect.Key) string) error {
	return a.with(func(s *session) error {
		t, err := s.target(text)
		if err != nil {
			return err
		}
		before, err := s.Stored(cmd.Context(), t.State)
		if err != nil {
			return err
		}
		l, err := a.limiter(s, &t, &before, needed)
		if err != nil {
			return err
		}
		if err := do(l, cmd.Context(), t.Key); err != nil {
			return err
		}
		after, err := s.Stored(cmd.Context(), t.State)
		if err != nil {
			return err
		}
		return a.print(cmd, after, func(p *page) { p.line("%s", say(&before, &after)) })
	})
}

func newPause() *cobra.Command {
	var a action
	var d time.Duration
	c := &cobra.Command{
		Use: "pause KEY DURATION", Short: "Keep all processes from using a key for a while",
		Long: `Keeps all processes that share the store from using a key for a while: calls are
refused or wait. Waiting calls keep their order. The pause that ends last wins.

Other processes hear of it at once. Limits come from --limit, or from the state
of the key.`,
		Example: "  weir pause stripe:live 10m\n  weir pause stripe:live 10m --limit 25/1s,outbound", ValidArgsFunction: a.completeKey,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if d, err = time.ParseDuration(args[1]); err != nil || d <= 0 {
				return &exit{exitUsage, fmt.Errorf("duration %q: want more than 0, at most 12.5 years, with a unit, as 90s or 10m", args[1])}
			}
			pause := func(l *weir.Limiter, ctx context.Context, key string) error { return l.Pause(ctx, key, d) }
			return a.act(cmd, args[0], true, pause, sayPaused)
		},
	}
	a.connection.flags(c)
	c.Flags().StringArrayVar(&a.limits, "limit", nil, "limit of the key, if its state has none")
	return c
}

func sayPaused(before, after *inspect.Key) string {
	format, pause := clock, time.Duration(after.Brake.Pause)
	if pause >= 12*time.Hour {
		format = "2006-01-02 " + format
	}
	text := fmt.Sprintf("%s is paused for %s, until %s by the server's clock.", after.Text(), after.Brake.Pause, after.At.Add(pause).Format(format))
	if before.Brake.Pause >= after.Brake.Pause {
		text += " It was paused for longer already."
	}
	switch n := after.Ahead.Calls; {
	case n == 1:
		text += " 1 call waits, and leaves then."
	case n > 1:
		text += fmt.Sprintf(" %d calls wait, and leave from then on.", n)
	case n < 0:
		text += " Calls wait, and leave from then on."
	}
	return text
}

func newResume() *cobra.Command {
	var a action
	c := &cobra.Command{
		Use: "resume KEY", Short: "Lift a pause and a lower rate",
		Long:    "Lifts a pause, a lower rate, and all else that slows a key down beyond its\nlimits. Other processes hear of it at once.",
		Example: "  weir resume stripe:live", ValidArgsFunction: a.completeKey,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.act(cmd, args[0], false, (*weir.Limiter).Resume, func(before, after *inspect.Key) string {
				if before.Brake.IsZero() {
					return after.Text() + " was neither paused nor slower."
				}
				return after.Text() + " runs again. " + after.ExplainNext()
			})
		},
	}
	a.connection.flags(c)
	return c
}

func newReset() *cobra.Command {
	var a action
	c := &cobra.Command{
		Use: "reset KEY", Short: "Forget the use of a key, and its pause",
		Long: `Forgets the state of a key: its use, its pause, its calls in flight, and a value
that is not weir's. All units are free at once. Calls that wait keep their
slots.`,
		Example: "  weir reset api:user:1", ValidArgsFunction: a.completeKey,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.act(cmd, args[0], false, (*weir.Limiter).Reset, func(before, after *inspect.Key) string {
				if before.Missing && before.InFlight == 0 {
					return after.Text() + " had no state."
				}
				return after.Text() + " is reset: all its units are free."
			})
		},
	}
	a.connection.flags(c)
	return c
}
