package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// processes are the workers, from the parent's end.
type processes struct {
	all    []*process
	cancel context.CancelFunc
}

type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

// startProcesses starts a worker for each job and waits until all are ready to
// begin.
func startProcesses(ctx context.Context, jobs []job) (*processes, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("can't find this program: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	p := &processes{cancel: cancel}
	for i, j := range jobs {
		w, err := startProcess(ctx, exe)
		if err == nil {
			p.all = append(p.all, w)
			err = json.NewEncoder(w.in).Encode(j)
		}
		if err != nil {
			p.stop()
			return nil, fmt.Errorf("worker %d: %w", i+1, err)
		}
	}
	for i, w := range p.all {
		var ready bool
		if err := w.out.Decode(&ready); err != nil {
			p.stop()
			return nil, fmt.Errorf("worker %d did not get ready: %w", i+1, err)
		}
	}
	return p, nil
}

func startProcess(ctx context.Context, exe string) (*process, error) {
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

// tell lets all workers begin, or end.
func (p *processes) tell() error {
	for i, w := range p.all {
		if err := json.NewEncoder(w.in).Encode(true); err != nil {
			return fmt.Errorf("worker %d ended early: %w", i+1, err)
		}
	}
	return nil
}

// outcomes waits for what the workers say in the end. When one of them says
// nothing, all are ended.
func (p *processes) outcomes() ([]outcome, error) {
	outcomes := make([]outcome, len(p.all))
	for i, w := range p.all {
		if err := w.out.Decode(&outcomes[i]); err != nil {
			p.cancel()
			return nil, fmt.Errorf("worker %d ended early: %w", i+1, err)
		}
	}
	return outcomes, nil
}

// stop ends the workers that have not ended, and returns when none is left.
func (p *processes) stop() {
	p.cancel()
	for _, w := range p.all {
		_ = w.in.Close()
		_ = w.cmd.Wait() // how it ended was seen in outcomes
	}
}
