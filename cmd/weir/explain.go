package main

import (
	"errors"
	"fmt"

	"github.com/goweir/weir/internal/inspect"
	"github.com/goweir/weir/store/redisstore"
	"github.com/spf13/cobra"
)

func newExplain() *cobra.Command {
	return newLook(&cobra.Command{
		Use: "explain KEY", Short: "Explain the state of a key in words",
		Long: `Explains the state of a key in words: its use, when units are free again, the
queue, the brake, and the next call.`,
		Example: "  weir explain api:user:1",
	}, true, (*page).explain, func(k *inspect.Key) bool { return k.Err != nil })
}

func (p *page) explain(k *inspect.Key) {
	p.line("%s, stored as %s on %s", k.Text(), k.Stored, k.Server)
	for _, line := range k.Explain() {
		p.line("%s", line)
	}
}

func newPeek() *cobra.Command {
	return newLook(&cobra.Command{
		Use: "peek KEY", Short: "Say whether a call would leave now, by the exit code too",
		Long: `Says whether a call of cost 1 would leave now, and what remains of each limit.
It takes nothing. The exit code is 1 if the call would be refused. Redis does
not have Config.InFlight: calls in flight refuse no call here.`,
		Example: "  weir peek api:user:1 && ./work",
	}, false, (*page).peek, func(k *inspect.Key) bool { return !k.Next.Allowed })
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

// newLook completes a command that shows one key. Its exit code is 1 if found reports so.
// shows says that the text has the error of a foreign state, which otherwise ends the command.
func newLook(c *cobra.Command, shows bool, text func(p *page, k *inspect.Key), found func(k *inspect.Key) bool) *cobra.Command {
	var conn connection
	conn.flags(c)
	c.ValidArgsFunction = conn.completeKey
	c.RunE = func(cmd *cobra.Command, args []string) error {
		return conn.with(func(s *session) error {
			k, err := s.find(cmd.Context(), args[0])
			if err == nil && !(shows && errors.Is(k.Err, redisstore.ErrState)) {
				err = k.Err
			}
			if err != nil {
				return err
			}
			if err = conn.print(cmd, k, func(p *page) { text(p, &k) }); err == nil && found(&k) {
				return &exit{code: exitFound}
			}
			return err
		})
	}
	return c
}
