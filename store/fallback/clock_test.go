package fallback_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
)

// distant is a primary whose questions and answers travel. While it is away, it refuses
// at once.
type distant struct {
	*primary
	there, back time.Duration
}

func (p distant) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if _, _, err := p.now(); err != nil {
		return store.Decision{}, err
	}
	time.Sleep(p.there)
	d, err := p.primary.Take(ctx, req)
	time.Sleep(p.back)
	return d, err
}

// An outage starts right after a Reset. Its units count, however long the primary's
// answers travel.
func TestOutageAfterAReset(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	tests := map[string]distant{
		"near":         {},
		"far":          {there: 20 * ms, back: 20 * ms},
		"slow answers": {back: 40 * ms},
		"slow way":     {there: 40 * ms},
	}
	for name, travel := range tests {
		for _, l := range every(100, time.Hour) {
			t.Run(name+" "+l.Algorithm.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := distant{newPrimary(t), travel.there, travel.back}
					s := open(t, fallback.Config{Primary: p})
					time.Sleep(time.Minute) // No aligned window ends in the test.
					meet(t, s)
					take(t, s, charge("k", 50, l))
					if err := p.Reset(t.Context(), "", "k"); err != nil { // by another process
						t.Fatal(err)
					}
					time.Sleep(10 * ms)
					cycle(t, p.primary, s, func() { take(t, s, charge("k", 5, l)) })
					if used := 100 - take(t, p.store, charge("k", 0, l)).Remaining; used != 5 {
						t.Errorf("%d used, want 5", used)
					}
				})
			})
		}
	}
}
