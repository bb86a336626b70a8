package redisstore

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// begin makes Start decide a request. It returns nil if Take is needed.
func begin(t testing.TB, s *Store, req store.Request) *store.Decision {
	t.Helper()
	st := s.Start(context.Background(), s, &req)
	if st == nil {
		return nil
	}
	<-st.Done()
	d, done, err := st.Decision()
	if err != nil {
		t.Fatal(err)
	}
	if !done {
		return nil
	}
	return &d
}

func TestStartDecidesAsTake(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	a, sleep := newStill(t, c, "a:")
	b, sleepToo := newStill(t, c, "b:")
	for name, limits := range map[string][]store.Limit{
		"one":      {store.Per(3, time.Minute)},
		"two":      {store.Per(3, time.Minute), store.Per(9, time.Hour)},
		"a window": {store.Per(3, time.Minute).By(store.SlidingWindow)},
	} {
		for step := range 12 {
			got, want := begin(t, a, charge(name, 1, limits...)), take(t, b, charge(name, 1, limits...))
			if got == nil {
				t.Fatalf("%s, step %d: not decided", name, step)
			}
			if diff := differ(*got, want); diff != "" {
				t.Errorf("%s, step %d: %s", name, step, diff)
			}
			sleep(5 * time.Second)
			sleepToo(5 * time.Second)
		}
	}
}

// TestStartLeavesToTake: Start charges nothing for requests that don't share round trips.
func TestStartLeavesToTake(t *testing.T) {
	t.Parallel()
	s, _ := newStill(t, redistest.Start(t).Client(), "")
	limit := store.Per(10, time.Hour)
	waiting, held := charge("key", 1, limit), holding("key", "a", 2, 1, limit)
	waiting.MaxWait = time.Second
	for name, req := range map[string]store.Request{
		"may wait":   waiting,
		"in flight":  held,
		"two keys":   {Charges: append(charge("key", 1, limit).Charges, charge("wider", 1, limit).Charges...)},
		"a look":     charge("key", 0, limit),
		"never fits": charge("key", 11, limit),
	} {
		if d := begin(t, s, req); d != nil {
			t.Errorf("%s: decided: %+v", name, d)
		}
	}
	take(t, s, charge("key", 1, limit))
	if err := s.Brake(t.Context(), charge("key", 0, limit).Charges, store.Brake{Pause: time.Minute}); err != nil {
		t.Fatal(err)
	}
	// A call of a paused key in a batch stays undecided.
	ds, errs := batch(s, []store.Request{charge("key", 1, limit), charge("other", 1, limit)})
	if errs[0] != nil || ds[0].Reason != store.ReasonPaused {
		t.Errorf("%+v, %v", ds[0], errs[0])
	}
}

// TestStartByMany: calls that start together are decided together, each once. Calls that
// leave unsent are not charged.
func TestStartByMany(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newStore(t, server.Client())
	limit := store.Per(1000, time.Hour)
	take(t, s, charge("key0", 1, limit))
	var wg sync.WaitGroup
	var left sync.Map
	for i := range 64 {
		wg.Go(func() {
			for range 20 {
				req := charge(fmt.Sprint("key", i%4), 1, limit)
				st := s.Start(t.Context(), s, &req)
				if i%8 == 7 && st.Leave() {
					left.Store(st, true)
					continue
				}
				<-st.Done()
				if d, done, err := st.Decision(); err != nil || done && !d.Allowed {
					t.Error(d, err)
				}
			}
		})
	}
	wg.Wait()
	gone := 0
	left.Range(func(any, any) bool { gone++; return true })
	charged := int64(0)
	for i := range 4 {
		charged += limit.Max() - take(t, s, charge(fmt.Sprint("key", i), 0, limit)).Remaining
	}
	// A call that left may have been sent.
	if most := int64(64*20 + 1); charged > most || charged < most-int64(gone) {
		t.Errorf("%d charged by %d calls, %d of them left", charged, most, gone)
	}
}
