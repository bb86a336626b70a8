package redistest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// endEnv makes TestHelperProcess start servers, and names its end.
const endEnv = "REDISTEST_END"

// No server outlives the test binary, however that ends, not even a stopped server.
func TestServersEndWithTheirParent(t *testing.T) {
	t.Parallel()
	binary(t)
	for _, end := range []string{"SIGKILL", "os.Exit", "panic", "SIGTERM"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestHelperProcess$", "-test.v")
			cmd.Env = append(os.Environ(), endEnv+"="+end, "GORACE=atexit_sleep_ms=0")
			// The helper leaves its directories behind, so they are in this test's.
			cmd.Env = append(cmd.Env, "TMPDIR="+t.TempDir())
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var pids []int
			lines := bufio.NewScanner(stdout)
			for len(pids) == 0 && lines.Scan() {
				list, ok := strings.CutPrefix(lines.Text(), "servers ")
				if !ok {
					continue
				}
				for _, field := range strings.Fields(list) {
					pid, err := strconv.Atoi(field)
					if err != nil {
						t.Fatal(err)
					}
					pids = append(pids, pid)
				}
			}
			if len(pids) != 2 {
				t.Fatalf("the helper started servers %v, want two", pids)
			}
			for _, pid := range pids {
				if gone(pid) {
					t.Fatalf("server %d does not run", pid)
				}
			}
			switch end {
			case "SIGKILL":
				err = cmd.Process.Kill()
			case "SIGTERM":
				err = exec.Command("kill", strconv.Itoa(cmd.Process.Pid)).Run()
			default:
				err = stdin.Close() // the helper waits for this
			}
			if err != nil {
				t.Fatal(err)
			}
			for lines.Scan() {
			}
			if err := cmd.Wait(); err == nil {
				t.Error("the helper ended well, want it to end badly")
			}
			for _, pid := range pids {
				await(t, "a server is left", func() error {
					if !gone(pid) {
						return fmt.Errorf("process %d is in state %q", pid, state(pid))
					}
					return nil
				})
			}
		})
	}
}

// The end of a thread does not end servers that a goroutine on it has started.
func TestServersOutliveTheStartingThread(t *testing.T) {
	t.Parallel()
	binary(t)
	var s *Server
	var wg sync.WaitGroup
	done := make(chan struct{})
	var start func()
	start = func() {
		// A goroutine that ends with a locked thread ends the thread, unless that is the
		// main thread. If this is the main thread, it is held here while another one
		// starts s.
		runtime.LockOSThread()
		if syscall.Gettid() == os.Getpid() {
			wg.Go(start)
			<-done
			return
		}
		defer close(done)
		s = Start(t)
	}
	wg.Go(start)
	wg.Wait()
	if s == nil {
		t.FailNow() // Start has logged why
	}
	select {
	case <-s.proc.done:
		t.Errorf("the server ended: %v", s.proc.err)
	case <-time.After(faultTimeout):
	}
}

// gone reports whether a process has ended. Its new parent may never wait for it, so a
// zombie has ended too.
func gone(pid int) bool {
	s := state(pid)
	return s == "" || s == "Z" || s == "X"
}

func TestHelperProcess(t *testing.T) {
	end := os.Getenv(endEnv)
	if end == "" {
		t.Skip("runs in a process of its own only")
	}
	running, stopped := Start(t), Start(t)
	stopped.Stop()
	fmt.Printf("\nservers %d %d\n", running.proc.cmd.Process.Pid, stopped.proc.cmd.Process.Pid)
	_, _ = os.Stdin.Read(make([]byte, 1)) // until the parent closes it
	switch end {
	case "os.Exit":
		os.Exit(3)
	case "panic":
		go panic("in a goroutine that no test recovers")
		select {}
	}
}
