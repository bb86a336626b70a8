package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// TestPlantedSlotsAhead writes wild numbers where a key has what is booked ahead of
// each of its limits. Whatever they say, a brake that makes that void and the calls
// after it answer, or fail with ErrState.
func TestPlantedSlotsAhead(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	s, sleep := newStill(t, c, "")
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(8, 9))
	wild := []string{
		"0", "1", "5", "946684800000000", "946684800200000", "946684801000000", "946684803600000", "1125899906842624",
		"2251799813685248", "4503599627370496", "9007199254740991", "9007199254740992", "99999999999999999999",
	}
	state, _ := s.keys("", "k")
	var value string
	answered := 0
	check := func(err error) {
		if err != nil && !errors.Is(err, ErrState) {
			t.Errorf("value %q: %v", value, err)
		}
	}
	for range long.Of(2000) {
		limits := []store.Limit{every(5, time.Hour)[rng.IntN(5)], store.Per(7, time.Minute)}
		c.FlushDB(ctx)
		req := charge("k", 1, limits...)
		req.MaxWait, req.Cancelable = 24*time.Hour, true
		var last store.Decision
		for range 8 + rng.IntN(3) {
			last = take(t, s, req)
		}
		value = c.Get(ctx, state).Val()
		if rng.IntN(2) == 0 {
			value = value[:strings.LastIndex(value, "|")] + "|" + wild[4] + ",946684800000000," + wild[rng.IntN(len(wild))]
		}
		for n := rng.IntN(4); n >= 0; n-- {
			value += fmt.Sprintf(",%s,%s,%d,%s", wild[rng.IntN(len(wild))], wild[rng.IntN(len(wild))], rng.IntN(3), wild[rng.IntN(len(wild))])
			if rng.IntN(8) == 0 {
				value += ",1"
			}
		}
		c.Set(ctx, state, value, 0)
		if rng.IntN(2) == 0 {
			check(s.Settle(ctx, last.Receipt, 0, rng.Int64N(2)))
		}
		err := s.Brake(ctx, charge("k", 0, limits...).Charges, store.Brake{Pause: time.Second})
		check(err)
		sleep(2 * time.Second)
		d, err := s.Take(ctx, req)
		check(err)
		if err == nil {
			answered++
			if d.Remaining < 0 || d.Remaining > 7 || d.Delay < 0 || d.Delay > 24*time.Hour {
				t.Errorf("value %q: %+v", value, d)
			}
		}
	}
	if answered < long.Of(100) {
		t.Errorf("only %d values were read", answered)
	}
}
