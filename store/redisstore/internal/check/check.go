// Package check looks for faults of a client and its servers: see redisstore.Store.Check.
package check

import (
	"context"
	"crypto/rand"
	"slices"
)

// Run returns the findings about a store, those of the client first.
func Run(ctx context.Context, s Store) []Finding {
	r := &report{Store: s, id: rand.Text()}
	if s.Closed {
		r.failed("", false, s.ErrClosed)
		return r.findings
	}
	r.client()
	targets, err := r.targets(ctx)
	if err != nil && !r.failed("", false, err) {
		r.add(Finding{Name: "cluster", Level: Fault, What: "the masters can't be asked for", Remedy: "ACL SETUSER with +cluster|slots", Err: err})
	}
	for i := range targets {
		r.target(ctx, &targets[i])
	}
	return r.findings
}

// target checks a server.
func (r *report) target(ctx context.Context, t *target) {
	err := r.Take(ctx, scope, t.key)
	if err != nil && r.failed(t.addr, t.tls, err) {
		return
	}
	r.commands(ctx, t)
	r.info(ctx, t)
	about := func(f Finding) bool { return f.Server == t.addr && f.Level == Fault }
	if err != nil && !slices.ContainsFunc(r.findings, about) {
		r.add(Finding{Name: "scripts", Level: Fault, Server: t.addr, What: "a decision fails", Remedy: "allow scripts, or " + withoutScripts, Err: err})
	}
}
