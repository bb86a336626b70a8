// Package crew runs a program's worker processes: the program itself, started
// again with an environment variable set. A worker reads its job as JSON from
// its standard input and answers true on its standard output when it is ready;
// it is told true to begin, and whatever else the program agrees with it, and
// answers with its outcome in the end. The end of its input ends it: that is
// what the parent's death, however sudden, comes to.
package crew

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

// Group is the workers of a program, from the parent's end.
type Group struct {
	all    []*worker
	cancel context.CancelFunc
}

type worker struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

// Start starts a worker for each job, with env set to 1, and waits until all are
// ready to begin.
func Start[Job any](ctx context.Context, env string, jobs []Job) (*Group, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("can't find this program: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	g := &Group{cancel: cancel}
	for i, job := range jobs {
		w, err := start(ctx, exe, env)
		if err == nil {
			g.all = append(g.all, w)
			err = json.NewEncoder(w.in).Encode(job)
		}
		if err != nil {
			g.Stop()
			return nil, fmt.Errorf("worker %d: %w", i+1, err)
		}
	}
	for i, w := range g.all {
		var ready bool
		if err := w.out.Decode(&ready); err != nil {
			g.Stop()
			return nil, fmt.Errorf("worker %d did not get ready: %w", i+1, err)
		}
	}
	return g, nil
}

func start(ctx context.Context, exe, env string) (*worker, error) {
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(), env+"=1")
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
	return &worker{cmd: cmd, in: in, out: json.NewDecoder(out)}, cmd.Start()
}

// Tell tells all workers to begin, or the next thing that they wait for.
func (g *Group) Tell() error {
	for i, w := range g.all {
		if err := json.NewEncoder(w.in).Encode(true); err != nil {
			return ended(i, err)
		}
	}
	return nil
}

// Outcomes waits for what the workers say in the end. When one ends early, so do
// the others.
func Outcomes[Outcome any](g *Group) ([]Outcome, error) {
	outcomes := make([]Outcome, len(g.all))
	var all sync.WaitGroup
	var once sync.Once
	var first error
	for i, w := range g.all {
		all.Go(func() {
			if err := w.out.Decode(&outcomes[i]); err != nil {
				once.Do(func() { first = ended(i, err) })
				g.cancel()
			}
		})
	}
	all.Wait()
	return outcomes, first
}

func ended(i int, err error) error { return fmt.Errorf("worker %d ended early: %w", i+1, err) }

// Stop ends the workers that have not ended, and returns when none is left.
func (g *Group) Stop() {
	g.cancel()
	for _, w := range g.all {
		_ = w.in.Close()
		_ = w.cmd.Wait() // how it ended was seen in Outcomes
	}
}

// Commands returns the workers' processes, for tests.
func (g *Group) Commands() []*exec.Cmd {
	cmds := make([]*exec.Cmd, len(g.all))
	for i, w := range g.all {
		cmds[i] = w.cmd
	}
	return cmds
}
