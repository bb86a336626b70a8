package weir_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/dialects"
	"github.com/goweir/weir/weirtest"
)

// TestResponsesTogether: twenty responses say at once, in any order, that the upstream's limit
// is half of ours, with one to twenty units left. Their gaps don't add up to a long pause.
func TestResponsesTogether(t *testing.T) {
	t.Parallel()
	theirs := weir.Per(20, 1500*time.Millisecond).By(weir.FixedWindow)
	ours := weir.Per(40, 1500*time.Millisecond).By(weir.FixedWindow)
	for name, members := range map[string]int{"of one process": 1, "of four": 4} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, members, weirtest.ProviderConfig{
					Limits: []weir.Limit{theirs}, Hook: dialects.Draft11, Latency: func(*http.Request) time.Duration { return 10 * time.Millisecond },
				}, ours)
				f.send(t, 20/members, time.Minute)
				if n := f.provider.Counts().Admitted; n < 400 {
					t.Errorf("%d admitted in a minute, of 800", n)
				}
				if f.store.brakes > 20 {
					t.Errorf("%d brakes", f.store.brakes)
				}
			})
		})
	}
}
