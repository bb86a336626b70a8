package fallback_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// spaced is a limit without a burst: one call per 50 ms.
var spaced = store.Limit(weir.PerSecond(20).WithBurst(1))

// absences are ways in which Redis goes away and comes back.
var absences = []struct {
	name       string
	begin, end func(f *fleet)
}{
	{"SIGSTOP", func(f *fleet) { f.server.Stop() }, func(f *fleet) { f.server.Cont() }},
	{"killed, empty after", func(f *fleet) { f.server.Kill() }, func(f *fleet) { f.server.Restart() }},
	{"refused", func(f *fleet) { f.proxy.Set(redistest.Refuse) }, func(f *fleet) { f.proxy.Set(f.well) }},
	{"black hole", func(f *fleet) { f.proxy.Set(redistest.Blackhole) }, func(f *fleet) { f.proxy.Set(f.well) }},
}

// Calls that wait when an outage starts leave one by one, together no faster than the
// limit.
func TestWaitersKeepTheirDistance(t *testing.T) {
	t.Parallel()
	calls, before, during := everywhere(300, long.Or(100, 60)), long.Or(time.Second, 300*time.Millisecond), long.Or(2*time.Second, 1200*time.Millisecond)
	for _, outage := range absences {
		for _, processes := range everywhere([]int{2, 4}, []int{2}) {
			for _, comes := range []string{"at once before it", "at once in it", "one by one"} {
				if !long.Enabled && (comes == "at once before it" || outage.name != "killed, empty after" && outage.name != "SIGSTOP") {
					continue
				}
				t.Run(fmt.Sprintf("%s, %d processes, calls come %s", outage.name, processes, comes), func(t *testing.T) {
					t.Parallel()
					calmly(t, func(t testing.TB, watch *stalls) {
						f := newFleet(t, processes, 0, fallback.Config{Replicas: processes})
						f.recover()
						var mu sync.Mutex
						arrivals := make([][]time.Time, processes)
						gap := time.Duration(0)
						if comes == "one by one" {
							gap = (before + during + during/2) / time.Duration(calls) // They come in the outage, too.
						}
						var wg sync.WaitGroup
						begun := make(chan struct{})
						wg.Go(func() {
							time.Sleep(before)
							outage.begin(f)
							close(begun)
							time.Sleep(during)
							outage.end(f)
						})
						all := f.limiters("spaced", spaced)
						ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
						defer cancel()
						if comes == "at once in it" {
							<-begun
						}
						for i := range calls {
							time.Sleep(gap)
							wg.Go(func() {
								err := all[i%processes].Wait(ctx, "k")
								mu.Lock()
								defer mu.Unlock()
								arrivals[i%processes] = append(arrivals[i%processes], time.Now())
								if err != nil {
									t.Errorf("call %d: %v", i, err)
								}
							})
						}
						wg.Wait()
						judgeArrivals(t, arrivals, watch)
					})
				})
			}
		}
	}
}

// judgeArrivals checks the arrivals of each process.
func judgeArrivals(t testing.TB, arrivals [][]time.Time, watch *stalls) {
	t.Helper()
	var all []time.Time
	most := 0
	for i, of := range arrivals {
		slices.SortFunc(of, time.Time.Compare)
		all = append(all, of...)
		n, at := instant(of, watch)
		most = max(most, n)
		if n > 2 {
			t.Errorf("process %d: %d calls leave at one instant, %v after the first, want 2 at most", i, n, at.Sub(of[0]).Round(time.Millisecond))
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	span := all[len(all)-1].Sub(all[0])
	rate := float64(len(all)-1) / (span.Seconds() * float64(spaced.Rate))
	t.Logf("%d calls in %v: %.3f times the limit; at one instant %d of a process at most", len(all), span.Round(time.Millisecond), rate, most)
	// In a short run, the first calls of each process in and after the outage matter
	// much. They may be late or early by a slot.
	slack := float64(everywhere(1, 2*len(arrivals))) / float64(len(all))
	if rate > 1.02+slack {
		t.Errorf("%d calls left in %v: %.3f times the limit, want at most 1.02", len(all), span.Round(time.Millisecond), rate)
		const step = 250 * time.Millisecond
		for i, of := range arrivals {
			counts := make([]int, span/step+1)
			for _, at := range of {
				counts[at.Sub(all[0])/step]++
			}
			t.Logf("process %d, calls in each %v: %v", i, step, counts)
		}
	}
}

// instant returns the maximum number of calls of a process that left within 5 ms, and the
// time. Calls that leave together after a stall of the machine do not count.
func instant(sorted []time.Time, watch *stalls) (most int, at time.Time) {
	for i, first := range sorted {
		n := 1
		for n < len(sorted)-i && sorted[i+n].Sub(first) < 5*time.Millisecond {
			n++
		}
		if n > most && (n <= 2 || watch == nil || watch.longest(first.Add(-20*time.Millisecond), first.Add(5*time.Millisecond)) < 30*time.Millisecond) {
			most, at = n, first
		}
	}
	return most, at
}

// Four processes of the operating system wait while their Redis is stopped.
func TestWaitersOfProcesses(t *testing.T) {
	t.Parallel()
	const processes = 4
	f := newFleet(t, 0, 0, fallback.Config{})
	w := startWorkers(t, f.proxy.Addr, processes, 50*time.Millisecond)
	w.each(order{Do: "recover"})
	watch := watchStalls(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		time.Sleep(long.Or(time.Second, 300*time.Millisecond))
		f.server.Stop()
		time.Sleep(long.Or(2*time.Second, 800*time.Millisecond))
		f.server.Cont()
	})
	answers := w.each(order{Do: "wait", Limit: spaced, Times: everywhere(300, long.Or(100, 60)) / processes})
	wg.Wait()
	arrivals := make([][]time.Time, processes)
	for i, a := range answers {
		for _, ns := range a.Arrivals {
			arrivals[i] = append(arrivals[i], time.Unix(0, ns))
		}
	}
	judgeArrivals(t, arrivals, watch)
}
