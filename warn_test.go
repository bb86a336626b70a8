package weir_test

import (
	"context"
	"log"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/weirtest"
)

// warnings holds the lines of slog's default logger until the end of the test. The test
// must not be parallel.
type warnings struct {
	mu   sync.Mutex
	text []byte
}

func (w *warnings) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, p...)
	return len(p), nil
}

func (w *warnings) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.text)
}

func newWarnings(t *testing.T) *warnings {
	w := new(warnings)
	before := slog.Default()
	t.Cleanup(func() {
		slog.SetDefault(before)
		log.SetOutput(os.Stderr) // SetDefault changed it, too
	})
	slog.SetDefault(slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelWarn})))
	return w
}

// count returns the number of warnings with a text, once all goroutines of the bubble
// wait.
func (w *warnings) count(text string) int {
	synctest.Wait()
	return strings.Count(w.String(), text)
}

const (
	slowText  = "a call has waited for over a minute; a shorter MaxWait or deadline refuses such calls"
	stuckText = "holds all calls in flight"
)

// TestSlowCallsAreLogged: calls wait until their contexts are cancelled.
func TestSlowCallsAreLogged(t *testing.T) {
	day := weir.Config{Limits: []weir.Limit{weir.PerDay(1)}}
	wait := func(ctx context.Context, l *weir.Limiter) { _ = l.Wait(ctx, "key") }
	for _, tt := range []struct {
		name  string
		cfg   weir.Config
		calls int
		call  func(context.Context, *weir.Limiter)
		lasts time.Duration // of the contexts
		slow  time.Duration // when the first warning comes at the latest; 0: never
	}{
		{"a slot far ahead", day, 1, wait, time.Hour, time.Minute},
		{"a slot far ahead, many calls", day, 10, wait, time.Hour, time.Minute},
		{"the context ends before", day, 1, wait, time.Minute - 1, 0},
		{"a long line", weir.Config{Limits: []weir.Limit{weir.PerSecond(1).WithBurst(1)}}, 100, wait, time.Hour, 61 * time.Second},
		{"a short line", weir.Config{Limits: []weir.Limit{weir.PerSecond(1).WithBurst(1)}}, 59, wait, time.Hour, 0},
		{"of the background class", day, 2, func(ctx context.Context, l *weir.Limiter) { wait(weir.InBackground(ctx), l) }, time.Hour, time.Minute},
		{"a pause meanwhile", weir.Config{Limits: []weir.Limit{weir.PerSecond(1).WithBurst(1)}}, 1, func(ctx context.Context, l *weir.Limiter) {
			time.AfterFunc(time.Second/2, func() { _ = l.Pause(context.Background(), "key", time.Hour) })
			wait(ctx, l)
		}, time.Minute + time.Second, 61 * time.Second},
		{"levels", day, 1, func(ctx context.Context, l *weir.Limiter) {
			_, _, _ = weir.WaitLevels(ctx, 48*time.Hour, weir.Level{Limiter: l, Key: "key"})
		}, time.Hour, time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				logged := newWarnings(t)
				l := onLocal(t, tt.cfg)
				if err := l.Wait(t.Context(), "key"); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context()) // A deadline would refuse at once.
				time.AfterFunc(tt.lasts, cancel)
				done := make(chan struct{})
				for range tt.calls {
					go func() {
						tt.call(ctx, l)
						done <- struct{}{}
					}()
				}
				time.Sleep(59 * time.Second)
				if n := logged.count(slowText); n != 0 {
					t.Errorf("%d warnings before a minute", n)
				}
				time.Sleep(max(0, tt.slow-59*time.Second))
				want := int(min(1, tt.slow))
				if n := logged.count(slowText); n != want {
					t.Errorf("%d warnings after %v, want %d", n, tt.slow, want)
				}
				for range tt.calls {
					<-done
				}
				if n := logged.count(slowText); n != want || want > 0 && logged.count("limiter=api") != 1 || logged.count("key=") > 0 {
					t.Errorf("%d warnings, want %d:\n%s", n, want, logged)
				}
				time.Sleep(2 * time.Second)
			})
		})
	}
}

// TestStuckCallsAreLogged: calls in flight take longer than the time of a lease.
func TestStuckCallsAreLogged(t *testing.T) {
	for _, tt := range []struct {
		name    string
		callers int
		lasts   time.Duration // a call
		stuck   int           // warnings
	}{
		{"none is released", 3, time.Hour, 1},
		{"room for another", 1, time.Hour, 0},
		{"all are busy, each for less than a lease", 3, 9 * time.Second, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				logged := newWarnings(t)
				l := onLocal(t, weir.Config{Limits: []weir.Limit{plenty}, InFlight: 2, Lease: 10 * time.Second})
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				done := make(chan struct{})
				for range tt.callers {
					go func() {
						for ctx.Err() == nil {
							if lease, err := l.Acquire(ctx, "key"); err == nil {
								time.Sleep(tt.lasts)
								lease.Release()
							}
						}
						done <- struct{}{}
					}()
				}
				time.Sleep(10 * time.Second)
				if n := logged.count(stuckText); n != 0 {
					t.Errorf("%d warnings within the time of a lease", n)
				}
				time.Sleep(4 * time.Second)
				if n := logged.count(stuckText); n != tt.stuck {
					t.Errorf("%d warnings, want %d", n, tt.stuck)
				}
				for range tt.callers {
					<-done
				}
				if n := logged.count(stuckText); n != tt.stuck || tt.stuck > 0 && logged.count("limiter=api in_flight=2 lease=10s") != 1 {
					t.Errorf("%d warnings, want %d:\n%s", n, tt.stuck, logged)
				}
				noFlights(t, l)
			})
		})
	}
}

// TestWaitsForOthersInFlightAreLogged: another process holds all leases.
func TestWaitsForOthersInFlightAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logged := newWarnings(t)
		cfg := weir.Config{Store: localStore(t), Limits: []weir.Limit{plenty}, InFlight: 1, Lease: time.Hour}
		lease := acquire(t, onLocal(t, cfg), "key")
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		if _, err := onLocal(t, cfg).Acquire(ctx, "key"); err == nil {
			t.Error("two calls in flight")
		}
		if slow, stuck := logged.count(slowText), logged.count(stuckText); slow != 1 || stuck != 0 {
			t.Errorf("%d slow, %d stuck, want 1 and 0", slow, stuck)
		}
		lease.Release()
		time.Sleep(time.Second)
	})
}

// TestOpenBodiesAreLogged: a program closes no response body.
func TestOpenBodiesAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		logged := newWarnings(t)
		provider, err := weirtest.NewProvider(weirtest.ProviderConfig{})
		if err != nil {
			t.Fatal(err)
		}
		tr, err := weir.NewTransport(weir.TransportConfig{
			Limiter: onLocal(t, weir.Config{Limits: buckets(plenty), InFlight: 1}), Base: provider.Transport(), Key: weir.KeyHost(),
		})
		if err != nil {
			t.Fatal(err)
		}
		get := func(ctx context.Context) (*http.Response, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://api.example/", nil)
			if err != nil {
				t.Fatal(err)
			}
			return tr.RoundTrip(req)
		}
		open, err := get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()
		if _, err := get(ctx); err == nil {
			t.Error("two calls in flight")
		}
		if n := logged.count("are leases released and response bodies closed?"); n != 1 {
			t.Errorf("%d warnings, want 1:\n%s", n, logged)
		}
		_ = open.Body.Close()
		time.Sleep(time.Second)
	})
}
