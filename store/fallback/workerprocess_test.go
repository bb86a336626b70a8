package fallback_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/redisstore"
)

const (
	workerAddr     = "WEIR_TEST_WORKER_ADDR"
	workerReplicas = "WEIR_TEST_WORKER_REPLICAS"
	workerBudget   = "WEIR_TEST_WORKER_BUDGET"
)

// order is a task of a worker.
type order struct {
	Do    string // notice, recover, allow or wait
	Limit store.Limit
	Times int
	At    time.Time // allow and wait start then
}

// answer is the outcome of an order.
type answer struct {
	Admitted, Degraded int
	Arrivals           []int64 // in ns since the Unix epoch
	Errors             []string
}

// worker is a process of the operating system with its own store.
type worker struct {
	orders  *json.Encoder
	answers *json.Decoder
}

type workers struct {
	t   testing.TB
	all []worker
}

// startWorkers starts processes that use the Redis at addr.
func startWorkers(t testing.TB, addr string, n int, budget time.Duration) *workers {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &workers{t: t}
	for range n {
		cmd := exec.Command(exe, "-test.run=^TestWorkerProcess$")
		replicas, _ := json.Marshal(n)
		cmd.Env = append(os.Environ(), workerAddr+"="+addr, workerReplicas+"="+string(replicas), workerBudget+"="+budget.String())
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
		t.Cleanup(func() {
			in.Close()
			_ = cmd.Wait()
		})
		w.all = append(w.all, worker{json.NewEncoder(in), json.NewDecoder(bufio.NewReader(out))})
	}
	return w
}

// each gives all workers an order, and returns their answers.
func (w *workers) each(o order) []answer {
	w.t.Helper()
	answers := make([]answer, len(w.all))
	var wg sync.WaitGroup
	for i, one := range w.all {
		wg.Go(func() {
			if err := one.orders.Encode(o); err != nil {
				w.t.Errorf("worker %d: %v", i, err)
				return
			}
			if err := one.answers.Decode(&answers[i]); err != nil {
				w.t.Errorf("worker %d, %s: %v", i, o.Do, err)
			}
			for _, err := range answers[i].Errors {
				w.t.Errorf("worker %d, %s: %s", i, o.Do, err)
			}
		})
	}
	wg.Wait()
	if w.t.Failed() {
		w.t.FailNow()
	}
	return answers
}

// TestWorkerProcess is a worker, not a test.
func TestWorkerProcess(t *testing.T) {
	addr := os.Getenv(workerAddr)
	if addr == "" {
		return
	}
	var replicas int
	if err := json.Unmarshal([]byte(os.Getenv(workerReplicas)), &replicas); err != nil {
		t.Fatal(err)
	}
	budget, err := time.ParseDuration(os.Getenv(workerBudget))
	if err != nil {
		t.Fatal(err)
	}
	o := &redis.Options{Addr: addr}
	if budget >= patient {
		patientClient(o)
	}
	redisstore.Configure(o)
	c := redis.NewClient(o)
	defer c.Close()
	f := &fleet{t: t}
	s := f.over(c, fallback.Config{Replicas: replicas, Budget: budget})
	f.stores = []*fallback.Store{s}
	orders, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	limiters := make(map[store.Limit]*weir.Limiter)
	for {
		var o order
		if err := orders.Decode(&o); err != nil {
			return // The parent has closed the pipe.
		}
		if limiters[o.Limit] == nil && o.Times > 0 {
			limiters[o.Limit] = limiterOver(t, s, o.Limit.Algorithm.String(), o.Limit)
		}
		if !o.At.IsZero() {
			time.Sleep(time.Until(o.At))
		}
		if err := answers.Encode(f.obey(o, limiters[o.Limit])); err != nil {
			t.Fatal(err)
		}
	}
}

func (f *fleet) obey(o order, l *weir.Limiter) (a answer) {
	switch o.Do {
	case "notice":
		f.notice()
	case "recover":
		f.recover()
	case "allow":
		for range o.Times {
			d, err := l.Allow(context.Background(), "k")
			if err != nil {
				a.Errors = append(a.Errors, err.Error())
			}
			if d.Allowed {
				a.Admitted++
			}
			if d.Degraded {
				a.Degraded++
			}
		}
	case "wait":
		var mu sync.Mutex
		together(o.Times, func(int) {
			err := l.Wait(context.Background(), "k")
			mu.Lock()
			defer mu.Unlock()
			a.Arrivals = append(a.Arrivals, time.Now().UnixNano())
			if err != nil {
				a.Errors = append(a.Errors, err.Error())
			}
		})
	}
	return a
}
