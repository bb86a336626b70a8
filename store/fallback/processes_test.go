package fallback_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
	"github.com/redis/go-redis/v9"
)

const (
	processAddr = "WEIR_TEST_FALLBACK_ADDR"
	processTime = "WEIR_TEST_FALLBACK_TIME"
	processes   = 4

	// probeOfProcesses is the maximum time between the first and the last process to find
	// Redis.
	probeOfProcesses = 500 * time.Millisecond
)

// processLimits are the limits of the processes, each for a key of its own. Each gets
// more calls than it grants. The sliding counter is left out: under constant calls it
// grants less than its rate.
var processLimits = []store.Limit{
	store.Per(100, time.Second),
	store.Per(100, time.Second).By(store.SlidingWindow),
	store.Per(100, time.Second).By(store.FixedWindow),
	store.Per(100, time.Second).By(store.AlignedWindow),
}

// processReport is the report of one process, for each limit.
type processReport struct {
	Admitted [][]int64       // the times of admitted calls, in ns since the Unix epoch
	Stalled  []time.Duration // the time without calls, as on a busy machine
}

// TestProcess is one process of TestProcessesInAnOutage.
func TestProcess(t *testing.T) {
	addr := os.Getenv(processAddr)
	if addr == "" {
		return // Not a test of its own.
	}
	d, err := time.ParseDuration(os.Getenv(processTime))
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(&redis.Options{Addr: addr})
	defer c.Close()
	s := behind(t, c, fallback.Config{Replicas: processes, Probe: probeOfProcesses})
	report := processReport{make([][]int64, len(processLimits)), make([]time.Duration, len(processLimits))}
	var wg sync.WaitGroup
	for i, l := range processLimits {
		wg.Go(func() {
			last := time.Now()
			for end := last.Add(d); time.Now().Before(end); time.Sleep(3 * time.Millisecond) {
				now := time.Now()
				report.Stalled[i] += max(0, now.Sub(last)-10*time.Millisecond)
				last = now
				got, err := s.Take(context.Background(), charge(l.Algorithm.String(), 1, l))
				if err != nil {
					t.Error(err)
				}
				if got.Allowed {
					report.Admitted[i] = append(report.Admitted[i], time.Now().UnixNano())
				}
			}
		})
	}
	wg.Wait()
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		t.Fatal(err)
	}
}

// TestProcessesInAnOutage runs four processes, each with its share, while Redis is away.
// Together they keep to the limits, and use at least 90 % of them. A process that stands still
// uses that much less of its share.
func TestProcessesInAnOutage(t *testing.T) {
	outage, around := long.Or(6*time.Second, 2*time.Second), long.Or(2*time.Second, time.Second)
	if os.Getenv("WEIR_MEASURE") == "1" {
		outage = 30 * time.Second
	}
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all, stalled := make([][]int64, len(processLimits)), make([]time.Duration, len(processLimits))
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range processes {
		wg.Go(func() {
			cmd := exec.Command(exe, "-test.run=^TestProcess$")
			cmd.Env = append(os.Environ(), processAddr+"="+proxy.Addr, processTime+"="+(outage+2*around).String())
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Error(err)
				return
			}
			if err := cmd.Start(); err != nil {
				t.Error(err)
				return
			}
			var report processReport
			decoded := json.NewDecoder(out).Decode(&report)
			if err := cmd.Wait(); err != nil || decoded != nil {
				t.Errorf("a process: %v, %v", err, decoded)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for i := range all {
				all[i] = append(all[i], report.Admitted[i]...)
				stalled[i] += report.Stalled[i]
			}
		})
	}
	time.Sleep(around)
	start := time.Now()
	proxy.Set(redistest.Refuse)
	time.Sleep(outage)
	end := time.Now()
	proxy.Set(redistest.Pass)
	wg.Wait()

	for i, l := range processLimits {
		check := func(what string, start, end time.Time, less, more int64) {
			n := int64(0)
			for _, at := range all[i] {
				if at >= start.UnixNano() && at < end.UnixNano() {
					n++
				}
			}
			limit := int64(float64(l.Rate) * end.Sub(start).Seconds())
			least := limit*9/10 - less - int64(float64(l.Max()/processes)*stalled[i].Seconds())
			most := limit + processes*(l.Max()/processes) + more
			if l.Algorithm != store.GCRA {
				// A stretch of time touches one window more than fits into it.
				most += l.Rate
			}
			t.Logf("%v, %s: %d admitted in %v, the limit grants %d, %d to %d are right; stalls took %v", l.Algorithm, what, n, end.Sub(start), limit, least, most, stalled[i])
			if n > most || n < least {
				t.Errorf("%v, %s: %d admitted in %v, want %d to %d", l.Algorithm, what, n, end.Sub(start), least, most)
			}
		}
		check("in the outage", start, end, 0, 0)
		// Units admitted just before the return count in Redis from the return on. For a
		// window that may be nearly a whole one again.
		first, last := slices.Min(all[i]), slices.Max(all[i])
		// The first process to find Redis has the others' share meanwhile.
		more := l.Max() + int64(float64(l.Rate)*probeOfProcesses.Seconds())
		check("from beginning to end", time.Unix(0, first), time.Unix(0, last), l.Max(), more)
	}
}
