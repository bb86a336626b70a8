package breaker_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback/internal/breaker"
)

var errDown = errors.New("down")

// TestCause: a call without an answer hides no error that says more.
func TestCause(t *testing.T) {
	t.Parallel()
	vague, expired, reset := fmt.Errorf("no answer: %w", os.ErrDeadlineExceeded), errors.New("the certificate has expired"), errors.New("connection reset")
	for name, c := range map[string]struct {
		errs []error
		want error
	}{
		"no answer at last":  {[]error{reset, expired, vague}, expired},
		"no answer at first": {[]error{vague, vague, expired}, expired},
		"no other error":     {[]error{vague, vague, vague}, vague},
		"an earlier outage":  {[]error{expired, nil, vague, vague, vague}, vague},
	} {
		synctest.Test(t, func(t *testing.T) {
			var got error
			b := &breaker.Breaker{
				Probe: func() error { return nil }, Most: time.Second,
				Tell: func(c store.Change) { got = c.Err }, Back: func() {}, Since: time.Now(),
			}
			b.Succeed()
			for _, err := range c.errs {
				if began := time.Now(); err == nil {
					b.Succeed()
				} else {
					time.Sleep(50 * time.Millisecond)
					b.Fail(began, err)
				}
			}
			if b.Closed() || got != c.want {
				t.Errorf("%s: closed %v, because of %v; want %v", name, b.Closed(), got, c.want)
			}
		})
	}
}

// TestRounds: three rounds of failed calls open the breaker, unless a call succeeds.
func TestRounds(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	type call struct {
		began, took time.Duration
		err         error
	}
	for name, c := range map[string]struct {
		met   bool
		calls []call // by their ends
		open  bool
	}{
		"one round of many calls":        {met: true, calls: []call{{0, 50 * ms, errDown}, {10 * ms, 50 * ms, errDown}, {40 * ms, 90 * ms, errDown}, {45 * ms, 200 * ms, errDown}}},
		"three rounds":                   {met: true, calls: []call{{0, 50 * ms, errDown}, {50 * ms, 50 * ms, errDown}, {100 * ms, 50 * ms, errDown}}, open: true},
		"three quick rounds":             {met: true, calls: []call{{0, 10 * ms, errDown}, {10 * ms, 10 * ms, errDown}, {20 * ms, 10 * ms, errDown}}},
		"a success between":              {met: true, calls: []call{{0, 50 * ms, errDown}, {50 * ms, 50 * ms, errDown}, {90 * ms, 20 * ms, nil}, {120 * ms, 50 * ms, errDown}}},
		"no connection":                  {met: true, calls: []call{{0, ms, syscall.ECONNREFUSED}}, open: true},
		"before the first answer":        {calls: []call{{0, ms, errDown}}, open: true},
		"a failure after a first answer": {calls: []call{{0, ms, nil}, {ms, ms, errDown}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				b := &breaker.Breaker{
					Probe: func() error { return nil }, Most: time.Second,
					Tell: func(store.Change) {}, Back: func() {}, Since: start,
				}
				if c.met {
					b.Succeed()
				}
				for _, one := range c.calls {
					began := start.Add(one.began)
					time.Sleep(time.Until(began.Add(one.took)))
					if one.err == nil {
						b.Succeed()
					} else {
						b.Fail(began, one.err)
					}
				}
				if b.Closed() == c.open {
					t.Errorf("open: %v, want %v", !b.Closed(), c.open)
				}
				time.Sleep(time.Second)
			})
		})
	}
}

// TestChangesInOrder: a listener that uses the breaker gets all changes, one at a time.
func TestChangesInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b *breaker.Breaker
		var got []bool
		var backs atomic.Int32
		b = &breaker.Breaker{
			Probe: func() error { return nil }, Most: time.Second, Since: time.Now(),
			Tell: func(c store.Change) {
				time.Sleep(time.Second) // The probe ends meanwhile.
				_, _ = b.Away()
				got = append(got, c.Err != nil)
			},
			Back: func() { backs.Add(1) },
		}
		for range 3 {
			b.Fail(time.Now(), syscall.ECONNREFUSED)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if want := []bool{true, false, true, false, true, false}; !slices.Equal(got, want) || backs.Load() != 3 || !b.Closed() {
			t.Errorf("away: %v, want %v; back %d times", got, want, backs.Load())
		}
	})
}
