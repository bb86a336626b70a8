package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// twins are a key of package exact and a key of Redis. Both get the same calls.
type twins struct {
	*testing.T
	rng    *rand.Rand
	redis  *Store
	key    string
	exact  exact.Key
	now    *int64
	tag    int64
	told   []string
	booked []pair
}

// pair holds the two receipts of a booking.
type pair struct {
	exact *exact.Receipt
	redis any
	cost  int64
}

func (w *twins) say(format string, args ...any) {
	w.told = append(w.told, fmt.Sprintf("%10d  ", *w.now-startMicros)+fmt.Sprintf(format, args...))
}

func (w *twins) fail(format string, args ...any) {
	w.Helper()
	state := rediskey.State(w.redis.prefix, "", w.key)
	value := w.redis.client.Get(context.Background(), state).Val()
	w.Fatalf("%s\n%s\nexact: %+v\nredis: %s", fmt.Sprintf(format, args...), strings.Join(w.told, "\n"), w.exact, value)
}

// take decides a request on both keys.
func (w *twins) take(req store.Request) {
	w.tag++
	tag := int64(0)
	if req.Cancelable {
		tag = w.tag
	}
	w.forgetLapsed()
	groups := []exact.Group{{Key: &w.exact, Charges: req.Charges}}
	outcomes := make([]exact.Outcome, len(req.Charges))
	var v exact.Verdict
	exact.Take(&req, groups, outcomes, &v, *w.now, tag, nil)
	want := exact.Decide(&req, &v, outcomes)
	got, err := w.redis.Take(context.Background(), req)
	if err != nil {
		w.fail("%v: %+v", err, req)
	}
	receipt := got.Receipt
	got.Receipt = nil
	w.say("%v: %+v", req, want)
	if got.Clock != nil || want.Clock != nil {
		a, b := exact.Clock{}, exact.Clock{}
		if got.Clock != nil {
			a = got.Clock.(*exact.Move).Clock
		}
		if want.Clock != nil {
			b = want.Clock.(*exact.Move).Clock
		}
		if a.Until == 0 && a.Gap == 0 && a.Share == 0 {
			a.Unit, b.Unit = 0, 0
		}
		if a != b {
			w.fail("clock %+v, want %+v\n%+v\n%+v", a, b, got, want)
		}
	}
	got.Clock, want.Clock = nil, nil
	got.Source, got.OtherLimits = want.Source, want.OtherLimits // Lapsed limits are forgotten sooner or later.
	if g, e := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != e {
		w.fail("got  %s\nwant %s", g, e)
	}
	if receipt != nil {
		w.booked = append(w.booked, pair{v.Keys[0].Receipt, receipt, req.Charges[0].Cost})
	}
}

// forgetLapsed drops a lapsed state, as a server does.
func (w *twins) forgetLapsed() {
	if w.exact.Born > 0 && w.exact.Lapse() <= *w.now {
		w.exact = exact.Key{}
		w.redis.client.Del(context.Background(), rediskey.State(w.redis.prefix, "", w.key), rediskey.Log(rediskey.State(w.redis.prefix, "", w.key)))
	}
}

func (w *twins) settle(i int, to ...int64) {
	b := w.booked[i]
	w.booked = append(w.booked[:i], w.booked[i+1:]...)
	w.say("booking of %d at %d is settled at %d", b.cost, b.exact.Slot-startMicros, to)
	cost, err := exact.Settled(b.exact.Charges, to)
	if err != nil {
		w.fail("%v", err)
	}
	w.exact.Settle(b.exact, *w.now, cost)
	if err := w.redis.Settle(context.Background(), b.redis, to...); err != nil {
		w.fail("%v", err)
	}
}

func (w *twins) brake(charges []store.Charge, b store.Brake) {
	w.say("brake %+v", b)
	w.forgetLapsed()
	w.exact.Brake(charges, &b, *w.now)
	if err := w.redis.Brake(context.Background(), charges, b); err != nil {
		w.fail("%v", err)
	}
}

func (w *twins) step(sets [][]store.Limit) {
	limits := sets[0]
	if len(sets) > 1 && w.rng.IntN(6) == 0 {
		limits = sets[1]
	}
	period := int64(limits[0].Period / time.Microsecond)
	reserve := w.rng.Int64N(3) * w.rng.Int64N(2)
	charges := func(cost int64) (list []store.Charge) {
		for _, l := range limits {
			list = append(list, store.Charge{Key: w.key, Limit: l, Cost: cost, Reserve: reserve})
		}
		return list
	}
	cost := 1 + w.rng.Int64N(3)
	switch n := w.rng.IntN(20); {
	case n < 5:
		*w.now += w.rng.Int64N(period/limits[0].Rate*2 + 1)
	case n < 6:
		*w.now += w.rng.Int64N(2*period + 1)
	case n < 10:
		w.take(store.Request{Charges: charges(cost)})
	case n < 14:
		w.take(store.Request{Charges: charges(cost), MaxWait: time.Hour, Cancelable: true})
	case n < 15:
		w.take(store.Request{Charges: charges(0)})
	case n < 17 && len(w.booked) > 0:
		i := len(w.booked) - 1 - w.rng.IntN(min(3, len(w.booked)))
		costs := make([]int64, 1+w.rng.IntN(2)*(w.booked[i].exact.Charges-1)) // One, or one for each charge.
		for j := range costs {
			costs[j] = w.rng.Int64N(w.booked[i].cost+2) * w.rng.Int64N(2)
		}
		w.settle(i, costs...)
	case n < 18:
		w.brake(charges(0), store.Brake{Pause: time.Duration(w.rng.Int64N(int64(2 * limits[0].Period))), Slack: time.Millisecond})
	case n < 19:
		w.brake(charges(0), store.Brake{Tell: true, Gap: time.Duration(w.rng.Int64N(int64(limits[0].Period))), GapFor: time.Duration(w.rng.Int64N(int64(3 * limits[0].Period)))})
	case w.rng.IntN(2) == 0:
		w.brake(charges(0), store.Brake{Cut: store.Cut{Unit: 1, Recovery: time.Duration(w.rng.Int64N(int64(20 * limits[0].Period))), Since: store.Instant(*w.now)}})
	default:
		w.brake(charges(0), store.Brake{Lift: true})
	}
	*w.now++
}

func randomLimits(rng *rand.Rand, few bool) (limits []store.Limit) {
	n := 1 + rng.IntN(3)
	if few {
		n = 1
	}
	for range n {
		rate := 3 + rng.Int64N(9)
		l := store.Limit{Rate: rate, Period: time.Duration(rate+rng.Int64N(10_000_000)) * time.Microsecond, Algorithm: store.Algorithm(rng.IntN(5))}
		if rng.IntN(8) == 0 {
			l.Rate *= 1_000_003
		}
		if l.Algorithm == store.GCRA && rng.IntN(2) == 0 {
			l.Burst = 3 + rng.Int64N(8)
		}
		limits = append(limits, l)
	}
	return limits
}

// TestAgree compares the script with package exact, decision by decision.
func TestAgree(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	agree(t, server.Client(), long.Or(400, 80))
}

func TestAgreeMiniredis(t *testing.T) {
	t.Parallel()
	_, c := miniClient(t)
	agree(t, c, long.Or(40, 8))
}

// TestAgreeNamed tells stories on which the script and package exact once disagreed.
func TestAgreeNamed(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	const sec = time.Second
	minute, bucket := store.Per(10, time.Minute).By(store.AlignedWindow), store.Per(6, 7*sec)
	for name, tell := range map[string]func(w *twins){
		// The undone booking had added the bucket, which had lapsed before.
		"a left out limit lapses, is added again, and the booking is undone": func(w *twins) {
			w.take(w.of(true, 5, minute))
			w.take(w.of(false, 1, bucket))
			w.take(w.of(false, 1, minute))
			*w.now += (10 * sec).Microseconds()
			w.take(w.of(true, 1, bucket))
			w.settle(len(w.booked)-1, 0)
			w.take(w.of(true, 1, bucket))
		},
		"the undone booking had left out a limit that lapses": func(w *twins) {
			six, two, last := store.Per(6, 57*sec).By(store.SlidingWindow), store.Per(6, 20*sec), store.Per(5, 2*sec).By(store.AlignedWindow)
			for _, two := range []store.Limit{two.By(store.SlidingCounter), two.By(store.SlidingWindow)} {
				for _, later := range []time.Duration{24 * sec, 10 * sec} {
					w.take(w.of(true, 4, six))
					w.take(w.of(true, 2, two))
					*w.now += later.Microseconds()
					w.take(w.of(true, 4, last))
					w.settle(len(w.booked)-1, 0)
					*w.now += (15 * sec).Microseconds()
					w.take(w.of(true, 1, last))
					*w.now += (100 * sec).Microseconds()
				}
			}
		},
		"the undone booking had left out the only sliding window": func(w *twins) {
			w.take(w.of(true, 6, store.Per(9, sec).By(store.SlidingWindow)))
			*w.now += (2 * sec).Microseconds()
			w.take(w.of(true, 1, bucket))
			w.settle(len(w.booked)-1, 0)
			w.take(w.of(true, 1, minute))
			w.take(w.of(true, 2, store.Per(9, sec).By(store.SlidingWindow)))
		},
		// Instants count from the birth of the state.
		"a sliding window is in use for 60 years": func(w *twins) {
			for range 7 {
				w.take(w.of(true, 1, store.Per(10, 20*365*24*time.Hour).By(store.SlidingWindow)))
				*w.now += (10 * 365 * 24 * time.Hour).Microseconds()
			}
		},
		"all waiting calls are given back, the first one first": func(w *twins) {
			for _, limit := range []store.Limit{store.Per(6, 7*sec).By(store.SlidingWindow), store.Per(6, 7*sec).By(store.SlidingCounter)} {
				for range 4 {
					w.take(w.of(true, 6, limit))
				}
				w.brake(w.of(false, 0, limit).Charges, store.Brake{Pause: sec})
				for _, to := range []int64{1, 0, 0, 0} {
					w.settle(0, to)
					w.take(w.of(false, 0, limit))
				}
				w.take(w.of(true, 2, limit))
				*w.now += (100 * sec).Microseconds()
			}
		},
		// The first new limit gets an entry in the log. The limit that the other one replaces
		// does not count that entry.
		"two new limits replace two, one of them a sliding window": func(w *twins) {
			w.take(w.of(false, 2, store.Per(7, 2*sec).By(store.SlidingWindow), store.Per(3, 9*sec).By(store.FixedWindow)))
			*w.now += (3 * sec).Microseconds()
			w.take(w.of(false, 1, store.Per(8, 8*sec).By(store.SlidingWindow), store.Per(9, 1*sec).By(store.FixedWindow)))
		},
		// The process remembers the refusal.
		"a refusal outlasts the units of another sliding window": func(w *twins) {
			limits := []store.Limit{store.Per(7, sec/2).By(store.SlidingWindow), store.Per(4, 5*sec).By(store.SlidingWindow)}
			w.take(w.of(false, 2, limits...))
			w.take(w.of(false, 3, limits...))
			*w.now += (sec / 2).Microseconds()
			w.take(w.of(false, 3, limits...))
		},
		// Earlier bookings can't give units back to a limit that is added again.
		"a booking adds two limits, and gives back the units of one": func(w *twins) {
			old := store.Per(3, 9*sec).By(store.FixedWindow)
			w.take(w.of(true, 1, bucket, minute))
			w.take(w.of(false, 1, old))
			*w.now += (8 * sec).Microseconds()
			w.take(w.of(true, 3, bucket, old))
			w.settle(1, 0, 1)
			w.settle(0, 0, 1)
			w.take(w.of(true, 1, bucket, minute))
		},
		"the only booking of a pause is undone": func(w *twins) {
			w.take(w.of(false, 6, bucket))
			w.brake(w.of(false, 0, bucket).Charges, store.Brake{Pause: 10 * sec})
			*w.now++
			w.take(w.of(true, 1, bucket))
			*w.now++
			w.settle(0, 0)
			w.take(w.of(true, 6, bucket))
		},
		"a call that left a reserve is ahead at a pause": func(w *twins) {
			w.take(w.of(false, 6, bucket))
			for _, reserve := range []int64{2, 0, 0} {
				req := w.of(true, 2, bucket)
				req.Charges[0].Reserve = reserve
				w.take(req)
			}
			*w.now += (5 * sec).Microseconds()
			w.brake(w.of(false, 0, bucket).Charges, store.Brake{Pause: 10 * sec})
			w.take(w.of(true, 1, bucket))
		},
		// The key's time has no instant at which the window begins.
		"a slot at the beginning of a window while the key is slow": func(w *twins) {
			w.brake(w.of(false, 0, minute).Charges, store.Brake{Tell: true, Gap: 13 * sec, GapFor: time.Hour})
			w.take(w.of(false, 10, minute))
			w.take(w.of(true, 3, minute))
			w.take(w.of(true, 10, minute))
			w.brake(w.of(false, 0, minute).Charges, store.Brake{Pause: 10 * sec})
			w.take(w.of(true, 1, minute))
		},
		// Earlier bookings are none of its own.
		"a limit is added by a call that costs nothing under it": func(w *twins) {
			w.take(w.of(true, 1, store.Per(3, sec)))
			req := w.of(false, 0, store.Per(1, 2*sec), store.Per(2, sec).By(store.AlignedWindow))
			req.Charges[1].Cost = 2
			w.take(req)
			w.settle(0, 2)
			w.take(w.of(true, 1, store.Per(1, 2*sec)))
		},
		"a fixed window replaces one of its length": func(w *twins) {
			wide, narrow := store.Per(9, 10*sec).By(store.FixedWindow), store.Per(4, 10*sec).By(store.FixedWindow)
			w.take(w.of(true, 2, wide))
			for _, cost := range []int64{1, 4, 3} {
				*w.now += (4 * sec).Microseconds()
				w.take(w.of(true, cost, narrow))
				w.take(w.of(true, 3, wide))
			}
		},
		// A microsecond of its time is longer than a window.
		"a very slow key is lifted": func(w *twins) {
			limit := store.Per(1000, sec).By(store.AlignedWindow)
			w.take(w.of(false, 1000, limit))
			w.brake(w.of(false, 0, limit).Charges, store.Brake{Tell: true, Gap: time.Hour, GapFor: 2 * time.Hour})
			w.take(w.of(true, 600, limit))
			*w.now += 200_000
			w.brake(w.of(false, 0, limit).Charges, store.Brake{Lift: true})
			w.take(w.of(true, 450, limit))
			w.take(w.of(true, 450, limit))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tell(newTwins(t, client, name, rand.New(rand.NewPCG(1, 3))))
		})
	}
}

// of returns a request of a cost under limits.
func (w *twins) of(cancelable bool, cost int64, limits ...store.Limit) store.Request {
	req := charge(w.key, cost, limits...)
	if req.Cancelable = cancelable; cancelable {
		req.MaxWait = time.Hour
	}
	return req
}

func newTwins(t *testing.T, c redis.UniversalClient, key string, rng *rand.Rand) *twins {
	now := int64(startMicros) + rng.Int64N(1e9)
	s, err := New(Config{Client: c, now: func() int64 { return now }})
	if err != nil {
		t.Fatal(err)
	}
	return &twins{T: t, rng: rng, redis: s, key: key, now: &now}
}

func agree(t *testing.T, c redis.UniversalClient, stories int) {
	for seed := range stories {
		rng := rand.New(rand.NewPCG(uint64(seed), 3))
		w := newTwins(t, c, fmt.Sprint("story ", seed), rng)
		sets := [][]store.Limit{randomLimits(rng, seed%2 == 0)}
		if rng.IntN(2) == 0 {
			other := randomLimits(rng, false)
			if rng.IntN(2) == 0 {
				other = append(other, sets[0]...)
			}
			sets = append(sets, other)
		}
		for range 60 {
			w.step(sets)
		}
	}
}
