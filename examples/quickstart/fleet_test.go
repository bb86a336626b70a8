package main

import (
	"strings"
	"testing"
	"time"

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
	f, err := startFleet(t.Context(), 2, job{Redis: s.URL, Limiter: s.Run, Upstream: up.url, Length: time.Minute, Callers: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer f.stop()
	if err := f.workers[1].cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if _, err := f.run(); err == nil || !strings.Contains(err.Error(), "worker 2 ended early") {
		t.Errorf("run: %v", err)
	}
	f.stop()
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
	for i, p := range f.workers {
		if p.cmd.ProcessState == nil {
			t.Errorf("worker %d was not waited for", i+1)
		}
	}
}

func TestFleetThatCannotStart(t *testing.T) {
	t.Parallel()
	if _, err := startFleet(t.Context(), 1, job{Redis: "ftp://nowhere"}); err == nil || !strings.Contains(err.Error(), "worker 1 did not get ready") {
		t.Errorf("a worker with a bad job: %v", err)
	}
}
