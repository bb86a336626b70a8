package redisstore

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

func reserve(t *testing.T, s *Store, key string, cost int64, maxWait time.Duration, limits ...store.Limit) store.Decision {
	t.Helper()
	req := charge(key, cost, limits...)
	req.MaxWait, req.Cancelable = maxWait, true
	d, err := s.Take(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func settleAt(t *testing.T, s *Store, d store.Decision, costs ...int64) {
	t.Helper()
	if err := s.Settle(context.Background(), d.Receipt, costs...); err != nil {
		t.Fatal(err)
	}
}

// The limits of a key's first booking go with it. They count no later call of others.
func TestTheFirstBookingIsUndone(t *testing.T) {
	t.Parallel()
	s := newStore(t, redistest.Start(t).Client())
	limit := store.Per(5, time.Hour).By(store.FixedWindow)
	first := reserve(t, s, "key", 1, 0, limit)
	settleAt(t, s, reserve(t, s, "key", 1, 0, store.Per(9, time.Hour)), 0)
	settleAt(t, s, first, 0)
	take(t, s, charge("key", 5, store.Per(100, time.Hour).By(store.FixedWindow)))
	if d := take(t, s, charge("key", 0, limit)); d.Remaining != 4 {
		t.Errorf("5 of 100 are used, %d of 5 remain", d.Remaining)
	}
}

// Settling takes one call under all algorithms, and leaves every key with a TTL.
func TestSettleIsOneCall(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client()
	s := newStore(t, c)
	limits := every(1000, time.Hour)
	settleAt(t, s, reserve(t, s, "warm", 1, 0, limits...), 2)
	for i, actual := range []int64{300, 1500} {
		key := fmt.Sprint("k", i)
		d := reserve(t, s, key, 500, 0, limits...)
		reserve(t, s, key, 1, 0, limits...)
		sent := server.CommandsDuring(func() { settleAt(t, s, d, actual) })
		if sent["evalsha"] != 1 || sent["eval"] != 0 {
			t.Errorf("settled at %d by %v", actual, sent)
		}
		state, log := namesOf(s, key)
		for _, key := range []string{state, log} {
			if ttl := c.PTTL(context.Background(), key).Val(); ttl < 30*time.Minute || ttl > 3*time.Hour {
				t.Errorf("settled at %d: %s has a TTL of %v", actual, key, ttl)
			}
		}
	}
}

// Two bookings of one slot, before and after a Reset, stay apart. The slot is the start
// of an aligned window.
func TestCancelOfASlotFromBeforeAReset(t *testing.T) {
	t.Parallel()
	s, sleep := newStill(t, redistest.Start(t).Client(), "")
	limits := []store.Limit{store.Per(5, 10*time.Second).By(store.AlignedWindow), store.Per(10, 1000*time.Second)}
	ctx := context.Background()
	sleep(time.Second)
	book := func() (d store.Decision) {
		if err := s.Reset(ctx, "", "k"); err != nil {
			t.Fatal(err)
		}
		full := charge("k", 5, limits...)
		full.Charges[1].Cost = 0 // The bucket's first booking has the slot.
		take(t, s, full)
		return reserve(t, s, "k", 4, 20*time.Second, limits...)
	}
	old := book()
	sleep(time.Second)
	own := book()
	if old.Delay != own.Delay+time.Second {
		t.Fatalf("slots in %s, and in %s a second later", old.Delay, own.Delay)
	}
	reserve(t, s, "k", 1, 20*time.Second, limits...)
	before := reserve(t, s, "k", 0, 0, limits...)
	settleAt(t, s, old, 100)
	if err := s.Cancel(ctx, old.Receipt); err != nil {
		t.Fatal(err)
	}
	if d := reserve(t, s, "k", 0, 0, limits...); d.Charge(1) != before.Charge(1) {
		t.Errorf("the bucket after a booking of before a Reset is settled and cancelled: %+v, want %+v", d.Charge(1), before.Charge(1))
	}
	if err := s.Cancel(ctx, own.Receipt); err != nil {
		t.Fatal(err)
	}
	if d := reserve(t, s, "k", 0, 0, limits...); d.Charge(1).Remaining <= before.Charge(1).Remaining {
		t.Errorf("the bucket after its own booking is cancelled: %+v, was %+v", d.Charge(1), before.Charge(1))
	}
}

// Bookings before and after a reset stay apart, by the server's clock, also for slots
// ahead.
func TestSettleAfterAReset(t *testing.T) {
	t.Parallel()
	s := newStore(t, redistest.Start(t).Client())
	ctx := context.Background()
	for _, l := range every(10, time.Hour) {
		key := l.Algorithm.String()
		old := []store.Decision{reserve(t, s, key, 8, 0, l), reserve(t, s, key, 8, 4*time.Hour, l)}
		if err := s.Reset(ctx, "", key); err != nil {
			t.Fatal(err)
		}
		settleAt(t, s, old[0], 1)
		reserve(t, s, key, 8, 0, l)
		for _, d := range append(old, old...) {
			settleAt(t, s, d, 1)
			settleAt(t, s, d, 100)
			if err := s.Cancel(ctx, d.Receipt); err != nil {
				t.Fatal(err)
			}
		}
		if d := reserve(t, s, key, 0, 0, l); d.Remaining != 2 {
			t.Errorf("%v: %d remain of the 2 that were left", l.Algorithm, d.Remaining)
		}
	}
}

// A debt beyond all possible bookings does not count as a step back of the clock. After a
// real step back no call waits longer than for the debt.
func TestDebtAndTheClock(t *testing.T) {
	t.Parallel()
	s, sleep := newStill(t, redistest.Start(t).Client(), "")
	l := store.Per(10, time.Second)
	settleAt(t, s, reserve(t, s, "k", 10, 0, l), 1000)
	// The bucket is full in 100 s. It has room for a unit 0.9 s earlier.
	for after := time.Duration(0); after < 90*time.Second; after += 10 * time.Second {
		if d := reserve(t, s, "k", 1, 0, l); d.Allowed || d.RetryAfter != 99*time.Second+100*time.Millisecond-after {
			t.Errorf("%v after a debt of 990 of 10 per second: %+v", after, d)
		}
		sleep(10 * time.Second)
	}
	sleep(-time.Hour)
	if d := reserve(t, s, "k", 1, 0, l); d.Allowed || d.RetryAfter > 100*time.Second {
		t.Errorf("after the clock stepped back: %+v", d)
	}
}

// A cancel leaves a key without a TTL as it was before. The next booking sets a TTL again.
func TestCancelOfAKeyWithoutAnEnd(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	s := newStore(t, c)
	ctx := context.Background()
	for _, l := range every(5, time.Hour) {
		key := l.Algorithm.String()
		reserve(t, s, key, 3, 0, l)
		d := reserve(t, s, key, 1, 0, l)
		state, log := namesOf(s, key)
		c.Persist(ctx, state)
		c.Persist(ctx, log)
		if err := s.Cancel(ctx, d.Receipt); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
		if d := reserve(t, s, key, 0, 0, l); d.Remaining != 2 {
			t.Errorf("%v: %d remain of the 2 that were left", l.Algorithm, d.Remaining)
		}
		reserve(t, s, key, 1, 0, l)
		for _, key := range []string{state, log} {
			if c.Exists(ctx, key).Val() > 0 && c.PTTL(ctx, key).Val() <= 0 {
				t.Errorf("%v: %s has a TTL of %v", l.Algorithm, key, c.PTTL(ctx, key).Val())
			}
		}
	}
}

// Settling finds the entry in a window's long log.
func TestSettleInALongLog(t *testing.T) {
	t.Parallel()
	s, sleep := newStill(t, redistest.Start(t).Client(), "")
	limits := []store.Limit{store.Per(100_000, time.Hour).By(store.SlidingWindow), store.Per(100_000, 2*time.Hour).By(store.SlidingWindow)}
	var granted []store.Decision
	for i := range 600 {
		granted = append(granted, reserve(t, s, "k", int64(2+i%3), 0, limits...))
		if i%4 > 0 {
			sleep(time.Millisecond)
		}
	}
	var want int64 = 100_000
	for i, d := range granted {
		actual := int64(i % 7)
		settleAt(t, s, d, actual)
		want -= actual
	}
	d := reserve(t, s, "k", 0, 0, limits...)
	if d.Charge(0).Remaining != want || d.Charge(1).Remaining != want {
		t.Errorf("%+v, want %d remaining", d, want)
	}
	if err := s.Settle(context.Background(), "a receipt", 1); err == nil || errors.Is(err, ErrState) {
		t.Errorf("a text is settled: %v", err)
	}
}

// TestDebtBeyondANumber: a limit replaces one whose debt has more units than a number of the
// script holds.
func TestDebtBeyondANumber(t *testing.T) {
	t.Parallel()
	s, _ := newStill(t, redistest.Start(t).Client(), "")
	huge := store.Per(store.MaxUnits-1, time.Second)
	d := reserve(t, s, "key", 1, 0, huge)
	settleAt(t, s, d, store.MaxUnits)
	for range 20 {
		d := reserve(t, s, "key", 1, time.Hour, huge)
		settleAt(t, s, d, store.MaxUnits)
	}
	if d := take(t, s, charge("key", 1, store.Per(5, time.Second).By(store.FixedWindow))); d.Allowed {
		t.Errorf("%+v, want the place of a limit that is used up", d)
	}
}
