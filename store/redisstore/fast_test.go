package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// whole decides by the rest of the script, and without what is remembered of
// refusals.
func whole(t testing.TB, s *Store, req store.Request) store.Decision {
	t.Helper()
	v, outcomes, _, err := s.ask(context.Background(), s.newCall(&req, modeOf(&req)))
	if err != nil {
		t.Fatal(err)
	}
	return exact.Decide(&req, v, outcomes)
}

// TestCommonCaseIsDecidedAsTheRest compares each decision with that of the rest
// of the script, and what is stored.
func TestCommonCaseIsDecidedAsTheRest(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client()
	for seed := range uint64(long.Of(40)) {
		rng := rand.New(rand.NewPCG(seed, 2))
		limit := store.Per(1+rng.Int64N(12), time.Duration(1+rng.IntN(5000))*time.Millisecond).WithBurst(1 + rng.Int64N(12))
		if seed%2 == 1 { // Some costs come to whole microseconds, and others do not.
			limit = limit.WithBurst(limit.Rate * (1 + rng.Int64N(3)))
		}
		fast, sleep := newStill(t, c, fmt.Sprintf("fast%d:", seed))
		rest, sleepToo := newStill(t, c, fmt.Sprintf("rest%d:", seed))
		for step := range 60 {
			d := time.Duration(rng.Int64N(int64(2*limit.Period/time.Duration(limit.Rate)))) / 1000 * 1000
			sleep(d)
			sleepToo(d)
			req := charge("key", 1+rng.Int64N(limit.Max()), limit)
			leaveSome(rng, &req)
			got, want := take(t, fast, req), whole(t, rest, req)
			if diff := differ(got, want); diff != "" {
				t.Fatalf("seed %d, step %d, %v of %v: %s\ngot  %+v\nwant %+v", seed, step, req.Charges[0].Cost, limit, diff, got, want)
			}
			a, b := stored(t, c, fast.stateKey("", "key")), stored(t, c, rest.stateKey("", "key"))
			if a != b {
				t.Fatalf("seed %d, step %d: stored %q, want %q", seed, step, a, b)
			}
		}
	}
}
