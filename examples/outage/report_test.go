package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/store/fallback"
)

// good is a run of two seconds that kept its promise.
func good() *play {
	o := options{duration: 2 * time.Second, rate: 200, replicas: 2}
	p := &play{options: o, redis: new(script), customers: customers(200), meter: newMeter(3, 2), length: 2 * time.Second}
	p.phases = []phase{{name: "up", to: time.Second}, {name: "killed", outage: true, from: time.Second, to: 2 * time.Second}}
	p.told = []second{
		{at: time.Second, counts: counts{requests: 200, byRedis: 200}, closed: 2, p50: 500 * time.Microsecond, p99: 2 * time.Millisecond},
		{at: 2 * time.Second, phase: 1, outages: 2, counts: counts{requests: 200, byRedis: 1, locally: 199}, closed: 1, p50: 200 * time.Microsecond, p99: 3 * time.Millisecond},
	}
	p.told[0].customers = []served{{50, 40, 10}, {100, 100, 0}, {50, 50, 0}}
	p.told[0].promised = []int64{40, 120, 200}
	p.told[1].customers = []served{{100, 60, 40}, {200, 180, 20}, {100, 100, 0}}
	p.told[1].promised = []int64{80, 240, 400}
	for _, s := range p.told {
		p.meter.total.add(s.counts)
	}
	p.changes = []change{
		{1010 * time.Millisecond, 1, fallback.Change{Err: errors.New("connection\nrefused")}},
		{1990 * time.Millisecond, 1, fallback.Change{After: 980 * time.Millisecond}},
	}
	return p
}

func TestBroken(t *testing.T) {
	t.Parallel()
	if err := good().broken(); err != nil {
		t.Fatalf("a good run: %v", err)
	}
	for _, c := range []struct {
		name  string
		spoil func(*play)
		want  string
	}{
		{"lost", func(p *play) { p.meter.total.lost, p.meter.loss = 2, errors.New("EOF") }, "2 requests were lost, the first because of: EOF"},
		{"5xx", func(p *play) { p.meter.total.failed = 1 }, "1 requests were answered with a 5xx"},
		{"at the end", func(p *play) { p.told[1].customers[1].admitted = 241 }, "pro was admitted 241 times in the first 2s, where 240 are promised"},
		{"on the way", func(p *play) { p.told[0].customers[0].admitted = 41 }, "free was admitted 41 times in the first 1s, where 40 are promised"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := good()
			c.spoil(p)
			if err := p.broken(); err == nil || err.Error() != c.want {
				t.Errorf("%v, want %q", err, c.want)
			}
			var b bytes.Buffer
			p.report(&b)
			if strings.Contains(b.String(), "boring") {
				t.Errorf("it is called boring:\n%s", b.String())
			}
		})
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := good()
	p.introduce(&b)
	for _, s := range p.told {
		s.print(&b, p.phases[s.phase].name, p.replicas)
	}
	p.report(&b)
	for _, want := range []string{
		"redis:  a script, nowhere\n        killed from 1s to 2s\n",
		"load:   200 requests per second for 2s; free asks for 50 of 20, pro asks for 100 of 60, max asks for 50 of 100 per second\n",
		"  1s  up           closed     200     0       40/40     100/120      50/200    0.5ms    2.0ms    0\n",
		"  2s  killed       1/2 open     1   199       60/80     180/240     100/400    0.2ms    3.0ms    0\n",
		"  up           0 to 1           200      200        0     2.0ms    0\n",
		"  killed       1 to 2           200        1      199     3.0ms    0\n",
		"  free  20 per second       100       40       60             60         2 x 10        80\n",
		"  max   100 per second      100        0      100            300         2 x 50       400\n",
		"    1.010s  replica 1: redis is away: connection refused\n",
		"    1.990s  replica 1: redis is back after 980ms\n",
		"  requests                 400 in 2.0s\n",
		"  lost                     0\n",
		"  answered with a 5xx      0\n",
		"  decided                  201 by redis, 199 locally, 0 undecided\n",
		"\nThe outages were boring",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}
