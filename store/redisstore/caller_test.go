package redisstore

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/redis/go-redis/v9"
)

// callerEnv holds the job of a calling process, as JSON.
const callerEnv = "WEIR_TEST_CALLER"

// callerJob is the job of such a process.
type callerJob struct {
	Name       string // sent with each call
	Redis      string // address
	Upstream   string // URL
	Limit      weir.Limit
	Goroutines int
	Calls      int // of all goroutines together; 0: until standard input ends
}

// callerReport is its result, with instants in ns since the Unix epoch.
type callerReport struct {
	Sent     []int64       // when calls left
	Refused  []int64       // when responses with 429 arrived
	Failure  string        // of a call; empty: none
	Late     time.Duration // the longest delay of a timer
	Exchange time.Duration // the longest, from a call's departure to its response
}

// callerName returns the upstream's key for a process.
func callerName(r *http.Request) string { return r.Header.Get("Caller") }

// TestUpstreamCaller runs as a process of other tests, and calls an upstream.
func TestUpstreamCaller(t *testing.T) {
	told := os.Getenv(callerEnv)
	if told == "" {
		return // Not a test of its own.
	}
	var j callerJob
	if err := json.Unmarshal([]byte(told), &j); err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(&redis.Options{Addr: j.Redis, PoolSize: 16, PoolTimeout: time.Minute})
	defer c.Close()
	l, err := weir.New(weir.Config{Store: newStore(t, c), Limits: []weir.Limit{j.Limit}, Name: "upstream"})
	if err != nil {
		t.Fatal(err)
	}
	base := &http.Transport{MaxIdleConnsPerHost: j.Goroutines}
	defer base.CloseIdleConnections()
	p := &callerProcess{job: j, base: base}
	tr, err := weir.NewTransport(weir.TransportConfig{Limiter: l, Key: weir.KeyHost(), Base: p})
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(true); err != nil {
		t.Fatal(err)
	}
	if _, err := in.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	late := watchLateness(t)
	p.run(ctx, &http.Client{Transport: tr})
	p.report.Late = late.stop()
	if err := out.Encode(p.report); err != nil {
		t.Fatal(err)
	}
}

// callerProcess makes the calls. As the base of its Transport it notes requests and
// responses.
type callerProcess struct {
	job   callerJob
	base  http.RoundTripper
	calls atomic.Int64

	mu     sync.Mutex
	report callerReport
}

func (p *callerProcess) run(ctx context.Context, client *http.Client) {
	var wg sync.WaitGroup
	for range p.job.Goroutines {
		wg.Go(func() {
			for ctx.Err() == nil && (p.job.Calls == 0 || int(p.calls.Add(1)) <= p.job.Calls) {
				if err := p.call(ctx, client); err != nil && !errors.Is(err, context.Canceled) {
					p.mu.Lock()
					p.report.Failure = err.Error()
					p.mu.Unlock()
					return
				}
			}
		})
	}
	wg.Wait()
}

func (p *callerProcess) call(ctx context.Context, client *http.Client) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.job.Upstream, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Caller", p.job.Name)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

// RoundTrip implements http.RoundTripper.
func (p *callerProcess) RoundTrip(req *http.Request) (*http.Response, error) {
	sent := time.Now()
	resp, err := p.base.RoundTrip(req)
	answered := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report.Sent = append(p.report.Sent, sent.UnixNano())
	p.report.Exchange = max(p.report.Exchange, answered.Sub(sent))
	if err == nil && resp.StatusCode == http.StatusTooManyRequests {
		p.report.Refused = append(p.report.Refused, answered.UnixNano())
	}
	return resp, err
}

// lateness measures how late this process gets to run.
type lateness struct {
	worst time.Duration
	end   chan struct{}
	done  chan struct{}
}

func watchLateness(t *testing.T) *lateness {
	t.Helper()
	l := &lateness{end: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		const every = 2 * time.Millisecond
		for {
			start := time.Now()
			select {
			case <-l.end:
				return
			case <-time.After(every):
				l.worst = max(l.worst, time.Since(start)-every)
			}
		}
	}()
	return l
}

// stop returns the longest delay. It is called once.
func (l *lateness) stop() time.Duration {
	close(l.end)
	<-l.done
	return l.worst
}
