package fallback_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// TestFirstDecisionWithoutThePrimaryIsLogged: a wrong host shows with the first call. Later
// calls repeat nothing.
func TestFirstDecisionWithoutThePrimaryIsLogged(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		err   error
		after time.Duration // the time of the primary's answer
		want  string        // in the line; empty: no line
	}{
		{"the primary decides", nil, 0, ""},
		{"the first call fails", errors.New("lookup redis-typo: no such host"), 0, "no such host"},
		{"the first call gets no answer", nil, time.Minute, "no answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				p := newPrimary(t)
				p.set(tt.err, tt.after)
				s := open(t, fallback.Config{Primary: p, Logger: slog.New(slog.NewTextHandler(&log, nil))})
				for range 2 {
					if d := take(t, s, charge("key", 1, store.Per(5, time.Hour))); d.Degraded != (tt.want != "") {
						t.Errorf("%+v", d)
					}
				}
				got := log.String()
				p.set(nil, 0) // so that probes end
				time.Sleep(time.Hour)
				want := min(1, len(tt.want))
				if n := strings.Count(got, "level=WARN msg=\"weir: the primary store can't decide a call\" policy=local replicas=1"); n != want || !strings.Contains(got, tt.want) {
					t.Errorf("logged %q, want %d lines with %q", got, want, tt.want)
				}
			})
		})
	}
}

// TestLossIsLogged: a primary that loses all its keys at once makes one line, and one that
// loses keys again and again one line a minute at most.
func TestLossIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		p := newPrimary(t)
		s := open(t, fallback.Config{Primary: p, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		want := func(n int) {
			t.Helper()
			synctest.Wait()
			if got := strings.Count(log.String(), `level=WARN msg="weir: the primary store has lost states, and gets them again" limiter=`); got != n {
				t.Errorf("logged %q, want %d lines", log.String(), n)
			}
		}
		call := func() {
			for _, key := range []string{"a", "b"} {
				take(t, s, charge(key, 1, store.Per(5, time.Hour)))
			}
		}
		call()
		want(0)
		for range 30 {
			p.forget(t)
			time.Sleep(2 * time.Second)
			call()
		}
		want(1)
		time.Sleep(2 * time.Minute)
		p.forget(t)
		call()
		want(2)
		time.Sleep(time.Minute) // for the search
	})
}

// A state that lapses while a slow call is on its way is not lost.
func TestLapsedStateIsNoLoss(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		p := newPrimary(t)
		s := open(t, fallback.Config{Primary: p, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		req := charge("k", 1, store.Per(5, time.Second)) // lapses after 200 ms
		req.MaxWait = time.Hour
		take(t, s, req)
		time.Sleep(100 * time.Millisecond)
		p.forget(t) // as Redis drops it before the call arrives
		p.set(nil, 150*time.Millisecond)
		if d := take(t, s, req); d.Degraded || log.Len() > 0 {
			t.Errorf("%+v, logged %q", d, log.String())
		}
	})
}

// stepping is a primary whose clock has stepped back, and which loses its states.
type stepping struct {
	*primary
	back store.Instant
	lose bool // at the next call
}

func (p *stepping) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if p.lose {
		p.lose = false
		return store.Decision{}, store.ErrLost
	}
	seen := req.Seen
	req.Seen, req.Restore = make([]store.Seen, len(seen)), nil
	d, err := p.primary.Take(ctx, req)
	for i, of := range req.Seen {
		of.At -= p.back
		seen[i] = of
	}
	return d, err
}

// A loss is logged also where the primary's clock has stepped back since the last one, as after
// a failover.
func TestLossAfterAStepBackIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		p := &stepping{primary: newPrimary(t)}
		s := open(t, fallback.Config{Primary: p, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for n, back := range []time.Duration{0, time.Hour} {
			time.Sleep(2 * time.Minute)
			p.back = store.Instant(back.Microseconds())
			take(t, s, charge("k", 1, store.Per(5, time.Hour)))
			p.lose = true
			take(t, s, charge("k", 1, store.Per(5, time.Hour)))
			if got := strings.Count(log.String(), "has lost states"); got != n+1 {
				t.Errorf("after a step back of %v: logged %q, want %d lines", back, log.String(), n+1)
			}
		}
		time.Sleep(time.Minute) // for the search
	})
}
