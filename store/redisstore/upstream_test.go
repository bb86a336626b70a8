package redisstore

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/dialects"
	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/weirtest"
)

// caller is a process that runs TestUpstreamCaller, seen from its parent.
type caller struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
}

// startCallers starts one process for each job, all at once.
func startCallers(t *testing.T, jobs ...callerJob) []*caller {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	callers := make([]*caller, len(jobs))
	for i, j := range jobs {
		told, err := json.Marshal(j)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe, "-test.run=^TestUpstreamCaller$")
		cmd.Env = append(os.Environ(), callerEnv+"="+string(told))
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		c := &caller{name: j.Name, cmd: cmd, in: in, out: json.NewDecoder(out)}
		t.Cleanup(func() {
			_ = in.Close()
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		callers[i] = c
	}
	for _, c := range callers {
		var ready bool
		if err := c.out.Decode(&ready); err != nil {
			t.Fatalf("%s did not get ready: %v", c.name, err)
		}
	}
	for _, c := range callers {
		if _, err := io.WriteString(c.in, "go\n"); err != nil {
			t.Fatal(err)
		}
	}
	return callers
}

// report waits for the report of a process.
func (c *caller) report(t *testing.T) (r callerReport) {
	t.Helper()
	if err := c.out.Decode(&r); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	if r.Failure != "" {
		t.Errorf("%s: %s", c.name, r.Failure)
	}
	return r
}

func startUpstream(t *testing.T, cfg weirtest.ProviderConfig) *weirtest.Server {
	t.Helper()
	up, err := weirtest.NewServer(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = up.Close() })
	return up
}

// TestRefusalPausesOtherProcesses: the upstream refuses one process for some seconds. From
// that response on the other process sends nothing until they are over. Then both go on at
// the limit's pace.
func TestRefusalPausesOtherProcesses(t *testing.T) {
	t.Parallel()
	pause := long.Or(3*time.Second, time.Second)
	const (
		tolerance = 100 * time.Millisecond
		window    = 100 * time.Millisecond
	)
	server := redistest.Start(t)
	up := startUpstream(t, weirtest.ProviderConfig{Key: callerName})
	limit := weir.PerSecond(50).WithBurst(2)
	job := callerJob{Redis: server.Addr, Upstream: up.URL, Limit: limit, Goroutines: 10}
	one, other := job, job
	one.Name, other.Name = "one", "other"
	late := watchLateness(t)
	callers := startCallers(t, one, other)
	for len(up.Arrivals().Of("one")) < 20 || len(up.Arrivals().Of("other")) < 20 {
		time.Sleep(10 * time.Millisecond)
	}
	up.Refuse(1, pause)
	for len(up.Arrivals().Refused()) == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	refused := up.Arrivals().Refused()[0]
	for len(up.Arrivals().Between(refused.At.Add(pause), refused.At.Add(time.Hour))) < int(50*pause/time.Second) {
		time.Sleep(10 * time.Millisecond)
	}
	reports := map[string]callerReport{}
	slack := late.stop()
	for _, c := range callers {
		_ = c.in.Close()
		r := c.report(t)
		slack = max(slack, r.Late)
		reports[c.name] = r
	}

	told := time.Unix(0, reports[refused.Key].Refused[0])
	from, to := told.Add(tolerance+slack), told.Add(pause-tolerance)
	for name, r := range reports {
		n, last, first := 0, time.Time{}, time.Time{}
		for _, ns := range r.Sent {
			at := time.Unix(0, ns)
			switch {
			case !at.Before(from) && at.Before(to):
				n++
			case at.Before(from) && at.After(last):
				last = at
			case !at.Before(to) && (first.IsZero() || at.Before(first)):
				first = at
			}
		}
		t.Logf("process %q: last sent %v and first again %v after the response", name, last.Sub(told), first.Sub(told))
		if n != 0 {
			t.Errorf("process %q sent %d in the pause", name, n)
		}
	}
	all := up.Arrivals()
	if n := len(all.Refused()); n != 1 {
		t.Errorf("%d were refused, want 1", n)
	}
	resumed := all.Between(told.Add(tolerance+slack), told.Add(time.Hour))
	most := limit.Max() + int64((window+slack)*time.Duration(limit.Rate)/time.Second)
	t.Logf("%v after the response the first arrived, at most %d of %d within %v; the machine was late by up to %v",
		resumed[0].At.Sub(told), resumed.MaxIn(window), most, window, slack)
	if n := int64(resumed.MaxIn(window)); n > most {
		t.Errorf("%d arrived within %v, want at most %d", n, window, most)
	}
	for _, name := range []string{"one", "other"} {
		if len(resumed.Of(name)) == 0 {
			t.Errorf("process %q did not go on", name)
		}
	}
}

// TestUpstreamsWindowIsUsedByAll: four processes of fifty goroutines use all of an upstream's
// strict window. Each response tells them the remaining units. The upstream refuses no call,
// and each call takes one store call at most.
func TestUpstreamsWindowIsUsedByAll(t *testing.T) {
	t.Parallel()
	const (
		processes, goroutines = 4, 50
		margin                = 600 * time.Millisecond
	)
	windows, window := long.Or(3, 2), long.Or(10*time.Second, 3*time.Second)
	theirs := weir.Per(processes*goroutines, window).By(weir.SlidingWindow)
	for name, dialect := range map[string]dialects.Dialect{"draft 11": dialects.Draft11, "x-ratelimit": dialects.XRateLimitDelta} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			for cost := range int64(2) { // Makes both scripts known.
				take(t, newStore(t, server.Client()), charge("make known", cost, store.Limit(theirs)))
			}
			try := func() (up *weirtest.Server, commands map[string]int, slack time.Duration) {
				up = startUpstream(t, weirtest.ProviderConfig{Limits: []weir.Limit{theirs}, Hook: dialect})
				jobs := make([]callerJob, processes)
				for i := range jobs {
					jobs[i] = callerJob{
						Name: string(rune('a' + i)), Redis: server.Addr, Upstream: up.URL,
						Limit: theirs.Stretch(margin), Goroutines: goroutines, Calls: goroutines * windows,
					}
				}
				late := watchLateness(t)
				commands = server.CommandsDuring(func() {
					for _, c := range startCallers(t, jobs...) {
						r := c.report(t)
						slack = max(slack, r.Late, r.Exchange)
					}
				})
				return up, commands, max(slack, late.stop())
			}
			verdict := func(up *weirtest.Server, commands map[string]int) (faults []string) {
				all, n := up.Arrivals(), up.Counts()
				took := all[len(all)-1].At.Sub(all[0].At)
				// The perfect client uses each window when it opens.
				budget := theirs.Rate * int64(took/theirs.Period+1)
				used := float64(n.Admitted) / float64(budget)
				calls := commands["evalsha"] + commands["eval"]
				t.Logf("%d admitted and %d refused in %v: %.1f %% of its limit; %d decisions, %v",
					n.Admitted, n.Refused(), took, 100*used, calls, commands)
				if n.Refused() != 0 {
					faults = append(faults, fmt.Sprintf("%d were refused", n.Refused()))
				}
				if n.Admitted != int64(processes*goroutines*windows) || used < 0.85 {
					faults = append(faults, fmt.Sprintf("%d admitted in %v, %.1f %% of %d", n.Admitted, took, 100*used, budget))
				}
				// Some waiters take another call: they waited before their process watched for brakes.
				if most := int(n.Admitted) + 4*processes; calls > most {
					faults = append(faults, fmt.Sprintf("%d decisions for %d calls, want at most %d", calls, n.Admitted, most))
				}
				if commands["publish"] != 0 {
					faults = append(faults, fmt.Sprintf("a brake was set %d times, though the limits agree", commands["publish"]))
				}
				return faults
			}
			up, commands, slack := try()
			faults := verdict(up, commands)
			// A call that arrives later than the margin breaks the upstream's limit.
			for tries := 1; len(faults) > 0 && slack > margin/2 && tries < 6; tries++ {
				t.Logf("the machine was late by %v: again after %q", slack, faults)
				time.Sleep(2 * window)
				up, commands, slack = try()
				faults = verdict(up, commands)
			}
			for _, fault := range faults {
				t.Errorf("%s; the machine was late by %v", fault, slack)
			}
		})
	}
}
