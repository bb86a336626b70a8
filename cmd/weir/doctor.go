package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/goweir/weir/internal/inspect"
	"github.com/goweir/weir/store/redisstore"
	"github.com/spf13/cobra"
)

func newDoctor() *cobra.Command {
	var conn connection
	var q inspect.Query
	c := &cobra.Command{
		Use: "doctor", Short: "Find faults of the client, the servers and the keys, with remedies",
		Long: `Finds faults of the client, of each server and of the keys, and says what to do.
docs/redis.md and docs/command.md list them. It takes a decision and tries each
command of the ACL on keys of its own, which it deletes.

The client is the one that redisstore.Open makes of the URL: pass the URL of
your service, with its options and its user.`,
		Example: "  weir doctor --redis redis://weir:password@redis:6379/0",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return conn.with(func(s *session) error { return conn.examine(cmd, s, q) })
		},
	}
	conn.flags(c)
	c.Flags().IntVar(&q.MaxKeys, "max-keys", 10_000, "read at most so many keys")
	c.Flags().IntVar(&q.MaxScan, "max-scan", 1_000_000, "look at about so many keys of a server, of all programs")
	return c
}

func (c *connection) examine(cmd *cobra.Command, s *session, q inspect.Query) error {
	if q.MaxKeys < 1 || q.MaxScan < 1 {
		return &exit{exitUsage, fmt.Errorf("--max-keys and --max-scan: want 1 or more")}
	}
	p := newProgress(cmd.ErrOrStderr())
	q.Progress = func(keys int) { p.show("%d keys", keys) }
	found, cut := diagnose(cmd.Context(), s, q)
	p.clear()
	if err := cmd.Context().Err(); err != nil {
		return failed(err)
	}
	err := c.print(cmd, findingsJSON(found, cut), func(p *page) { p.findings(found, cut) })
	switch {
	case err != nil:
		return err
	case slices.ContainsFunc(found, isAway):
		return &exit{code: exitAway}
	case len(found) > 0:
		return &exit{code: exitFound}
	}
	return nil
}

func isAway(f redisstore.Finding) bool { return f.Name == "away" }

// diagnose finds faults of the client, the servers, and the keys. A fault of the server
// that keeps it from reading keys is enough. cut says that a bound ended the search for keys.
func diagnose(ctx context.Context, s *session, q inspect.Query) (found []redisstore.Finding, cut bool) {
	found = s.Check(ctx)
	faulty := slices.ContainsFunc(found, func(f redisstore.Finding) bool { return f.Level == redisstore.Fault })
	ofKeys, cut := s.Faults(ctx, q)
	for _, f := range ofKeys {
		if !faulty || f.Level != redisstore.Unknown {
			found = append(found, f)
		}
	}
	return found, cut
}

func (p *page) findings(found []redisstore.Finding, cut bool) {
	if len(found) == 0 {
		p.line("No findings: the client, the servers and the keys are well.")
	}
	for i := range found {
		f, at := &found[i], ""
		if f.Server != "" {
			at = " at " + f.Server
		}
		p.line("%s: %s%s: %s.", f.Level, f.Name, at, f.What)
		if f.Err != nil {
			p.line("  Error: %s", message(f.Err))
		}
		p.line("  Remedy: %s.", f.Remedy)
	}
	p.cut(cut)
}

// findingsJSON are findings for programs.
func findingsJSON(found []redisstore.Finding, cut bool) any {
	type finding struct {
		Level  redisstore.Level `json:"level"`
		Name   string           `json:"name"`
		Server string           `json:"server,omitempty"`
		What   string           `json:"what"`
		Error  string           `json:"error,omitempty"`
		Remedy string           `json:"remedy"`
	}
	list := []finding{}
	for _, f := range found {
		g := finding{Level: f.Level, Name: f.Name, Server: f.Server, What: f.What, Remedy: f.Remedy}
		if f.Err != nil {
			g.Error = message(f.Err)
		}
		list = append(list, g)
	}
	return struct {
		Findings []finding `json:"findings"`
		Cut      bool      `json:"cut"`
	}{list, cut}
}
