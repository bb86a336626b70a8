package weirtest_test

import (
	"math/big"
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/weirtest"
)

// unit is an admitted request.
type unit struct {
	at   time.Time
	cost int64
}

// fits reports whether cost more units are within the limit at an instant, from the
// list of all admitted requests alone.
type fits func(l weir.Limit, admitted []unit, at time.Time, cost int64) bool

// fitsSliding looks at every half-open interval that begins at an arrival.
func fitsSliding(l weir.Limit, admitted []unit, at time.Time, cost int64) bool {
	all := append(append([]unit(nil), admitted...), unit{at, cost})
	for _, from := range all {
		var sum int64
		for _, u := range all {
			if !u.at.Before(from.at) && u.at.Before(from.at.Add(l.Period)) {
				sum += u.cost
			}
		}
		if sum > l.Rate {
			return false
		}
	}
	return true
}

// fitsFixed opens all windows again.
func fitsFixed(l weir.Limit, admitted []unit, at time.Time, cost int64) bool {
	var end time.Time
	var sum int64
	for _, u := range append(append([]unit(nil), admitted...), unit{at, cost}) {
		if !u.at.Before(end) {
			end, sum = u.at.Add(l.Period), 0
		}
		sum += u.cost
	}
	return sum <= l.Rate
}

// fitsAligned adds up the window of the calendar.
func fitsAligned(l weir.Limit, admitted []unit, at time.Time, cost int64) bool {
	start := at.UnixNano() / int64(l.Period) * int64(l.Period)
	sum := cost
	for _, u := range admitted {
		if u.at.UnixNano() >= start {
			sum += u.cost
		}
	}
	return sum <= l.Rate
}

// fitsBucket fills and empties the bucket from the beginning, in rationals.
func fitsBucket(l weir.Limit, admitted []unit, at time.Time, cost int64) bool {
	full := new(big.Rat).SetInt64(l.Max())
	level := new(big.Rat).Set(full)
	var last time.Time
	for _, u := range append(append([]unit(nil), admitted...), unit{at, cost}) {
		if !last.IsZero() {
			filled := new(big.Rat).SetFrac(big.NewInt(l.Rate), big.NewInt(int64(l.Period)))
			level.Add(level, filled.Mul(filled, new(big.Rat).SetInt64(int64(u.at.Sub(last)))))
			if level.Cmp(full) > 0 {
				level.Set(full)
			}
		}
		last = u.at
		level.Sub(level, new(big.Rat).SetInt64(u.cost))
	}
	return level.Sign() >= 0
}

func TestProviderIsStrict(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		limit weir.Limit
		fits  fits
	}{
		{"sliding window", weir.Per(7, time.Second).By(store.SlidingWindow), fitsSliding},
		{"sliding window of one", weir.Per(1, time.Second).By(store.SlidingWindow), fitsSliding},
		{"fixed window", weir.Per(7, time.Second).By(store.FixedWindow), fitsFixed},
		{"aligned window", weir.Per(7, time.Second).By(store.AlignedWindow), fitsAligned},
		{"aligned window of an odd length", weir.Per(7, 777_777*time.Microsecond).By(store.AlignedWindow), fitsAligned},
		{"token bucket", weir.PerSecond(7), fitsBucket},
		{"token bucket with a small burst", weir.PerSecond(7).WithBurst(3), fitsBucket},
		{"token bucket with a large burst", weir.Per(3, 777_777*time.Microsecond).WithBurst(11), fitsBucket},
	}
	for _, tc := range cases {
		for seed := range uint64(3) {
			t.Run(tc.name+" "+strconv.FormatUint(seed, 10), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { strict(t, tc.limit, tc.fits, seed) })
			})
		}
	}
}

// strict sends requests of random costs at random instants, and checks every answer.
// Many come exactly at the RetryAfter of a refusal, or 1 ns before.
func strict(t *testing.T, l weir.Limit, fits fits, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var last weirtest.Answer
	p := provider(t, weirtest.ProviderConfig{
		Limits: []weir.Limit{l},
		Key:    byKey,
		Cost: func(r *http.Request, _ weir.Limit) int64 {
			n, _ := strconv.ParseInt(r.Header.Get("Cost"), 10, 64)
			return n
		},
		Hook: func(_ http.Header, _ *http.Request, a weirtest.Answer) { last = a },
	})
	// The other key must not matter.
	get(t, p.Transport(), "other")
	var admitted []unit
	refused := 0
	for range 150 {
		cost := 1 + rnd.Int64N(min(3, l.Max()))
		req := request(t, "key")
		req.Header.Set("Cost", strconv.FormatInt(cost, 10))
		now := time.Now()
		want := fits(l, admitted, now, cost)
		res, _ := do(t, p.Transport(), req)
		if got := res.StatusCode == http.StatusOK; got != want {
			t.Fatalf("at %v: admitted %v, want %v, cost %d after %v", now, got, want, cost, admitted)
		}
		if want {
			admitted = append(admitted, unit{now, cost})
		} else {
			refused++
			if at := now.Add(last.RetryAfter); !fits(l, admitted, at, cost) || fits(l, admitted, at.Add(-1), cost) {
				t.Fatalf("at %v: retry after %v is not the first instant that fits, cost %d after %v", now, last.RetryAfter, cost, admitted)
			}
		}
		checkState(t, l, fits, admitted, now, last.Limits[0])
		switch rnd.IntN(4) {
		case 0:
			time.Sleep(time.Duration(rnd.Int64N(int64(l.Period) / 2)))
		case 1:
			time.Sleep(last.RetryAfter)
		case 2:
			time.Sleep(max(0, last.RetryAfter-1))
		}
	}
	if refused < 20 || len(admitted) < 20 {
		t.Errorf("%d admitted and %d refused: the test tests little", len(admitted), refused)
	}
	if got := p.Counts(); got.Admitted != int64(len(admitted))+1 || got.RefusedByLimit != int64(refused) {
		t.Errorf("counts %+v, want %d admitted and %d refused", got, len(admitted)+1, refused)
	}
}

// checkState checks Remaining and ResetAfter.
func checkState(t *testing.T, l weir.Limit, fits fits, admitted []unit, now time.Time, s weirtest.LimitState) {
	t.Helper()
	if s.Remaining > 0 && !fits(l, admitted, now, s.Remaining) || fits(l, admitted, now, s.Remaining+1) {
		t.Fatalf("at %v: remaining %d is not the maximum that fits after %v", now, s.Remaining, admitted)
	}
	if !fits(l, admitted, now.Add(s.ResetAfter), l.Max()) {
		t.Fatalf("at %v: after %v not all fits after %v", now, s.ResetAfter, admitted)
	}
	if s.ResetAfter > 0 && fits(l, admitted, now.Add(s.ResetAfter-1), l.Max()) {
		t.Fatalf("at %v: reset after %v comes too late after %v", now, s.ResetAfter, admitted)
	}
}

// Rates, periods and bursts at the bounds of a limit are counted exactly.
func TestBucketAtTheBounds(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]weir.Limit{
		"the fastest":       weir.Per(store.MaxUnits, time.Microsecond),
		"the slowest":       weir.Per(1, store.MaxPeriod),
		"the largest burst": weir.Per(store.MaxUnits, store.MaxPeriod).WithBurst(store.MaxUnits),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var last weirtest.Answer
				p := provider(t, weirtest.ProviderConfig{
					Limits: []weir.Limit{l},
					Cost:   func(*http.Request, weir.Limit) int64 { return l.Max() },
					Hook:   func(_ http.Header, _ *http.Request, a weirtest.Answer) { last = a },
				})
				for i := range 3 {
					get(t, p.Transport(), "")
					if last.Refused != weirtest.NotRefused {
						t.Fatalf("call %d was refused after the wait", i)
					}
					if get(t, p.Transport(), ""); last.Refused != weirtest.ByLimit {
						t.Fatalf("call %d was admitted twice", i)
					}
					want := new(big.Int).Mul(big.NewInt(l.Max()), big.NewInt(int64(l.Period)))
					want.Add(want, big.NewInt(l.Rate-1)).Quo(want, big.NewInt(l.Rate))
					if int64(last.RetryAfter) != want.Int64() || last.Limits[0].ResetAfter != last.RetryAfter {
						t.Fatalf("retry after %v, reset after %v, want %v", last.RetryAfter, last.Limits[0].ResetAfter, want)
					}
					time.Sleep(last.RetryAfter)
				}
			})
		})
	}
}
