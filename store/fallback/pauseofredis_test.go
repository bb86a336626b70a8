package fallback_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// moments are faults too short to open a breaker.
var moments = []struct {
	name  string
	cause func(t testing.TB, f *fleet)
}{
	{"DEBUG SLEEP of 60 ms", func(t testing.TB, f *fleet) {
		if err := f.admin.Do(context.Background(), "debug", "sleep", "0.06").Err(); err != nil {
			t.Fatal(err)
		}
	}},
	{"SIGSTOP for 60 ms", func(_ testing.TB, f *fleet) {
		f.server.Stop()
		time.Sleep(60 * time.Millisecond)
		f.server.Cont()
	}},
	{"one connection killed", killOne},
}

// killOne kills a connection that has asked for a decision. On a busy machine all calls may
// just have timed out, and their connections with them.
func killOne(t testing.TB, f *fleet) {
	var ids []string
	eventually(t, "no connection asks for decisions", func() bool {
		list, err := f.admin.ClientList(context.Background()).Result()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(list) {
			if strings.Contains(line, "cmd=eval") {
				ids = append(ids, strings.TrimPrefix(strings.Fields(line)[0], "id="))
			}
		}
		return len(ids) > 0
	})
	if err := f.admin.ClientKillByFilter(context.Background(), "ID", ids[rand.IntN(len(ids))]).Err(); err != nil {
		t.Fatal(err)
	}
}

// One short pause of Redis, or one killed connection, opens no breaker, however many
// callers there are.
func TestShortPauseOpensNothing(t *testing.T) {
	if long.Race {
		t.Skip("with the race detector calls take longer than the pause")
	}
	t.Parallel()
	brief := map[string]int{"DEBUG SLEEP of 60 ms": 64, "SIGSTOP for 60 ms": 8, "one connection killed": 256}
	for _, moment := range moments {
		for _, callers := range long.Or([]int{1, 8, 64, 256}, []int{brief[moment.name]}) {
			t.Run(fmt.Sprintf("%s, %d callers", moment.name, callers), func(t *testing.T) {
				t.Parallel()
				rounds, gap := everywhere(10, 4), 300*time.Millisecond
				if moment.name == "one connection killed" {
					rounds, gap = everywhere(50, long.Or(20, 5)), 200*time.Millisecond
				}
				f := newFleet(t, 1, 0, fallback.Config{})
				f.recover()
				slow, watch := watchAnswers(t, f.proxy.Addr), watchStalls(t)
				ctx, cancel := context.WithCancel(context.Background())
				var wg sync.WaitGroup
				var local, asked atomic.Int64
				// More callers make no more calls: this process has to be idle most of
				// the time.
				pace := max(5*time.Millisecond, time.Duration(callers)*100*time.Microsecond)
				for i := range callers {
					wg.Go(func() {
						req := charge(fmt.Sprint("k", i%16), 1, store.Per(1_000_000_000, time.Hour))
						for ; ctx.Err() == nil; time.Sleep(pace) {
							d, err := f.stores[0].Take(context.Background(), req)
							if err != nil {
								t.Error(err)
							}
							asked.Add(1)
							if d.Degraded {
								local.Add(1)
							}
						}
					})
				}
				opened, tried, dropped, before := 0, 0, 0, int64(0)
				for tried < rounds && dropped < 15*rounds {
					time.Sleep(gap)
					f.recover()
					slow.reset()
					time.Sleep(20 * time.Millisecond)
					n, start, begun := f.opened.Load(), local.Load(), time.Now()
					moment.cause(t, f)
					time.Sleep(gap)
					// A longer absence of Redis is an outage, and may open it. A machine that
					// stands still looks the same to this process.
					open := f.opened.Load() > n
					if open && (slow.most() > 85*time.Millisecond || watch.longest(begun, time.Now()) > 10*time.Millisecond) {
						dropped++
						continue
					}
					tried++
					before += local.Load() - start
					if open {
						opened++
					}
				}
				cancel()
				wg.Wait()
				t.Logf("%d of %d opened the breaker, %d calls decided locally each; it opened in %d rounds more, as the machine stood still", opened, tried, before/int64(max(tried, 1)), dropped)
				if opened > 0 {
					t.Errorf("%s, %d callers: %d of %d opened the breaker, want none. %d of %d calls were decided without Redis", moment.name, callers, opened, tried, local.Load(), asked.Load())
				}
				if tried == 0 {
					t.Fatal("it opened each time, as the machine stood still")
				}
			})
		}
	}
}

// answers measures the time without an answer of Redis in time. Slow answers in a row are
// one absence, as calls fail throughout.
type answers struct {
	mu      sync.Mutex
	last    time.Time // the last answer in time
	longest time.Duration
}

func (a *answers) reset() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.longest = 0
}

// most returns the longest absence since the last reset.
func (a *answers) most() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(a.longest, time.Since(a.last))
}

func (a *answers) answered(took time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now := time.Now(); took < 45*time.Millisecond {
		a.last, a.longest = now, max(a.longest, now.Sub(a.last))
	}
}

// watchAnswers sends PING on a connection of its own until the test ends, by the way of the calls.
func watchAnswers(t testing.TB, addr string) *answers {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	a := &answers{last: time.Now()}
	var wg sync.WaitGroup
	wg.Go(func() {
		for r := bufio.NewReader(conn); ; time.Sleep(time.Millisecond) {
			start := time.Now()
			if _, err := conn.Write([]byte("PING\r\n")); err != nil {
				return
			}
			if _, err := r.ReadString('\n'); err != nil {
				return
			}
			a.answered(time.Since(start))
		}
	})
	t.Cleanup(func() { conn.Close(); wg.Wait() })
	return a
}
