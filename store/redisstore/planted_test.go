package redisstore

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// TestPlantedStates writes values of the right form with wild numbers under a
// key. Whatever they say, a call answers, or fails with ErrState, and nobody is
// told to wait longer than the limit could make them.
func TestPlantedStates(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	s, _ := newStill(t, c, "")
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(7, 9))
	wild := []string{
		"0", "1", "2", "5", "999999", "1000000", "3600000000", "946684800000000", "946684800000001", "946684803600000",
		"1125899906842623", "1125899906842624", "1576800000000000", "2000000000000000", "4102444800000000",
		"4503599627370496", "9007199254740991", "9007199254740992", "99999999999999999999",
	}
	n := func() string { return wild[rng.IntN(len(wild))] }
	state, log := s.keys("", "k")
	for range long.Of(4000) {
		l := every(5, time.Hour)[rng.IntN(5)]
		value := spec(&l)
		if rng.IntN(2) == 0 {
			value = value[:1] + n() + "/" + n()
			if l.Algorithm == store.GCRA {
				value += "/" + n()
			}
		}
		value += "|" + n()
		numbers := rng.IntN(8)
		for range numbers {
			value += "." + n()
		}
		longest := 4 * time.Hour
		if l.Algorithm == store.GCRA && numbers > 3 {
			longest = 26 * 365 * 24 * time.Hour // The last of them may be debt.
		}
		if rng.IntN(3) == 0 {
			value += "|" + n() + "," + n()
			longest = 13 * 365 * 24 * time.Hour // A slot may be booked that far ahead.
		}
		c.Del(ctx, log)
		if field, number, ok := strings.Cut(value, "|"); ok && rng.IntN(3) == 0 {
			c.Del(ctx, state)
			c.HSet(ctx, state, field+"|", number)
		} else {
			c.Set(ctx, state, value, 0)
		}
		if rng.IntN(2) == 0 {
			c.RPush(ctx, log, n(), n()+":"+n())
		}
		entries := strings.Join(c.LRange(ctx, log, 0, -1).Val(), " ")
		req := charge("k", 1+rng.Int64N(5), l)
		req.MaxWait, req.Cancelable = time.Duration(rng.IntN(2))*time.Second, rng.IntN(2) == 0
		d, err := s.Take(ctx, req)
		switch {
		case err != nil:
			if !errors.Is(err, ErrState) {
				t.Errorf("value %q, log %q: %v", value, entries, err)
			}
		case d.Remaining < 0 || d.Remaining > 5 || d.Delay < 0 || d.RetryAfter < 0 || d.RetryAfter > longest:
			t.Errorf("value %q, log %q: %+v", value, entries, d)
		case d.Receipt != nil:
			if rng.IntN(2) == 0 {
				c.Set(ctx, state, value, 0) // Again, behind the receipt's back.
			}
			err, is := s.Cancel(ctx, d.Receipt), "cancel"
			if rng.IntN(2) == 0 {
				err, is = s.Settle(ctx, d.Receipt, rng.Int64N(10)), "settle"
			}
			if err != nil && !errors.Is(err, ErrState) {
				t.Errorf("value %q, log %q: %s: %v", value, entries, is, err)
			}
			if _, err := s.Take(ctx, req); err != nil && !errors.Is(err, ErrState) {
				t.Errorf("value %q, log %q: after %s: %v", value, entries, is, err)
			}
		}
	}
}
