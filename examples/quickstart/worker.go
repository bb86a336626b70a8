package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir"
	"github.com/goweir/weir/examples/internal/sharedredis"
)

// workerEnv makes a process a worker: the program starts itself again.
const workerEnv = "WEIR_QUICKSTART_WORKER"

// job is what a worker is told, as JSON on its standard input.
type job struct {
	Redis    string // its URL
	Limiter  string // the limiter's name
	Upstream string // its URL
	Margin   time.Duration
	Length   time.Duration // of the run
	Callers  int           // goroutines that call
}

// tally is what a worker answers, as JSON on its standard output.
type tally struct {
	Calls     int   // sent, whatever the upstream said
	TurnedOff int   // not sent, because their slot lay past the end of the run
	Redis     int64 // commands sent to Redis
	Failed    int   // calls that failed otherwise
	Failure   string
	Waits     []time.Duration // of the calls that were not sent at once
}

// limits are the upstream's, with windows longer by the margin.
func limits(margin time.Duration) []weir.Limit {
	return []weir.Limit{
		weir.Per(25, 5*time.Second).By(weir.SlidingWindow).Stretch(margin),
		weir.Per(300, time.Minute).By(weir.SlidingWindow).Stretch(margin),
	}
}

// workerMain returns a worker's exit code.
func workerMain() int {
	// Ctrl-C reaches every process of the terminal, but when to end is the
	// parent's to say.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	sharedredis.Silence()
	if err := work(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart: worker:", err)
		return 1
	}
	return 0
}

// work reads a job, says that it is ready, begins when it is told to and says
// how it went. The end of in ends it early: that is what the parent's death,
// however sudden, comes to.
func work(in io.Reader, out io.Writer) error {
	dec, enc := json.NewDecoder(in), json.NewEncoder(out)
	var j job
	if err := dec.Decode(&j); err != nil {
		return fmt.Errorf("no job: %w", err)
	}
	w, err := newWorker(j)
	if err != nil {
		return err
	}
	defer w.close()
	var begin bool
	if err := errors.Join(enc.Encode(true), dec.Decode(&begin)); err != nil {
		return fmt.Errorf("not started: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
		// Giving slots back to a Redis that died with the parent may hang.
		time.Sleep(2 * time.Second)
		os.Exit(1)
	}()
	return enc.Encode(w.run(ctx))
}

// worker is a process that shares the upstream with others: several goroutines
// that call through one client.
type worker struct {
	job   job
	http  *http.Client
	redis *redis.Client
	calls *callCounter
	over  atomic.Bool // the next free slot lies past the end of the run

	mu    sync.Mutex
	tally tally
}

func newWorker(j job) (*worker, error) {
	store, client, err := sharedredis.Connect(j.Redis)
	if err != nil {
		return nil, err
	}
	w := &worker{job: j, redis: client, calls: new(callCounter)}
	client.AddHook(w.calls)
	limiter, err := weir.New(weir.Config{Name: j.Limiter, Store: store, Limits: limits(j.Margin), Hook: weir.HookFunc(w.observe)})
	if err != nil {
		return nil, err
	}
	transport, err := weir.NewTransport(weir.TransportConfig{
		Limiter: limiter,
		Base:    &http.Transport{MaxIdleConnsPerHost: j.Callers},
	})
	w.http = &http.Client{Transport: transport}
	return w, err
}

func (w *worker) close() {
	w.http.CloseIdleConnections()
	_ = w.redis.Close()
}

// observe notes how long calls waited. It is not told of those that did not.
func (w *worker) observe(_ context.Context, e weir.Event) {
	if e.Kind == weir.EventWait && e.Err == nil {
		w.mu.Lock()
		w.tally.Waits = append(w.tally.Waits, e.Wait)
		w.mu.Unlock()
	}
}

func (w *worker) run(ctx context.Context) tally {
	ctx, cancel := context.WithTimeout(ctx, w.job.Length)
	defer cancel()
	var callers sync.WaitGroup
	for range w.job.Callers {
		callers.Go(func() {
			for ctx.Err() == nil && !w.over.Load() {
				if err := w.call(ctx); !w.note(ctx, err) {
					time.Sleep(100 * time.Millisecond) // a Redis that is away fails at once
				}
			}
		})
	}
	callers.Wait()
	w.tally.Redis = w.calls.n.Load()
	return w.tally
}

// call is a call of the upstream as any program would make it.
func (w *worker) call(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.job.Upstream, nil)
	if err != nil {
		return err
	}
	resp, err := w.http.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

// note counts a call, and reports whether it went as it should.
func (w *worker) note(ctx context.Context, err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	var limited *weir.LimitedError
	switch {
	case err == nil:
		w.tally.Calls++
	case errors.As(err, &limited) && limited.Bound == weir.BoundDeadline:
		// Slots only get later: nobody else of this worker need ask.
		w.over.Store(true)
		w.tally.TurnedOff++
	case ctx.Err() == nil:
		w.tally.Failed++
		w.tally.Failure = err.Error()
		return false
	}
	return true
}
