package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// fleet is the worker processes.
type fleet struct {
	workers []*process
	cancel  context.CancelFunc
}

// process is the parent's end of a worker.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

// startFleet starts n workers and waits until they are ready to begin.
func startFleet(ctx context.Context, n int, j job) (*fleet, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("can't find this program: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	f := &fleet{cancel: cancel}
	for i := range n {
		p, err := startWorker(ctx, exe)
		if err != nil {
			f.stop()
			return nil, fmt.Errorf("worker %d: %w", i+1, err)
		}
		f.workers = append(f.workers, p)
		if err := json.NewEncoder(p.in).Encode(j); err != nil {
			f.stop()
			return nil, fmt.Errorf("worker %d: %w", i+1, err)
		}
	}
	for i, p := range f.workers {
		var ready bool
		if err := p.out.Decode(&ready); err != nil {
			f.stop()
			return nil, fmt.Errorf("worker %d did not get ready: %w", i+1, err)
		}
	}
	return f, nil
}

func startWorker(ctx context.Context, exe string) (*process, error) {
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(), workerEnv+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	// A worker ends when its input does. One that has not after a while is
	// killed.
	cmd.Cancel = in.Close
	cmd.WaitDelay = 3 * time.Second
	return &process{cmd: cmd, in: in, out: json.NewDecoder(out)}, cmd.Start()
}

// run lets all workers begin and returns what each did. When one ends early, so
// do the others.
func (f *fleet) run() ([]tally, error) {
	tallies := make([]tally, len(f.workers))
	var all sync.WaitGroup
	var first error
	var once sync.Once
	for i, p := range f.workers {
		all.Go(func() {
			err := json.NewEncoder(p.in).Encode(true)
			if err == nil {
				err = p.out.Decode(&tallies[i])
			}
			if err != nil {
				once.Do(func() { first = fmt.Errorf("worker %d ended early: %w", i+1, err) })
				f.cancel()
			}
		})
	}
	all.Wait()
	return tallies, first
}

// stop ends the workers that have not ended, and returns when none is left.
func (f *fleet) stop() {
	f.cancel()
	for _, p := range f.workers {
		_ = p.in.Close()
		_ = p.cmd.Wait() // how it ended was seen in run
	}
}
