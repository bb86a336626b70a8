package leaktest

import (
	"bytes"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"testing"
	"time"
)

// TestMain runs more tests at once than there are processors, as most of them wait. A
// flag of the command line overrides this.
func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8")
	Main(m)
}

// childEnv holds the misbehaviour of TestChild, BenchmarkChild and FuzzChild. Empty: they
// do nothing.
const childEnv = "LEAKTEST_CHILD"

// child runs this test binary again and returns its exit code and its output.
func child(t *testing.T, behaviour string, args ...string) (int, string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	// The race detector would sleep for a second at the child's exit.
	cmd.Env = append(os.Environ(), childEnv+"="+behaviour, "GORACE=atexit_sleep_ms=0")
	// A failing fuzz target writes its input below the working directory.
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatalf("the child did not run: %v", err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

func TestMainExit(t *testing.T) {
	t.Parallel()
	const leak = "leaktest: goroutines still running after the tests: 1\n"
	test := []string{"-test.run=^TestChild$", "-test.count=1"}
	bench := []string{"-test.run=^$", "-test.bench=^BenchmarkChild$", "-test.benchtime=10x"}
	profile := append([]string{"-test.cpuprofile=cpu.prof", "-test.trace=trace.out"}, test...)
	fuzz := []string{"-test.run=^$", "-test.fuzz=^FuzzChild$", "-test.fuzztime=20x", "-test.parallel=2", "-test.fuzzcachedir=cache"}

	cases := []struct {
		name      string
		behaviour string
		args      []string
		code      int
		want      []string // parts of the output
		unwanted  string   // no part of the output; "": none
	}{
		{"clean", "", test, 0, nil, leak},
		{"a goroutine that stays", "leak", test, 1, []string{leak, "leakForever"}, ""},
		{"two goroutines that stay", "leak two", test, 1, []string{"tests: 2\n"}, ""},
		{"a goroutine that takes a while to end", "slow", test, 0, nil, leak},
		{"a connection whose body was closed", "close", test, 0, nil, leak},
		{"a connection whose body was never closed", "body", test, 1, []string{"net/http.(*persistConn).readLoop"}, ""},
		{"the signal loop", "signal", test, 0, nil, leak},
		{"a test that fails keeps its own report", "fail", test, 1, []string{"this test fails"}, leak},
		{"profiling", "", profile, 0, nil, leak},
		{"a clean benchmark", "", bench, 0, []string{"BenchmarkChild"}, leak},
		{"a benchmark that leaks", "leak bench", bench, 1, []string{"leakForever"}, ""},
		{"fuzzing", "", fuzz, 0, []string{"fuzz: elapsed"}, leak},
		{"fuzz workers are not checked", "leak fuzz", fuzz, 0, []string{"fuzz: elapsed"}, leak},
		{"a fuzz target that fails", "fail fuzz", fuzz, 1, []string{"this target fails", "Failing input written"}, leak},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			code, out := child(t, tc.behaviour, tc.args...)
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			for _, want := range tc.want {
				if !strings.Contains(out, want) {
					t.Errorf("the output lacks %q", want)
				}
			}
			if tc.unwanted != "" && strings.Contains(out, tc.unwanted) {
				t.Errorf("the output has %q", tc.unwanted)
			}
			if t.Failed() {
				t.Logf("output of the child:\n%s", out)
			}
		})
	}
}

func TestChild(t *testing.T) {
	switch os.Getenv(childEnv) {
	case "leak":
		go leakForever()
	case "leak two":
		go leakForever()
		go leakForever()
	case "slow":
		// It ends by the clock after the test. Main must wait for it.
		go time.Sleep(300 * time.Millisecond)
	case "close":
		get(t).Close()
	case "body":
		_ = get(t)
	case "signal":
		c := make(chan os.Signal, 1)
		signal.Notify(c, os.Interrupt)
		signal.Stop(c)
	case "fail":
		go leakForever()
		t.Fatal("this test fails")
	}
}

func BenchmarkChild(b *testing.B) {
	if os.Getenv(childEnv) == "leak bench" && b.N == 1 {
		go leakForever()
	}
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
		}
	})
}

func FuzzChild(f *testing.F) {
	f.Add([]byte("seed"))
	f.Fuzz(func(t *testing.T, data []byte) {
		switch behaviour := os.Getenv(childEnv); {
		case behaviour == "leak fuzz" && fuzzWorker():
			go leakForever()
		case behaviour == "fail fuzz" && fuzzWorker() && string(data) != "seed":
			t.Fatal("this target fails")
		}
	})
}

func leakForever() { select {} }

// get asks a server that outlives the test for a page, through the default client. It
// returns the body, with an unread rest.
func get(t *testing.T) io.Closer {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write(bytes.Repeat([]byte("x"), 1<<20))
	}))
	t.Cleanup(func() {
		// Close would wait for the connection, and close idle ones itself.
		s.Listener.Close()
		s.Config.SetKeepAlivesEnabled(false)
	})
	res, err := http.Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return res.Body
}
