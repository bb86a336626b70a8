package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/weirtest"
)

// good is a run of one provider that kept its promise.
func good() *result {
	p := &provider{plan: plans[0]}
	add := func(at time.Duration, worker int, refused weirtest.Refusal) {
		p.calls = append(p.calls, call{at, worker, refused})
	}
	for i := range p.budget() {
		add(time.Duration(i)*time.Millisecond, i%workers, weirtest.NotRefused)
	}
	// The limit is low from 3 s on, and all calls are refused from 10 s on.
	add(3001*time.Millisecond, 0, weirtest.ByLimit)
	add(3090*time.Millisecond, 1, weirtest.ByLimit)
	add(9*time.Second, 2, weirtest.NotRefused)
	add(10010*time.Millisecond, 1, weirtest.ByCommand)
	add(10100*time.Millisecond, 0, weirtest.ByCommand)
	for w := range workers {
		add(13*time.Second+time.Duration(w)*time.Millisecond, w, weirtest.NotRefused)
	}
	return &result{
		enough:    0.80,
		providers: []*provider{p},
		outcomes:  make([]outcome, workers),
		late:      5 * time.Millisecond,
		brakes:    []brake{{3002 * time.Millisecond, p}, {10012 * time.Millisecond, p}},
	}
}

func TestBroken(t *testing.T) {
	t.Parallel()
	if err := good().broken(); err != nil {
		t.Fatalf("a good run: %v", err)
	}
	for _, c := range []struct {
		name  string
		spoil func(*result, *provider)
		want  string
	}{
		{"called in the pause", func(_ *result, p *provider) {
			p.calls = append(p.calls, call{11 * time.Second, 2, weirtest.ByCommand})
		}, "provider one refused 1 calls after it had said that it would"},
		{"refused after the response", func(_ *result, p *provider) {
			p.calls = append(p.calls, call{3200 * time.Millisecond, 2, weirtest.ByLimit})
		}, "provider one refused 1 calls after it had said that it would"},
		{"refused before anything was lowered", func(_ *result, p *provider) {
			p.calls = append(p.calls, call{2 * time.Second, 2, weirtest.ByLimit})
		}, "provider one refused 1 calls after it had said that it would"},
		{"no calls", func(_ *result, p *provider) {
			p.calls = p.calls[:p.budget()]
		}, "provider one was not called when it refused everybody"},
		{"little used", func(_ *result, p *provider) {
			p.calls = p.calls[p.budget()/2:]
		}, "of what provider one allows was used, less than 80 %"},
		{"failed", func(r *result, _ *provider) {
			r.outcomes[1] = outcome{Failed: 3, Failure: "EOF"}
		}, "3 calls of worker 2 failed: EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := good()
			c.spoil(r, r.providers[0])
			if err := r.broken(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			var b bytes.Buffer
			r.print(&b)
			if strings.Contains(b.String(), "The promise held") {
				t.Errorf("it is called good:\n%s", b.String())
			}
		})
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	r := good()
	line := &timeline{w: &b, result: r}
	line.row(10500 * time.Millisecond)
	r.print(&b)
	for _, want := range []string{
		" 3.002s  worker 1 was refused by provider one, and pauses the fleet\n",
		"10.012s  worker 2 was refused by provider one, and pauses the fleet\n",
		"  10.5s    1   1   ·     2 \n",
		"  10.010s  provider one refused worker 2: nothing for 3s\n",
		"  10.012s  the pause was set in the store, 2ms later\n",
		"worker 1 sent its last call at 10.100s and the next at 13.000s\n",
		"worker 3 sent its last call at 9.000s and the next at 13.002s\n",
		"\nThe promise held",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}

// The budget is the sum of the rates' units.
func TestBudget(t *testing.T) {
	t.Parallel()
	for i, want := range []int{252, 272, 282} {
		if got := plans[i].budget(); got != want {
			t.Errorf("provider %s: %d, want %d", plans[i].name, got, want)
		}
	}
}
