package weirtest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/goweir/weir/internal/deadline"
	"github.com/goweir/weir/store"
)

// ServeHTTP implements http.Handler.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.cfg.Travel != nil && deadline.Sleep(r.Context(), p.cfg.Travel(r)) != nil {
		return // the client has gone
	}
	if p.cfg.KeepBodies > 0 {
		r = r.WithContext(r.Context()) // a copy, as its body is replaced
	}
	body, err := p.readBody(w, r)
	if err != nil {
		if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong {
			http.Error(w, "weirtest: the body is longer than KeepBodies", http.StatusRequestEntityTooLarge)
			return
		}
		http.Error(w, "weirtest: the body could not be read", http.StatusBadRequest)
		return
	}
	costs, err := p.costs(r, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}

	key := p.cfg.Key(r)
	answer := p.decide(key, costs, body)
	if answer.Refused == NotRefused {
		defer p.leave(key)
	}
	h := w.Header()
	h.Set("Date", answer.Now.UTC().Format(http.TimeFormat))
	if answer.Refused != NotRefused {
		p.cfg.RetryAfter.set(h, answer)
	}
	if p.cfg.Hook != nil {
		p.cfg.Hook(h, r, answer)
	}

	switch {
	case answer.Refused == ByInFlight:
		http.Error(w, "too many requests at once", p.cfg.InFlightStatus)
	case answer.Refused != NotRefused:
		http.Error(w, "too many requests", p.cfg.Status)
	case p.cfg.Latency != nil && deadline.Sleep(r.Context(), p.cfg.Latency(r)) != nil:
		return // the client has gone
	case p.cfg.Handler != nil:
		p.cfg.Handler.ServeHTTP(w, r)
	default:
		_, _ = io.WriteString(w, "ok\n")
	}
	if answer.Refused == NotRefused {
		rewind(r, body)
		p.settle(r, answer, costs, body)
	}
}

// settle gives back the units that a served request did not use.
func (p *Provider) settle(r *http.Request, answer Answer, costs []int64, body []byte) {
	if p.cfg.Settle == nil {
		return
	}
	less := make([]int64, len(costs))
	for i, s := range answer.Limits {
		less[i] = costs[i] - max(0, p.cfg.Settle(r, s.Limit))
		rewind(r, body)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at, taken := p.instant(time.Now()), p.instant(answer.Now)
	for i, m := range p.accounts[answer.Key].meters { // A key with a request being served is never forgotten.
		if less[i] > 0 {
			m.giveBack(at, taken, less[i])
		}
	}
}

// readBody returns the body if bodies are kept, and rewinds it.
func (p *Provider) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if p.cfg.KeepBodies == 0 || r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, p.cfg.KeepBodies))
	if err != nil {
		return nil, err
	}
	rewind(r, body)
	return body, nil
}

func rewind(r *http.Request, body []byte) {
	if body != nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
}

// costs returns the request's cost for each limit.
func (p *Provider) costs(r *http.Request, body []byte) ([]int64, error) {
	if p.accounts == nil {
		return nil, &store.ConfigError{Field: "weirtest.Provider", Want: "one made by NewProvider", Got: "a zero one"}
	}
	limits := p.Limits()
	costs := make([]int64, len(limits))
	for i, l := range limits {
		costs[i] = p.cfg.Cost(r, l)
		rewind(r, body)
		if costs[i] < 0 {
			return nil, fmt.Errorf("weirtest: the cost of %s is %d, want 0 or more", l.Policy(), costs[i])
		}
	}
	return costs, nil
}

// decide counts one request, and charges it if it is admitted.
func (p *Provider) decide(key string, costs []int64, body []byte) Answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	// Under the lock, so that instants never go back.
	now := time.Now()
	at := p.instant(now)
	a := p.account(at, key)
	answer := Answer{Now: now, Key: key}
	answer.Refused, answer.RetryAfter = p.refuse(a, now, at, costs)
	if answer.Refused == NotRefused {
		for i, m := range a.meters {
			if costs[i] > 0 {
				m.take(at, costs[i])
			}
		}
		a.inFlight++
		p.counts.InFlight++
		p.counts.MaxInFlight = max(p.counts.MaxInFlight, p.counts.InFlight)
	}
	for i, m := range a.meters {
		answer.Limits = append(answer.Limits, LimitState{Limit: p.limits[i], Remaining: m.remaining(at), ResetAfter: m.reset(at)})
	}
	p.counts.note(answer.Refused)
	p.arrivals.add(Arrival{At: now, Key: key, Refused: answer.Refused, Body: body})
	return answer
}

// refuse returns the reason to refuse a request, and for how long if that is known.
// The provider is locked.
func (p *Provider) refuse(a *account, now time.Time, at int64, costs []int64) (Refusal, time.Duration) {
	switch {
	case now.Before(p.command.until):
		return ByCommand, p.command.until.Sub(now)
	case p.command.requests > 0:
		p.command.requests--
		return ByCommand, p.command.retryAfter
	case p.cfg.MaxInFlight > 0 && a.inFlight >= p.cfg.MaxInFlight:
		return ByInFlight, 0
	}
	var wait time.Duration
	for i, m := range a.meters {
		switch {
		case costs[i] > p.limits[i].Max():
			wait = store.Never
		case costs[i] > 0:
			wait = max(wait, m.wait(at, costs[i]))
		}
	}
	if wait > 0 {
		return ByLimit, wait
	}
	return NotRefused, 0
}

// leave ends the service of an admitted request.
func (p *Provider) leave(key string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts.InFlight--
	// A key with a request being served is never forgotten.
	p.accounts[key].inFlight--
}
