package main

import (
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/examples/internal/crew"
	"github.com/goweir/weir/examples/internal/sharedredis"
)

// A worker that dies ends the run at once, and the others with it.
func TestFleetWithoutOneWorker(t *testing.T) {
	t.Parallel()
	s, err := sharedredis.Open(t.Context(), "", "quickstart", limits(0)...)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	up, err := serve(newUpstream(allowances))
	if err != nil {
		t.Fatal(err)
	}
	defer up.close()
	j := job{Redis: s.URL, Limiter: s.Run, Upstream: up.url, Length: time.Minute, Callers: 2}
	f, err := crew.Start(t.Context(), workerEnv, []job{j, j})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Stop()
	if err := f.Commands()[1].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err = f.Tell(); err == nil {
		_, err = crew.Outcomes[tally](f)
	}
	if err == nil || !strings.Contains(err.Error(), "worker 2 ended early") {
		t.Errorf("it ended with %v", err)
	}
	f.Stop()
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	for i, cmd := range f.Commands() {
		if cmd.ProcessState == nil {
			t.Errorf("worker %d was not waited for", i+1)
		}
	}
}

func TestFleetThatCannotStart(t *testing.T) {
	t.Parallel()
	if _, err := crew.Start(t.Context(), workerEnv, []job{{Redis: "ftp://nowhere"}}); err == nil || !strings.Contains(err.Error(), "worker 1 did not get ready") {
		t.Errorf("a worker with a bad job: %v", err)
	}
}
