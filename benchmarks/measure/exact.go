package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/data"
)

// childEnv makes a process of this program a child of Exact, and holds its order.
const childEnv = "WEIR_BENCHMARKS_CHILD"

// order is the task of a child.
type order struct {
	Contender string
	Addrs     []string
	Key       string
	Callers   int
	Calls     int // per caller
	Limit     contender.Limit
}

// ExactCase names the case of Exact.
const ExactCase = "4 processes × 64 callers"

// Exact starts 4 processes with 64 callers each, which ask for more than the limit
// admits. It counts the admitted calls.
func Exact(r *Run) {
	s := new(scope)
	defer s.close()
	_, at := s.server()
	limit := contender.Limit{Burst: size(r, int64(5000), 500), Refill: time.Hour, Window: 1000 * time.Hour}
	for _, c := range r.those(func(c contender.Contender) bool {
		return c.Redis != nil && !c.Physical && c.Name != "weir (three limits)"
	}) {
		pass := 0
		r.passes(func() {
			pass++
			if r.gaveUp(data.Exact, ExactCase, c.Name) {
				return
			}
			o := order{
				Contender: c.Name, Addrs: at.Addrs, Key: fmt.Sprint("exact-", pass),
				Callers: 64, Calls: int(limit.Burst) / 64, Limit: limit,
			}
			start := time.Now()
			admitted, err := together(o, 4)
			if err != nil {
				r.fail(data.Exact, ExactCase, c.Name, err)
				return
			}
			r.add(data.Exact, ExactCase, c.Name, data.Admitted, float64(admitted))
			r.add(data.Exact, ExactCase, c.Name, data.Most, float64(limit.Burst))
			r.add(data.Exact, ExactCase, c.Name, data.Seconds, time.Since(start).Seconds())
		})
	}
}

// together runs an order in n processes, and returns the sum of admitted calls.
func together(o order, n int) (int64, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return 0, err
	}
	program, err := os.Executable()
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var sum atomic.Int64
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range errs {
		all.Go(func() {
			cmd := exec.CommandContext(ctx, program)
			cmd.Env = append(os.Environ(), childEnv+"="+string(text))
			var said strings.Builder
			cmd.Stderr = &said
			out, err := cmd.Output()
			if err != nil {
				errs[i] = fmt.Errorf("a process: %w: %s", err, said.String())
				return
			}
			var admitted int64
			_, errs[i] = fmt.Sscanf(lastLine(string(out)), "admitted %d", &admitted)
			sum.Add(admitted)
		})
	}
	all.Wait()
	return sum.Load(), errors.Join(errs...)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// Child carries out this process's order, if it has one, and reports whether it had.
func Child() bool {
	if text := os.Getenv(wireEnv); text != "" {
		if err := serveWire(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return true
	}
	text := os.Getenv(childEnv)
	if text == "" {
		return false
	}
	admitted, err := obey(text)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("admitted", admitted)
	return true
}

func obey(text string) (int64, error) {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return 0, err
	}
	for _, c := range contender.All() {
		if c.Name == o.Contender {
			return o.carryOut(c)
		}
	}
	return 0, fmt.Errorf("there is no contender %q", o.Contender)
}

func (o order) carryOut(c contender.Contender) (int64, error) {
	s := new(scope)
	defer s.close()
	decide, err := c.Redis(s, o.Limit, contender.Servers{Addrs: o.Addrs})
	if err != nil {
		return 0, err
	}
	var admitted atomic.Int64
	var all sync.WaitGroup
	for range o.Callers {
		all.Go(func() {
			for range o.Calls {
				// A failed decision admits no call.
				if allowed, err := decide(context.Background(), o.Key); err == nil && allowed {
					admitted.Add(1)
				}
			}
		})
	}
	all.Wait()
	return admitted.Load(), nil
}
