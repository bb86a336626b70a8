package fallback_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/redisstore"
)

// patient is a Budget that a busy machine keeps. Tests of the books use it.
const patient = 2 * time.Second

// fleet is a Redis behind a proxy, and processes that share it. Each process has a store
// and a client of its own.
type fleet struct {
	t       testing.TB
	server  *redistest.Server
	proxy   *redistest.Proxy
	well    redistest.Fault // the network without a fault
	stores  []*fallback.Store
	opened  atomic.Int64  // times that a breaker opened
	admin   *redis.Client // goes around the proxy
	replica string        // the address of a lagging one
}

// newFleet starts a Redis and processes that are rtt away from it.
func newFleet(t testing.TB, processes int, rtt time.Duration, cfg fallback.Config, opts ...func(*redis.Options)) *fleet {
	t.Helper()
	server := redistest.Start(t, "--enable-debug-command", "yes")
	return fleetOver(t, server, processes, rtt, cfg, opts...)
}

// fleetOver is newFleet for a running server.
func fleetOver(t testing.TB, server *redistest.Server, processes int, rtt time.Duration, cfg fallback.Config, opts ...func(*redis.Options)) *fleet {
	t.Helper()
	f := &fleet{t: t, server: server, proxy: redistest.NewProxy(t, server.Addr)}
	if rtt > 0 {
		f.well = redistest.Delay(rtt / 2)
	}
	f.proxy.Set(f.well)
	f.admin = server.Client()
	for range processes {
		f.join(cfg, opts...)
	}
	return f
}

// join starts one more process.
func (f *fleet) join(cfg fallback.Config, opts ...func(*redis.Options)) *fallback.Store {
	f.t.Helper()
	o := &redis.Options{Addr: f.proxy.Addr}
	for _, opt := range opts {
		opt(o)
	}
	if cfg.Budget >= patient {
		patientClient(o)
	}
	redisstore.Configure(o)
	client := redis.NewClient(o)
	f.t.Cleanup(func() { _ = client.Close() })
	s := f.over(client, cfg)
	f.stores = append(f.stores, s)
	return s
}

// patientClient gives a client the patience of the tests of the books.
func patientClient(o *redis.Options) {
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = patient, patient, patient, patient
}

// over returns a store over a client.
func (f *fleet) over(client redis.UniversalClient, cfg fallback.Config) *fallback.Store {
	f.t.Helper()
	primary, err := redisstore.New(redisstore.Config{Client: client, RoundTrips: 3}) // the tests count commands
	if err != nil {
		f.t.Fatal(err)
	}
	cfg.Primary, cfg.Logger = primary, slog.New(slog.DiscardHandler)
	cfg.OnChange = func(c fallback.Change) {
		if c.Err != nil {
			f.opened.Add(1)
		}
	}
	s, err := fallback.New(cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// limiters returns the limiter of each process for one limit.
func (f *fleet) limiters(name string, l store.Limit) []*weir.Limiter {
	f.t.Helper()
	var all []*weir.Limiter
	for _, s := range f.stores {
		all = append(all, limiterOver(f.t, s, name, l))
	}
	return all
}

func limiterOver(t testing.TB, s store.Store, name string, l store.Limit) *weir.Limiter {
	t.Helper()
	limiter, err := weir.New(weir.Config{Store: s, Name: name, Limits: []weir.Limit{weir.Limit(l)}})
	if err != nil {
		t.Fatal(err)
	}
	return limiter
}

// direct returns a store over Redis alone, without a memory.
func (f *fleet) direct() *redisstore.Store {
	f.t.Helper()
	s, err := redisstore.New(redisstore.Config{Client: f.admin})
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// used returns the number of used units in Redis.
func (f *fleet) used(name, key string, l store.Limit) int64 {
	f.t.Helper()
	d, err := limiterOver(f.t, f.direct(), name, l).Peek(context.Background(), key)
	if err != nil {
		f.t.Fatal(err)
	}
	return l.Max() - d.Remaining
}

// blocked returns the wait for one more unit in Redis. It takes the unit if that is free.
func (f *fleet) blocked(name, key string, l store.Limit) time.Duration {
	f.t.Helper()
	d, err := limiterOver(f.t, f.direct(), name, l).Allow(context.Background(), key)
	if err != nil {
		f.t.Fatal(err)
	}
	return d.RetryAfter
}

// notice makes calls of other keys until every breaker is open.
func (f *fleet) notice() {
	f.t.Helper()
	f.until("the breaker is closed", func(s *fallback.Store, _ store.Decision) bool {
		return s.State() != fallback.StateClosed
	})
}

// recover makes calls of other keys until Redis decides for every process.
func (f *fleet) recover() {
	f.t.Helper()
	f.until("Redis does not decide", func(s *fallback.Store, d store.Decision) bool {
		return s.State() == fallback.StateClosed && !d.Degraded
	})
}

// until makes calls of other keys in every process until done.
func (f *fleet) until(what string, done func(*fallback.Store, store.Decision) bool) {
	f.t.Helper()
	var wg sync.WaitGroup
	for i, s := range f.stores {
		wg.Go(func() {
			req := store.Request{Charges: []store.Charge{{Scope: "other", Key: fmt.Sprint(i), Limit: store.Per(1_000_000, time.Hour), Cost: 1}}}
			for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
				d, err := s.Take(context.Background(), req)
				switch known := err == nil && done(s, d); {
				case known && req.Cancelable:
					return
				case known:
					req.Cancelable, req.MaxWait = true, time.Hour // Redis gets the script of such calls, too.
				}
				if time.Now().After(end) {
					_, cause := s.Away()
					f.t.Errorf("process %d: %s after a minute: state %v, %v, %v", i, what, s.State(), err, cause)
					return
				}
			}
		})
	}
	wg.Wait()
}

// vanish restarts Redis without its memory, and waits until every process has noticed.
func (f *fleet) vanish() {
	f.t.Helper()
	f.proxy.Set(redistest.Refuse)
	f.server.Kill()
	f.notice()
	f.server.Restart()
	f.proxy.Set(f.well)
	f.recover()
}

// restartQuietly restarts Redis without its memory. All connections end before, so no call of
// a process fails that makes none meanwhile.
func (f *fleet) restartQuietly() {
	f.t.Helper()
	f.server.Kill()
	eventually(f.t, "connections outlive the server", func() bool { return f.proxy.Open() == 0 })
	f.server.Restart()
}

// allow makes one call. It fails the test on an error.
func allow(t testing.TB, l *weir.Limiter, key string) weir.Decision {
	t.Helper()
	d, err := l.Allow(context.Background(), key)
	if err != nil {
		t.Error(err)
	}
	return d
}

// together runs f for each index below n at one instant, and waits.
func together(n int, f func(i int)) {
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
}

// undisturbed returns a period of about d, whose aligned window does not end within two
// minutes.
func undisturbed(d time.Duration) time.Duration {
	for ; ; d += d / 60 {
		if left := d - time.Duration(time.Now().UnixNano())%d; left > 2*time.Minute {
			return d
		}
	}
}

// dripped returns the units that a GCRA limit regains since a time.
func dripped(l store.Limit, since time.Time) int64 {
	if l.Algorithm != store.GCRA {
		return 0
	}
	return int64(float64(l.Rate)*float64(time.Since(since))/float64(l.Period)) + 1
}

// stalls notes the times in which this process could not run.
type stalls struct {
	mu   sync.Mutex
	from []time.Time
	took []time.Duration
}

// watchStalls watches until the test ends.
func watchStalls(t testing.TB) *stalls {
	s := &stalls{}
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			at := time.Now()
			time.Sleep(2 * time.Millisecond)
			if took := time.Since(at); took > 10*time.Millisecond {
				s.mu.Lock()
				s.from, s.took = append(s.from, at), append(s.took, took)
				s.mu.Unlock()
			}
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	return s
}

// longest returns the longest stall between two instants.
func (s *stalls) longest(from, to time.Time) (most time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, at := range s.from {
		if at.Before(to) && at.Add(s.took[i]).After(from) {
			most = max(most, s.took[i])
		}
	}
	return most
}

// trial is a test that notes its errors.
type trial struct {
	testing.TB
	mu     sync.Mutex
	faults []string
}

func (t *trial) Errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.faults = append(t.faults, fmt.Sprintf(format, args...))
}

func (t *trial) Error(args ...any) { t.Errorf("%s", fmt.Sprint(args...)) }

// forCalm is how long a busy machine may take to have a moment without stalls.
const forCalm = 2 * time.Minute

// calmly tells a story. A stall of the machine makes a probe of one process fail, so a story
// with a fault and a stall is told again, three times in all, or forCalm.
func calmly(t testing.TB, story func(t testing.TB, watch *stalls)) {
	t.Helper()
	for try, begun := 1, time.Now(); ; try++ {
		one, watch, from := &trial{TB: t}, watchStalls(t), time.Now()
		story(one, watch)
		if stall := watch.longest(from, time.Now()); len(one.faults) > 0 && stall > 20*time.Millisecond && (try < 3 || time.Since(begun) < forCalm) {
			t.Logf("again, as a stall took %v: %q", stall, one.faults)
			continue
		}
		for _, fault := range one.faults {
			t.Error(fault)
		}
		return
	}
}

// everywhere returns all with WEIR_MEASURE=1, else some: all takes many minutes.
func everywhere[T any](all, some T) T {
	if os.Getenv("WEIR_MEASURE") == "1" {
		return all
	}
	return some
}

// longestBlock returns the longest wait for a unit of a used-up limit: its window, and
// for a sliding counter also until a unit of a full window has faded.
func longestBlock(l store.Limit) time.Duration {
	if l.Algorithm == store.SlidingCounter {
		return l.Period + 2*l.Period/time.Duration(l.Rate)
	}
	return l.Period
}
