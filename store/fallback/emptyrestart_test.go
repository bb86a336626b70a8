package fallback_test

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// Redis comes back empty, and all processes ask for one key at once. Redis counts the
// lost units once, however many processes know of them.
func TestEmptyRestartChargesOnce(t *testing.T) {
	t.Parallel()
	some := long.Or([]time.Duration{0, 10 * time.Millisecond}, []time.Duration{2 * time.Millisecond})
	rtts := everywhere([]time.Duration{0, 2 * time.Millisecond, 10 * time.Millisecond}, some)
	for _, processes := range []int{1, 4, 8, 16} {
		for _, rtt := range rtts {
			t.Run(fmt.Sprintf("%d processes, RTT %v", processes, rtt), func(t *testing.T) {
				t.Parallel()
				emptyRestart(t, processes, rtt)
			})
		}
	}
}

func emptyRestart(t *testing.T, processes int, rtt time.Duration) {
	const used, rate = 60, 100
	start := time.Now()
	period := undisturbed(time.Hour)
	f := newFleet(t, processes, rtt, fallback.Config{Replicas: processes, Budget: patient})
	f.recover()
	limits := every(rate, period)
	fleets := make([][]*weir.Limiter, len(limits))
	for n, l := range limits {
		fleets[n] = f.limiters(l.Algorithm.String(), l)
		for i := range used {
			if d := allow(t, fleets[n][i%processes], "k"); !d.Allowed || d.Degraded {
				t.Fatalf("%v: call %d before the fault: %+v", l.Algorithm, i, d)
			}
		}
	}
	f.vanish()

	admitted := make([]atomic.Int64, len(limits))
	ask := func(n, i int) {
		d := allow(t, fleets[n][i], "k")
		if d.Allowed {
			admitted[n].Add(1)
		}
		if d.Degraded {
			t.Errorf("%v: decided without Redis after its return", limits[n].Algorithm)
		}
	}
	together(processes*len(limits), func(i int) { ask(i%len(limits), i/len(limits)) })
	time.Sleep(100*time.Millisecond + 5*rtt) // for restores in the background
	for n, l := range limits {
		now := f.used(l.Algorithm.String(), "k", l)
		want, drip := int64(used)+admitted[n].Load(), dripped(l, start)
		if l.Algorithm == store.SlidingCounter {
			drip = 1 // of rounding
		}
		t.Logf("%v: %d used before, %d admitted after, Redis counts %d", l.Algorithm, used, admitted[n].Load(), now)
		if now > want || now < want-drip {
			t.Errorf("%v: %d processes: Redis counts %d of %d as used, want %d: %d before the fault and %d after it. The lost units count %.1f times",
				l.Algorithm, processes, now, rate, want, used, admitted[n].Load(), float64(now-admitted[n].Load())/used)
		}
	}

	// The rest of the limit is admitted, and no more. Then the key is blocked for one
	// window at most.
	var wg sync.WaitGroup
	for n := range limits {
		for i := range processes {
			wg.Go(func() {
				for range rate/processes + 10 {
					ask(n, i)
				}
			})
		}
	}
	wg.Wait()
	for n, l := range limits {
		all, most := used+admitted[n].Load(), rate+dripped(l, start)
		if all > most || all < rate-1 {
			t.Errorf("%v: %d admitted in all, want %d to %d", l.Algorithm, all, rate-1, most)
		}
		if wait := f.blocked(l.Algorithm.String(), "k", l); wait > longestBlock(l) {
			t.Errorf("%v: blocked for %v, the window is %v", l.Algorithm, wait, period)
		}
	}
}

// Eight processes of the operating system call at the same instant.
func TestEmptyRestartOfProcesses(t *testing.T) {
	t.Parallel()
	const processes, used, rate = 8, 64, 100
	start := time.Now()
	limits := every(rate, undisturbed(time.Hour))
	f := newFleet(t, 0, 0, fallback.Config{})
	all := startWorkers(t, f.proxy.Addr, processes, patient)
	all.each(order{Do: "recover"})
	for _, l := range limits {
		for _, a := range all.each(order{Do: "allow", Limit: l, Times: used / processes}) {
			if a.Admitted != used/processes || a.Degraded != 0 {
				t.Fatalf("%v: before the fault: %+v", l.Algorithm, a)
			}
		}
	}
	f.server.Kill()
	all.each(order{Do: "notice"})
	f.server.Restart()
	all.each(order{Do: "recover"})
	for _, l := range limits {
		answers := all.each(order{Do: "allow", Limit: l, Times: 1, At: time.Now().Add(50 * time.Millisecond)})
		admitted := int64(0)
		for _, a := range answers {
			admitted += int64(a.Admitted)
		}
		if slices.ContainsFunc(answers, func(a answer) bool { return a.Degraded > 0 }) {
			t.Errorf("%v: decided without Redis after its return: %+v", l.Algorithm, answers)
		}
		time.Sleep(100 * time.Millisecond) // for restores in the background
		want, now, drip := used+admitted, f.used(l.Algorithm.String(), "k", l), dripped(l, start)
		if l.Algorithm == store.SlidingCounter {
			drip = 1
		}
		if now > want || now < want-drip {
			t.Errorf("%v: Redis counts %d of %d as used, want %d. The lost units count %.1f times", l.Algorithm, now, rate, want, float64(now-admitted)/used)
		}
		if wait := f.blocked(l.Algorithm.String(), "k", l); wait > longestBlock(l) {
			t.Errorf("%v: blocked for %v, the window is %v", l.Algorithm, wait, l.Period)
		}
	}
}
