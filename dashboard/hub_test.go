package dashboard

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// pollers counts a hub's running pollers, and all that ever ran.
type pollers struct{ now, ever atomic.Int64 }

// testHub returns a hub with a poller that sends a frame each second.
func testHub() (*hub, *pollers) {
	n := &pollers{}
	return &hub{poll: func(ctx context.Context, send func(*frame)) {
		n.now.Add(1)
		n.ever.Add(1)
		defer n.now.Add(-1)
		for ctx.Err() == nil {
			send(&frame{At: time.Now().UnixMilli()})
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	}}, n
}

func (n *pollers) want(t *testing.T, now, ever int64) {
	t.Helper()
	synctest.Wait()
	if n.now.Load() != now || n.ever.Load() != ever {
		t.Errorf("%d pollers run, %d ran; want %d, %d", n.now.Load(), n.ever.Load(), now, ever)
	}
}

func TestOnePollerForAllStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, n := testHub()
		n.want(t, 0, 0)
		a, _ := h.join()
		b, _ := h.join()
		n.want(t, 1, 1)
		h.leave(a)
		n.want(t, 1, 1)
		h.leave(b)
		h.leave(b)
		n.want(t, 0, 1)
		c, _ := h.join()
		n.want(t, 1, 2)
		h.close()
		n.want(t, 0, 2)
		<-c // its first frame
		if _, open := <-c; open {
			t.Error("close does not end a stream")
		}
		if _, ok := h.join(); ok {
			t.Error("a stream begins after close")
		}
		n.want(t, 0, 2)
	})
}

func TestALateStreamGetsTheLastMessageAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _ := testHub()
		a, _ := h.join()
		defer h.leave(a)
		<-a
		b, _ := h.join()
		defer h.leave(b)
		select {
		case <-b:
		default:
			t.Error("it waits for the next one")
		}
	})
}

func TestASlowStreamMissesFrames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h, _ := testHub()
		slow, _ := h.join()
		defer h.leave(slow)
		time.Sleep(time.Minute)
		synctest.Wait()
		if f := <-slow; f.At != time.Now().UnixMilli() {
			t.Errorf("it gets a frame that is %d ms old", time.Now().UnixMilli()-f.At)
		}
	})
}

// recorder is a ResponseWriter with a text that can be read during the answer.
type recorder struct {
	header http.Header
	body   bytes.Buffer
	until  time.Time
	fails  bool
}

func (r *recorder) Header() http.Header { return r.header }
func (r *recorder) WriteHeader(int)     {}
func (r *recorder) Flush()              {}
func (r *recorder) SetWriteDeadline(t time.Time) error {
	r.until = t
	return nil
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.fails {
		return 0, http.ErrHandlerTimeout
	}
	return r.body.Write(p)
}

// openStream opens a stream of a dashboard. end ends it, and returns its text.
func openStream(d *Dashboard, w *recorder) (end func() string) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/events", nil))
	}()
	return func() string {
		cancel()
		<-done
		return w.body.String()
	}
}

func TestStream(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		interval, lasts      time.Duration
		whole, frames, beats int
	}{
		"each second":   {time.Second, 3500 * time.Millisecond, 1, 3, 0},
		"each minute":   {time.Minute, 65 * time.Second, 1, 1, 5}, // The frame at 60 s replaces a beat.
		"not much time": {time.Second, 0, 1, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDashboard(t, Config{Interval: test.interval})
				w := &recorder{header: http.Header{}}
				end := openStream(d, w)
				time.Sleep(test.lasts)
				synctest.Wait()
				if left := time.Until(w.until); left <= 0 || left > writeTimeout {
					t.Errorf("the time to write ends in %v", left)
				}
				got := end()
				if !strings.HasPrefix(got, "retry: 1000\n\nevent: whole\ndata: {") || !strings.HasSuffix(got, "}\n\n") {
					t.Errorf("it sends %q", got)
				}
				for event, want := range map[string]int{"whole": test.whole, "frame": test.frames, "beat": test.beats} {
					if n := strings.Count(got, "event: "+event+"\ndata: {"); n < want || n > want+1 && event == "beat" || n > want && event != "beat" {
						t.Errorf("%d events %s, want %d", n, event, want)
					}
				}
				if w.header.Get("Content-Type") != "text/event-stream" {
					t.Error(w.header)
				}
			})
		})
	}
}

func TestStreamEndsWithItsWriterAndWithClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDashboard(t, Config{})
		w := &recorder{header: http.Header{}}
		d.ServeHTTP(&recorder{header: http.Header{}, fails: true}, httptest.NewRequest("GET", "/events", nil))
		end := openStream(d, w)
		time.Sleep(time.Second)
		d.Close()
		synctest.Wait()
		end()
	})
}
