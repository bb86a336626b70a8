package main

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/weirtest"
)

// workerHeader names the sending worker in a call, for the tables alone.
const workerHeader = "Worker"

// provider is a fake provider and its calls.
type provider struct {
	plan
	server *weirtest.Server

	mu    sync.Mutex
	start time.Time
	calls []call // in the order of their arrival
}

// call is a call that arrived.
type call struct {
	at      time.Duration // from the start on
	worker  int           // from 0 on
	refused weirtest.Refusal
}

func newProvider(p plan) (*provider, error) {
	pr := &provider{plan: p, start: time.Now()}
	var err error
	pr.server, err = weirtest.NewServer(weirtest.ProviderConfig{
		Limits: []weir.Limit{full}, RetryAfter: p.form,
		Hook: func(h http.Header, r *http.Request, a weirtest.Answer) {
			p.dialect(h, r, a)
			pr.note(r, a)
		},
	})
	return pr, err
}

// note runs for each counted call.
func (p *provider) note(r *http.Request, a weirtest.Answer) {
	worker, err := strconv.Atoi(r.Header.Get(workerHeader))
	if err != nil || worker < 0 || worker >= workers {
		return // not our worker
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, call{a.Now.Sub(p.start), worker, a.Refused})
}

// seen returns the calls that arrived so far, in order.
func (p *provider) seen() []call {
	p.mu.Lock()
	defer p.mu.Unlock()
	calls := slices.Clone(p.calls)
	slices.SortStableFunc(calls, func(a, b call) int { return cmp.Compare(a.at, b.at) })
	return calls
}

// event is an action of the provider.
type event struct {
	at   time.Duration
	what string
	do   func() error
}

// events returns its planned actions.
func (p *provider) events() []event {
	set := func(l weir.Limit) func() error { return func() error { return p.server.SetLimits(l) } }
	return []event{
		{p.lowers, "lowers its limit from " + full.String() + " to " + low.String(), set(low)},
		{p.raises, "raises it again", set(full)},
		{p.refuses, "refuses everybody for " + p.closed.String(), func() error { p.server.RefuseFor(p.closed); return nil }},
	}
}
