// Package crew runs a program's worker processes: the program itself, started again with
// an environment variable. The parent writes to a worker's standard input, and reads its
// standard output, both as JSON:
//
//	parent              worker
//	its job
//	                    true, when it is ready
//	true, to begin
//	further signals of the program
//	                    its outcome
//
// The end of its input, for example by the parent's sudden death, ends a worker.
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

// Group is a program's workers, seen from the parent.
type Group struct {
	all    []*worker
	cancel context.CancelFunc
}

type worker struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

// Start starts a worker for each job, with env set to 1, and waits until all are ready to
// begin.
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
	// The end of its input ends a worker. A worker that goes on is killed after a while.
	cmd.Cancel = in.Close
	cmd.WaitDelay = 3 * time.Second
	return &worker{cmd: cmd, in: in, out: json.NewDecoder(out)}, cmd.Start()
}

// Tell gives all workers the signal to begin, or the next one.
func (g *Group) Tell() error {
	for i, w := range g.all {
		if err := json.NewEncoder(w.in).Encode(true); err != nil {
			return ended(i, err)
		}
	}
	return nil
}

// Outcomes returns the outcomes of all workers. If one ends early, the others end too.
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

// Stop ends the remaining workers, and returns when all have ended.
func (g *Group) Stop() {
	g.cancel()
	for _, w := range g.all {
		_ = w.in.Close()
		_ = w.cmd.Wait() // Outcomes has the error
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
