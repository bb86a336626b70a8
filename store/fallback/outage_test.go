package fallback_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/redisstore"
)

// outcome is the effect of a fault on a service.
type outcome struct {
	firstP50, firstP99 time.Duration // added to requests of the first second
	openP50            time.Duration // added from 100 ms after the breaker opened on
	openP99, openMax   time.Duration
	degraded           int64
	sent, total        int // requests, and their answers
	lost, errors5      int
	changes            int
	causes             []string
	before, most       int // goroutines
	recovery, lag      time.Duration
}

// suffer runs a fault for a time on a service for each kind of client, and waits for
// their recovery.
func suffer(t testing.TB, f fault, during time.Duration, configured ...bool) (outcomes []outcome) {
	b := f.setUp(t, during)
	var services []*service
	for _, configured := range configured {
		primary, err := redisstore.New(redisstore.Config{Client: b.client(configured)})
		if err != nil {
			t.Fatal(err)
		}
		v := serve(t, fallback.Config{Primary: primary})
		defer v.stop()
		services = append(services, v)
	}
	outcomes = make([]outcome, len(services))
	time.Sleep(300 * time.Millisecond)
	for i, v := range services {
		eventually(t, "the service is not well to begin with", v.well)
		outcomes[i].before = v.goroutines()
	}
	for _, v := range services {
		v.reset()
	}
	start := time.Now()
	b.begin()
	time.Sleep(time.Until(start.Add(during)))
	end := time.Now()
	for i, v := range services {
		v.during(&outcomes[i], start, end)
	}
	b.end()
	up := time.Now()
	for i, v := range services {
		eventually(t, "the service does not recover", v.well)
		outcomes[i].recovery = time.Since(up)
	}
	for i, v := range services {
		v.stop()
		v.answers(&outcomes[i])
	}
	return outcomes
}

// during records the events between two instants.
func (v *service) during(o *outcome, start, end time.Time) {
	opened, closed := start, end
	v.mu.Lock()
	if len(v.changes) > 0 {
		opened = v.changes[0]
	}
	if len(v.changes) > 1 {
		closed = v.changes[1]
	}
	o.changes, o.most, o.degraded = len(v.changes), v.most, v.degraded.Load()
	o.causes = slices.Clone(v.causes)
	v.mu.Unlock()
	o.firstP50, o.firstP99, _ = v.between(start, start.Add(time.Second))
	o.openP50, o.openP99, o.openMax = v.between(opened.Add(100*time.Millisecond), closed)
	o.lag = v.lag()
}

// answers counts the clients' requests and answers.
func (v *service) answers(o *outcome) {
	v.mu.Lock()
	defer v.mu.Unlock()
	o.sent, o.lost = len(v.late), len(v.lost)
	for status, n := range v.statuses {
		o.total += n
		if status >= 500 {
			o.errors5 += n
		}
	}
}

// TestOutages checks each fault, with go-redis by default and after redisstore.Configure.
// No request fails, and calls are soon decided locally. Goroutines do not pile up, and
// Redis decides again afterwards.
func TestOutages(t *testing.T) {
	for _, f := range faults[:long.Or(len(faults), 2)] {
		t.Run(f.name, func(t *testing.T) {
			for i, o := range suffer(t, f, 1200*time.Millisecond, false, true) {
				client := clients[i]
				t.Logf("%s: %+v", client, o)
				// Some requests were under way at the reset.
				if o.errors5 > 0 || o.lost > 0 || o.total < o.sent || o.total < 100 {
					t.Errorf("%s: %d answers to %d requests, %d of them 5xx, %d lost", client, o.total, o.sent, o.errors5, o.lost)
				}
				if !f.harmless && o.degraded == 0 {
					t.Errorf("%s: no decision was degraded", client)
				}
				// Each probe may leave one hanging call, with a few goroutines in
				// go-redis and in the proxy.
				if o.most > o.before+100 {
					t.Errorf("%s: %d goroutines, %d before", client, o.most, o.before)
				}
				// A local decision takes microseconds and waits for nothing. The machine
				// adds any longer delay.
				if o.openP50 > 10*time.Millisecond+o.lag || o.openP99 > 40*time.Millisecond+20*o.lag {
					t.Errorf("%s: after the breaker opened, %v were added to half and %v to the slowest percent, with a lag of %v", client, o.openP50, o.openP99, o.lag)
				}
			}
		})
	}
}

var clients = []string{"defaults", "configured"}

// TestMeasureOutages prints the table of docs/outages.md.
func TestMeasureOutages(t *testing.T) {
	if os.Getenv("WEIR_MEASURE") != "1" {
		t.Skip("WEIR_MEASURE=1 measures for about eight minutes")
	}
	ms := func(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond)) }
	fmt.Println("| fault | client | first s p50 | p99 | open p99 | max | requests | 5xx | lost | changes | goroutines | back after |")
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			for i, o := range suffer(t, f, measured, false, true) {
				fmt.Printf("| %s | %s | %s | %s | %s | %s | %d | %d | %d | %d | %d → %d | %s |\n", f.name, clients[i], ms(o.firstP50), ms(o.firstP99),
					ms(o.openP99), ms(o.openMax), o.total, o.errors5, o.lost, o.changes, o.before, o.most, o.recovery.Round(10*time.Millisecond))
				t.Logf("%s: changes: %q", clients[i], o.causes)
			}
		})
	}
}

const measured = 20 * time.Second
