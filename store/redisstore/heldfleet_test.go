package redisstore

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/internal/redistest"
	"github.com/redis/go-redis/v9"
)

const (
	heldAddr = "WEIR_TEST_HELD_ADDR"
	heldMost = 8
	// heldGauge counts the calls in flight of all processes, as a provider would.
	heldGauge = "gauge"
)

// heldCalls is the number of calls of each of thirty goroutines of a process.
var heldCalls = long.Or(40, 10)

// heldUp counts a call in, and reports how many calls are in flight. It is one script, as
// several processes run it.
var heldUp = redis.NewScript(`
local n = redis.call('INCR', KEYS[1])
if n > tonumber(redis.call('GET', KEYS[2]) or 0) then redis.call('SET', KEYS[2], n) end
return n`)

// TestHeldWorker is one process of the tests below. It keeps as many calls in flight as
// possible. In the mode "hang" each call prints a line and does not end.
func TestHeldWorker(t *testing.T) {
	addr, how, _ := strings.Cut(os.Getenv(heldAddr), " ")
	if addr == "" {
		return // Not a test of its own.
	}
	c := redis.NewClient(&redis.Options{Addr: addr, PoolSize: 40, PoolTimeout: time.Minute})
	defer c.Close()
	l, err := weir.New(weir.Config{Name: "api", Store: newStore(t, c), Limits: []weir.Limit{weir.PerSecond(1_000_000)}, InFlight: heldMost, Lease: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			for range heldCalls {
				err := l.Do(ctx, "k", func(context.Context) error {
					if how == "hang" {
						fmt.Println("held")
						time.Sleep(time.Hour)
					}
					if err := heldUp.Run(ctx, c, []string{heldGauge, heldGauge + ":most"}).Err(); err != nil {
						return err
					}
					time.Sleep(3 * time.Millisecond)
					return c.Decr(ctx, heldGauge).Err()
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func startHeldWorker(t *testing.T, addr, how string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^TestHeldWorker$")
	cmd.Env = append(os.Environ(), heldAddr+"="+addr+" "+how)
	cmd.Stderr = os.Stderr
	return cmd
}

// TestFleetInFlight: four processes together never have more calls in flight than the bound.
// They use all of the bound, and leave no lease behind.
func TestFleetInFlight(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client()
	var wg sync.WaitGroup
	start := time.Now()
	for range 4 {
		wg.Go(func() {
			if out, err := startHeldWorker(t, server.Addr, "").Output(); err != nil {
				t.Errorf("a process: %v\n%s", err, out)
			}
		})
	}
	wg.Wait()
	most, err := c.Get(context.Background(), heldGauge+":most").Int()
	if err != nil || most > heldMost || most < heldMost-1 {
		t.Errorf("%d calls were in flight at once (%v), want %d", most, err, heldMost)
	}
	waitForNone(t, c, newStore(t, c), "k")
	t.Logf("%d calls in %v; %v", 4*30*heldCalls, time.Since(start), server.Commands())
}

// TestKilledHolder: leases of a killed process are free once they end. Until then the process
// kept them far longer than one lease lasts.
func TestKilledHolder(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client()
	cmd := startHeldWorker(t, server.Addr, "hang")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	for n, lines := 0, bufio.NewScanner(out); n < heldMost && lines.Scan(); {
		if lines.Text() == "held" {
			n++
		}
	}
	l, err := weir.New(weir.Config{
		Name: "api", Store: newStore(t, c), Limits: []weir.Limit{weir.PerSecond(1_000_000)}, InFlight: heldMost, Lease: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2500*time.Millisecond)
	defer cancel()
	if _, err := l.Acquire(ctx, "k"); err == nil {
		t.Fatal("a lease of a process that lives has ended")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	var leases [heldMost]*weir.Lease
	for i := range leases {
		if leases[i], err = l.Acquire(context.Background(), "k"); err != nil {
			t.Fatal(err)
		}
	}
	// Leases take 1 s, and the next look comes at most 250 ms later. The rest is for a busy
	// machine.
	took := time.Since(killed)
	t.Logf("%d leases were free %v after their process was killed", heldMost, took)
	if took > 3*time.Second {
		t.Errorf("%d leases of 1 s were free only %v after their process was killed", heldMost, took)
	}
	for _, lease := range leases {
		lease.Release()
	}
	waitForNone(t, c, newStore(t, c), "k")
}
