package fallback_test

import (
	"bytes"
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
				if n := strings.Count(got, "level=WARN msg=\"weir: the primary store can't decide a call\" policy=local"); n != want || !strings.Contains(got, tt.want) {
					t.Errorf("logged %q, want %d lines with %q", got, want, tt.want)
				}
			})
		})
	}
}
