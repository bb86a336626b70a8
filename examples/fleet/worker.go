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
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/examples/internal/sharedredis"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/redisstore"
)

// workerEnv makes a process a worker: the program starts itself again.
const workerEnv = "WEIR_FLEET_WORKER"

// job is a worker's input, as JSON on its standard input.
type job struct {
	Redis     string // its URL
	Limiter   string // the limiter's name
	Worker    int    // which one this is
	Providers []string
}

// outcome is a worker's result, as JSON on its standard output.
type outcome struct {
	Failed  int // calls that failed without a refusal
	Failure string
	Late    time.Duration // the maximum delay of this process by the machine
}

// workerMain returns a worker's exit code.
func workerMain() int {
	// Ctrl-C reaches every process of the terminal, but the parent ends its workers.
	signal.Ignore(os.Interrupt, syscall.SIGTERM)
	sharedredis.Silence()
	if err := work(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fleet: worker:", err)
		return 1
	}
	return 0
}

// work reads a job and reports that it is ready. It starts on the parent's signal, and
// reports its outcome on the next one. The end of in, for example by the parent's sudden
// death, ends it without a report.
func work(in io.Reader, out io.Writer) error {
	dec, enc := json.NewDecoder(in), json.NewEncoder(out)
	var j job
	if err := dec.Decode(&j); err != nil {
		return fmt.Errorf("no job: %w", err)
	}
	redis, err := redisstore.Open(j.Redis, redisstore.Config{})
	if err != nil {
		return err
	}
	defer func() { _ = redis.Close() }()
	store, err := fallback.New(fallback.Config{Primary: redis, Replicas: workers})
	if err != nil {
		return err
	}
	w, err := newWorker(j, store)
	if err != nil {
		return err
	}
	defer w.http.CloseIdleConnections()
	var told bool
	if err := errors.Join(enc.Encode(true), dec.Decode(&told)); err != nil {
		return fmt.Errorf("not started: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		if dec.Decode(&told) != nil {
			// Giving slots back to a Redis that died with the parent may hang.
			time.AfterFunc(2*time.Second, func() { os.Exit(1) })
		}
		cancel()
	}()
	return enc.Encode(w.run(ctx))
}

// worker is a process that shares the providers with others. Several of its goroutines
// call through one client.
type worker struct {
	job  job
	http *http.Client
	late *lateness

	mu      sync.Mutex
	outcome outcome
}

// newWorker knows nothing of a provider's plan: its limits are those of newLimiter, and
// the Transport reads the rest from responses.
func newWorker(j job, store weir.Store) (*worker, error) {
	limiter, err := newLimiter(store, j.Limiter)
	if err != nil {
		return nil, err
	}
	late := watchLateness()
	transport, err := weir.NewTransport(weir.TransportConfig{
		Limiter: limiter,
		Key:     weir.KeyHost(),
		Base:    timed{&http.Transport{MaxIdleConnsPerHost: callers}, late},
	})
	return &worker{job: j, http: &http.Client{Transport: transport}, late: late}, err
}

func (w *worker) run(ctx context.Context) outcome {
	var all sync.WaitGroup
	for _, url := range w.job.Providers {
		for range callers {
			all.Go(func() {
				for ctx.Err() == nil {
					if err := w.call(ctx, url); err != nil && ctx.Err() == nil {
						w.mu.Lock()
						w.outcome.Failed++
						w.outcome.Failure = err.Error()
						w.mu.Unlock()
						time.Sleep(100 * time.Millisecond) // a failure may come at once
					}
				}
			})
		}
	}
	all.Wait()
	w.outcome.Late = w.late.stop()
	return w.outcome
}

// call calls a provider like any program. The Transport handles refusals.
func (w *worker) call(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	req.Header.Set(workerHeader, strconv.Itoa(w.job.Worker))
	resp, err := w.http.Do(req)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close())
}

// newLimiter returns the limiter of every process, with the fleet's configured limit.
func newLimiter(store weir.Store, name string) (*weir.Limiter, error) {
	return weir.New(weir.Config{Name: name, Store: store, Limits: []weir.Limit{ours}})
}
