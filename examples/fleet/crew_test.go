package main

import (
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/examples/internal/crew"
	"github.com/goweir/weir/examples/internal/sharedredis"
)

// A worker that dies ends the run and the other workers.
func TestProcessesWithoutOne(t *testing.T) {
	t.Parallel()
	s, err := sharedredis.Open(t.Context(), "", "fleet")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p, err := newProvider(plans[0])
	if err != nil {
		t.Fatal(err)
	}
	defer p.server.Close()
	j := job{Redis: s.URL, Limiter: s.Run, Providers: []string{p.server.URL}}
	f, err := crew.Start(t.Context(), workerEnv, []job{j, j})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Stop()
	if err := f.Tell(); err != nil {
		t.Fatal(err)
	}
	for len(p.seen()) == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := f.Commands()[1].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = f.Tell() // it fails if the killed worker's input is closed
	if _, err := crew.Outcomes[outcome](f); err == nil || !strings.Contains(err.Error(), "worker 2 ended early") {
		t.Errorf("outcomes: %v", err)
	}
	f.Stop()
	for i, cmd := range f.Commands() {
		if cmd.ProcessState == nil {
			t.Errorf("worker %d may still run", i+1)
		}
	}
}

func TestProcessesThatCannotStart(t *testing.T) {
	t.Parallel()
	if _, err := crew.Start(t.Context(), workerEnv, []job{{Redis: "ftp://nowhere"}}); err == nil || !strings.Contains(err.Error(), "worker 1 did not get ready") {
		t.Errorf("a worker with a bad job: %v", err)
	}
}
