package patience_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store/fallback/internal/patience"
)

// Calls within a thirty-second of the patience share an end; later ones do not.
func TestNextShares(t *testing.T) {
	t.Parallel()
	const p = 32 * time.Millisecond
	var ends patience.Ends
	now := time.Now()
	first := ends.Next(now, p)
	for after, want := range map[time.Duration]bool{-1: false, 0: true, 999 * time.Microsecond: true, time.Millisecond: false} {
		var fresh patience.Ends
		first := fresh.Next(now, p)
		if shared := fresh.Next(now.Add(after), p) == first; shared != want {
			t.Errorf("after %v: shared %v, want %v", after, shared, want)
		}
	}
	<-first.Over
	if late := time.Since(first.At); late < 0 {
		t.Errorf("over %v early", -late)
	}
}

func TestContextEndsWithThePatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		start := time.Now()
		of, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, 1))
		end := patience.New(start, time.Second)
		ctx := end.Context(of, time.Minute)
		cancel() // The end of the caller's context is not the call's.
		if deadline, ok := ctx.Deadline(); !ok || deadline.Sub(start) != time.Second+time.Minute || ctx.Value(key{}) != 1 || ctx.Err() != nil {
			t.Errorf("deadline %v, %v; %v", deadline, ctx.Value(key{}), ctx.Err())
		}
		<-ctx.Done()
		if took := time.Since(start); took != time.Second || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("%v after %v", ctx.Err(), took)
		}
	})
}

// A timer in time is no sign of a busy machine. After a late one, an answer within the
// grace counts.
func TestHeldUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		end := patience.New(time.Now(), time.Second)
		answered := make(chan struct{}, 1)
		answered <- struct{}{}
		<-end.Over
		if end.HeldUp(answered, time.Second) {
			t.Error("held up by nothing")
		}
		time.Sleep(time.Millisecond)
		if !end.HeldUp(answered, time.Second) {
			t.Error("the answer was there")
		}
		if start := time.Now(); end.HeldUp(answered, time.Second) || time.Since(start) != time.Second {
			t.Error("there was no answer")
		}
	})
}
