package leaktest

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// This test and the next look at all goroutines, so they are not parallel.
func TestLeaked(t *testing.T) {
	before := running()
	stop := make(chan struct{})
	go func() { <-stop }()
	if got := leaked(before, 0); len(got) != 1 || !strings.Contains(got[0].stack, "TestLeaked.func1") {
		t.Errorf("leaked = %q, want the one goroutine of this test", got)
	}
	close(stop)
	if got := leaked(before, patience); len(got) != 0 {
		t.Errorf("leaked = %q after the end of the goroutine, want none", got)
	}
}

func TestRunningGrowsItsBuffer(t *testing.T) {
	// 1000 stacks of more than 100 bytes each do not fit the first buffer.
	const n = 1000
	before := running()
	stop := make(chan struct{})
	for range n {
		go func() { <-stop }()
	}
	if got := len(leaked(before, 0)); got != n {
		t.Errorf("%d goroutines leaked, want %d", got, n)
	}
	close(stop)
	if got := len(leaked(before, patience)); got != 0 {
		t.Errorf("%d goroutines leaked after their end, want none", got)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		dump string
		want []string
	}{
		{"nothing", "", nil},
		{"no header", "main.main()\n\t/src/main.go:1\n", nil},
		{"one", "goroutine 1 [running]:\nmain.main()\n", []string{"1"}},
		{"two", "goroutine 1 [running]:\nmain.main()\n\ngoroutine 27 [select, 2 minutes]:\nmain.f()\n", []string{"1", "27"}},
		{"locked to its thread", "goroutine 9 [syscall, locked to thread]:\nmain.f()\n", []string{"9"}},
		{"with addresses", "goroutine 9 gp=0xc000007dc0 m=nil [chan receive]:\nmain.f()\n", []string{"9"}},
		{"cut off in a header", "goroutine 1 [running]:\nmain.main()\n\ngoroutine", []string{"1"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := slices.Sorted(maps.Keys(parse(tc.dump)))
			if !slices.Equal(got, tc.want) {
				t.Errorf("ids %q, want %q", got, tc.want)
			}
		})
	}
}

func TestHarmless(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		stack string
		want  bool
	}{
		{"the main goroutine", "goroutine 1 [running]:\nmain.main()\n\t/src/main.go:1", false},
		{"the signal loop", "goroutine 5 [syscall]:\nos/signal.signal_recv()\ncreated by os/signal.Notify.func1.1 in goroutine 1\n\t/src/signal.go:1", true},
		{"finalizers", "goroutine 5 [finalizer wait]:\nruntime.runFinalizers()\ncreated by runtime.createfing in goroutine 1\n\t/src/mfinal.go:1", true},
		{"a CPU profile", "goroutine 5 [sleep]:\nruntime/pprof.profileWriter()\ncreated by runtime/pprof.StartCPUProfile in goroutine 1\n\t/src/pprof.go:1", true},
		{"blocked in the runtime", "goroutine 5 [sleep]:\nruntime.gopark()\ncreated by example.com/a.F in goroutine 1\n\t/src/a.go:1", false},
		{"a package that sounds alike", "goroutine 5 [sleep]:\nruntimes.F()\ncreated by runtimes.F in goroutine 1\n\t/src/a.go:1", false},
		{"a test that hangs", "goroutine 5 [sleep]:\na.TestF()\ncreated by testing.(*T).Run in goroutine 1\n\t/src/testing.go:1", false},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := (goroutine{stack: tc.stack}).harmless(); got != tc.want {
				t.Errorf("harmless = %v, want %v", got, tc.want)
			}
		})
	}
}
