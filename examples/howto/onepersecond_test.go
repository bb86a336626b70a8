package howto

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/weirtest"
)

// programs returns the clients of web, jobs and cron over three stores.
func programs(t *testing.T, stores []weir.Store, provider *weirtest.Provider) (web, jobs, cron *http.Client) {
	t.Helper()
	clients := make([]*http.Client, 3)
	for i, maxWait := range []time.Duration{WebWait, JobsWait, CronWait} {
		var err error
		if clients[i], err = NewOnePerSecond(stores[i], maxWait, provider.Transport()); err != nil {
			t.Fatal(err)
		}
	}
	return clients[0], clients[1], clients[2]
}

// onePerSecond refuses calls that arrive less than a second apart.
func onePerSecond(t *testing.T) *weirtest.Provider {
	return newProvider(t, weir.PerSecond(1).By(weir.SlidingWindow))
}

func TestOnePerSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider := onePerSecond(t)
		web, jobs, cron := programs(t, shared(t, 3), provider)
		var all sync.WaitGroup
		all.Go(func() {
			if sent, failed := send(t, []*http.Client{jobs}, 20); sent != 20 {
				t.Errorf("%d of 20 jobs were sent: %v", sent, failed)
			}
		})
		synctest.Wait() // 1 job has left, and 19 wait
		start := time.Now()
		_, err := web.Get("https://eu.api.example.com/")
		after, ok := NotSent(err)
		if !ok || time.Since(start) != 0 || after != 21*time.Second {
			t.Fatalf("behind 20 jobs: %v after %v, want a refusal at once", err, time.Since(start))
		}
		time.Sleep(after)
		all.Go(func() {
			if sent, failed := send(t, []*http.Client{cron}, 3); sent != 3 {
				t.Errorf("%d of 3 cron calls were sent: %v", sent, failed)
			}
		})
		begin := time.Now()
		resp, err := web.Get("https://us.api.example.com/")
		if err != nil {
			t.Fatalf("when it may come again: %v", err)
		}
		_ = resp.Body.Close()
		if waited := time.Since(begin); waited > WebWait {
			t.Errorf("a user waited %v, want at most %v", waited, WebWait)
		}
		all.Wait()
		if n := provider.Counts(); n.Refused() != 0 || n.Admitted != 24 {
			t.Errorf("%d calls were admitted and %d refused, want 24 and none", n.Admitted, n.Refused())
		}
		if least := spacing(provider); least < 1050*time.Millisecond {
			t.Errorf("two calls were %v apart, want at least 1.05 s", least)
		}
	})
}

// Each of three programs makes a call each 3.15 s while Redis is away. Their
// first calls may come together.
func TestOnePerSecondWhileRedisIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		provider := newProvider(t) // counts only
		_, jobs, cron := programs(t, away(t, 3), provider)
		start := time.Now()
		if sent, failed := send(t, []*http.Client{jobs, cron}, 5); sent != 10 {
			t.Errorf("%d of 10 calls were sent: %v", sent, failed)
		}
		if took, want := time.Since(start), 4*3150*time.Millisecond; took != want {
			t.Errorf("5 calls of a program took %v, want %v", took, want)
		}
	})
}

func TestOnePerSecondOverRedis(t *testing.T) {
	t.Parallel()
	provider := onePerSecond(t)
	web, jobs, cron := programs(t, overRedis(t, 3), provider)
	web.Timeout, jobs.Timeout, cron.Timeout = 1500*time.Millisecond, 1500*time.Millisecond, 1500*time.Millisecond
	start := time.Now()
	sent, failed := send(t, []*http.Client{web, jobs, cron}, 2)
	most := 1 + int(time.Since(start)/(1050*time.Millisecond)) // 2, or more on a busy machine
	if n := provider.Counts().Refused(); sent < 2 || sent > most || n != 0 {
		t.Errorf("%d calls were sent, want 2 to %d; the provider refused %d", sent, most, n)
	}
	for _, err := range failed {
		if _, ok := NotSent(err); !ok {
			t.Errorf("%v, want a refusal with a time", err)
		}
	}
}
