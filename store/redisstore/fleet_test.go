package redisstore

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// fleetLimits are the limits of the fleet's calls.
var fleetLimits = []store.Limit{
	store.Per(500, time.Second).WithBurst(100),
	store.Per(100, 300*time.Millisecond).By(store.SlidingWindow),
	store.Per(1, 500*time.Millisecond),
}

const fleetAddr = "WEIR_TEST_FLEET_ADDR"

// fleetTime is how long the fleet calls.
var fleetTime = long.Or(5*time.Second, time.Second)

// outcomes are the server's times, in µs, of calls under one limit.
type outcomes struct{ Admitted, Refused []int64 }

// TestFleetWorker is one process of TestFleetStaysWithinItsLimits. Its 64 goroutines call as
// fast as they can, and report the outcomes.
func TestFleetWorker(t *testing.T) {
	addr := os.Getenv(fleetAddr)
	if addr == "" {
		return // Not a test of its own.
	}
	c := redis.NewClient(&redis.Options{Addr: addr, PoolSize: 16, PoolTimeout: time.Minute})
	defer c.Close()
	s := newStore(t, c)
	seen := make([]outcomes, len(fleetLimits))
	var mu sync.Mutex
	var wg sync.WaitGroup
	end := time.Now().Add(fleetTime)
	for i := range 64 {
		wg.Go(func() {
			limit := i % len(fleetLimits)
			req := charge(fmt.Sprint("fleet ", limit), 1, fleetLimits[limit])
			for time.Now().Before(end) {
				d, err := s.Take(context.Background(), req)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				if d.Allowed {
					seen[limit].Admitted = append(seen[limit].Admitted, int64(d.At))
				} else {
					seen[limit].Refused = append(seen[limit].Refused, int64(d.At))
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err := json.NewEncoder(os.Stdout).Encode(seen); err != nil {
		t.Fatal(err)
	}
}

// TestFleetStaysWithinItsLimits runs four processes of 64 goroutines on a real server. By
// the server's clock, the admitted calls never exceed a limit, and no call is refused while
// there is room.
func TestFleetStaysWithinItsLimits(t *testing.T) {
	server := redistest.Start(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	all := make([]outcomes, len(fleetLimits))
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			cmd := exec.Command(exe, "-test.run=^TestFleetWorker$")
			cmd.Env = append(os.Environ(), fleetAddr+"="+server.Addr)
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
			var mine []outcomes
			err = json.NewDecoder(out).Decode(&mine)
			for rest := bufio.NewScanner(out); rest.Scan(); {
				if err != nil {
					t.Log(rest.Text())
				}
			}
			if werr := cmd.Wait(); err != nil || werr != nil {
				t.Errorf("worker: %v, %v", err, werr)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			for i := range mine {
				all[i].Admitted = append(all[i].Admitted, mine[i].Admitted...)
				all[i].Refused = append(all[i].Refused, mine[i].Refused...)
			}
		})
	}
	wg.Wait()
	refused := 0
	for i, l := range fleetLimits {
		at, no := all[i].Admitted, all[i].Refused
		slices.Sort(at)
		slices.Sort(no)
		if len(at) == 0 {
			t.Fatalf("%v: nothing was admitted", l)
		}
		t.Logf("%v %v: %d admitted in %d ms, %d refused", l.Algorithm, l, len(at), (at[len(at)-1]-at[0])/1000, len(no))
		refused += len(no)
		if l.Algorithm == store.SlidingWindow {
			if worst := worstWindow(at, l.Period.Microseconds()); worst > l.Rate {
				t.Errorf("%v: a window holds %d", l, worst)
			}
		} else if j := exceeds(at, l); j >= 0 {
			t.Errorf("%v: admission %d of %d came too early", l, j, len(at))
		}
		if j := wronglyRefused(at, no, l); j >= 0 {
			t.Errorf("%v: there was room for refusal %d of %d", l, j, len(no))
		}
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
}

// worstWindow returns the largest number of instants in any half-open interval of a length.
func worstWindow(at []int64, length int64) (worst int64) {
	first := 0
	for i := range at {
		for at[first] <= at[i]-length {
			first++
		}
		worst = max(worst, int64(i-first+1))
	}
	return worst
}

// exceeds returns the first admission with at least burst + rate·t admissions before it,
// counted from any earlier one; -1: none.
func exceeds(at []int64, l store.Limit) int {
	// tat and at are in units of 1/rate µs, so they are whole.
	period := l.Period.Microseconds()
	var tat int64
	for i := range at {
		now := (at[i] - at[0]) * l.Rate
		tat = max(tat, now) + period
		if tat-l.Max()*period > now {
			return i
		}
	}
	return -1
}

// wronglyRefused returns the first refusal at an instant with room; -1: none. Units admitted
// in the same microsecond count as admitted before.
func wronglyRefused(at, refused []int64, l store.Limit) int {
	period := l.Period.Microseconds()
	var tat int64 // as in exceeds
	n := 0        // admitted so far
	first := 0    // of the window
	for j, now := range refused {
		for ; n < len(at) && at[n] <= now; n++ {
			tat = max(tat, (at[n]-at[0])*l.Rate) + period
		}
		for first < n && at[first] <= now-period {
			first++
		}
		room := int64(n-first) < l.Rate
		if l.Algorithm == store.GCRA {
			now := (now - at[0]) * l.Rate
			room = max(tat, now)+period-l.Max()*period <= now
		}
		if room {
			return j
		}
	}
	return -1
}
