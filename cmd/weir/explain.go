package main

import (
	"fmt"

	"github.com/goweir/weir/internal/inspect"
	"github.com/spf13/cobra"
)

func newExplain() *cobra.Command {
	var conn connection
	c := &cobra.Command{
		Use: "explain KEY", Short: "Explain the state of a key in words",
		Long: `Explains the state of a key in words: its use, when units are free again, the
queue, the brake, and the next call.`,
		Example: "  weir explain api:user:1", ValidArgsFunction: conn.completeKey,
		RunE: func(cmd *cobra.Command, args []string) error {
			return conn.with(func(s *session) error {
				k, err := s.find(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				err = conn.print(cmd, k, func(p *page) { p.explain(&k) })
				if err == nil && k.Err != nil { // The text has it.
					return &exit{code: exitFound}
				}
				return err
			})
		},
	}
	conn.flags(c)
	return c
}

func (p *page) explain(k *inspect.Key) {
	p.line("%s, stored as %s on %s", k.Text(), k.Stored, k.Server)
	for _, line := range k.Explain() {
		p.line("%s", line)
	}
}

func newPeek() *cobra.Command {
	var conn connection
	c := &cobra.Command{
		Use: "peek KEY", Short: "Say whether a call would leave now, by the exit code too",
		Long: `Says whether a call of cost 1 would leave now, and what remains of each limit.
It takes nothing. The exit code is 1 if the call would be refused. Redis does
not have Config.InFlight: calls in flight refuse no call here.`,
		Example: "  weir peek api:user:1 && ./work", ValidArgsFunction: conn.completeKey,
		RunE: func(cmd *cobra.Command, args []string) error {
			return conn.with(func(s *session) error {
				k, err := s.find(cmd.Context(), args[0])
				if err == nil {
					err = k.Err
				}
				if err != nil {
					return err
				}
				err = conn.print(cmd, k, func(p *page) { p.peek(&k) })
				if err == nil && !k.Next.Allowed {
					return &exit{code: exitFound}
				}
				return err
			})
		},
	}
	conn.flags(c)
	return c
}

func (p *page) peek(k *inspect.Key) {
	text := "allowed"
	if !k.Next.Allowed {
		text = fmt.Sprintf("refused (%s), retry after %s", k.Next.Reason, k.Next.RetryAfter)
	}
	if k.Missing {
		text += ", no state is stored"
	}
	if k.InFlight > 0 {
		text += fmt.Sprintf(", %d in flight", k.InFlight)
	}
	p.line("%s: %s", k.Text(), text)
	for i := range k.Limits {
		l := &k.Limits[i]
		p.line("  %s: %d of %d remaining, reset after %s", inspect.Describe(&l.Limit), l.Remaining, l.Max(), l.ResetAfter)
	}
}
