package redisstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/internal/long"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// without returns the script without the parts that match a pattern.
func without(t *testing.T, pattern string) *redis.Script {
	t.Helper()
	names, err := parts.ReadDir("lua")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, name := range names {
		if part, err := parts.ReadFile("lua/" + name.Name()); err != nil {
			t.Fatal(err)
		} else if !regexp.MustCompile(pattern).MatchString(name.Name()) {
			text.Write(part)
		}
	}
	return redis.NewScript(text.String())
}

// TestQuickPartAgreesWithTheRest has calls decided by the script's quick part
// alone, and by the script without it: what it decides is the same, it decides all
// that it is for, and what it does not decide it leaves as it is.
func TestQuickPartAgreesWithTheRest(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := redistest.Start(t).Client()
	quick, rest := without(t, "^[1-9]"), without(t, "quick")
	plain := regexp.MustCompile(`^((g[^,|]*|[fac][^,|]*),?)+\|(\d+(\.\d+){0,2};?)+$`)
	decided, logs, left := 0, 0, 0
	for seed := range uint64(long.Of(120)) {
		rng := rand.New(rand.NewPCG(seed, 9))
		s, sleep := newStill(t, client, fmt.Sprintf("seed%d:", seed))
		period := time.Duration(1+rng.IntN(30)) * 100 * time.Millisecond
		limits := make([]store.Limit, 1+rng.IntN(3))
		for i := range limits {
			a := store.Algorithm(rng.IntN(5))
			limits[i] = store.Per(1+rng.Int64N(12), period*time.Duration(1+rng.IntN(5))).By(a)
			if a == store.GCRA {
				limits[i].Burst = 1 + rng.Int64N(12)
			}
		}
		most := int64(2)
		if seed%4 == 3 { // Products beyond 2^53, some of which are left.
			period, most = 30*24*time.Hour, 5_000_000
			for i := range limits {
				limits[i].Rate, limits[i].Period = 1+rng.Int64N(6_000_000), period*time.Duration(1+rng.IntN(5))
			}
		}
		back := false // the clock has stepped back
		for range 80 {
			req := charge("key", 1, limits...)
			same := rng.IntN(3) > 0
			for i := range req.Charges {
				req.Charges[i].Cost = 1 + rng.Int64N(min(most, limits[i].Max()))
				if same {
					req.Charges[i].Cost = min(req.Charges[0].Cost, limits[i].Max())
				}
			}
			switch rng.IntN(8) {
			case 0, 1:
				sleep(time.Duration(rng.Int64N(3*int64(period)/1000)) * time.Microsecond)
				continue
			case 4:
				sleep(period / 10 * time.Duration(rng.IntN(20)))
				continue
			case 2:
				req.Cancelable, req.MaxWait = rng.IntN(2) == 0, period*time.Duration(rng.IntN(3))
				if d := take(t, s, req); d.Allowed && rng.IntN(2) == 0 && req.Cancelable {
					if err := s.Cancel(ctx, d.Receipt); err != nil {
						t.Fatal(err)
					}
				}
				continue
			case 3:
				if rng.IntN(20) == 0 {
					back = true
					sleep(-time.Duration(rng.IntN(3)) * period)
				}
			}
			state, log := s.keys("", "key")
			switch rng.IntN(40) { // Somebody else was there.
			case 0:
				client.Del(ctx, state)
			case 1:
				client.RPop(ctx, log)
			}
			before, as, entries := client.Get(ctx, state).Val(), client.Dump(ctx, state).Val(), client.Dump(ctx, log).Val()
			var lives, logLives time.Duration
			r := newRules(s, req.Charges)
			args, keys := r.args(state, 1+rng.IntN(3)*rng.IntN(2), s.clock())[4:], []string{state}
			if r.logged {
				args, keys = args[1:], []string{state, log}
			}
			got, err := quick.Run(ctx, client, keys, args...).Int64Slice()
			after, entriesAfter := client.Get(ctx, state).Val(), client.LRange(ctx, log, 0, -1).Val()
			if err == nil {
				got = append([]int64{got[0], -2, got[1], got[1]}, quickly(got[0], got[2:])...)
				decided++
				if r.logged {
					logs++
				}
				lives, logLives = client.PTTL(ctx, state).Val(), client.PTTL(ctx, log).Val()
				for key, was := range map[string]string{state: as, log: entries} {
					client.Del(ctx, key)
					if was != "" {
						client.Restore(ctx, key, time.Hour, was)
					}
				}
			} else if left++; err != redis.Nil || client.Dump(ctx, state).Val() != as || client.Dump(ctx, log).Val() != entries {
				t.Fatalf("seed %d, %v: not decided, %v: %q became %q", seed, limits, err, before, after)
			}
			want, wrong := rest.Run(ctx, client, keys, args...).Int64Slice()
			if wrong != nil {
				t.Fatal(wrong)
			}
			if now := client.LRange(ctx, log, 0, -1).Val(); err == nil && r.logged && (!slices.Equal(entriesAfter, now) || (logLives-client.PTTL(ctx, log).Val()).Abs() > time.Second) {
				t.Fatalf("seed %d, %v, of %q: the log is %q for %v, want %q", seed, limits, before, entriesAfter, logLives, now)
			}
			should := !r.logged && !back && most == 2 && want[3] == int64(args[1].(int)) && (as == "" || plain.MatchString(before) && strings.Count(before, ";") == len(limits)-1)
			switch now, ttl := client.Get(ctx, state).Val(), client.PTTL(ctx, state).Val(); {
			case err == nil && (!slices.Equal(got, want) || after != now || (lives-ttl).Abs() > time.Second):
				t.Fatalf("seed %d, %v, of %q: got %d and %q for %v, want %d and %q for %v", seed, limits, before, got, after, lives, want, now, ttl)
			case err != nil && should && !manyNumbers(before):
				t.Fatalf("seed %d, %v: not decided, of %q: %d", seed, limits, before, want)
			}
		}
	}
	t.Logf("%d decided, %d of them of logs, %d left", decided, logs, left)
	if decided == 0 || left == 0 || logs == 0 {
		t.Error("it should meet all")
	}
}

// TestQuickPartAgreesOnLevels: and so it does of several keys together.
func TestQuickPartAgreesOnLevels(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	client := redistest.Start(t).Client()
	quick, rest := without(t, "^[1-9]"), without(t, "quick")
	decided, left := 0, 0
	for seed := range uint64(long.Of(80)) {
		rng := rand.New(rand.NewPCG(seed, 12))
		s, sleep := newStill(t, client, fmt.Sprintf("seed%d:", seed))
		period := time.Duration(1+rng.IntN(30)) * 100 * time.Millisecond
		levels := make([][]store.Limit, 2+rng.IntN(2))
		for i := range levels {
			levels[i] = drawLimits(rng, period)
		}
		for range 60 {
			sleep(time.Duration(rng.Int64N(int64(period)/4000)) * time.Microsecond)
			var req store.Request
			for i, limits := range levels {
				req.Charges = append(req.Charges, charge(fmt.Sprint("{tag}", i), 1-rng.Int64N(20)/19, limits...).Charges...)
			}
			if rng.IntN(20) == 0 {
				req.Cancelable, req.MaxWait = true, period
				take(t, s, req)
				continue
			}
			args := s.newCall(&req, "take").args("", "")[2:]
			n := args[0].(int)
			keys := make([]string, n)
			for i := range keys {
				keys[i] = args[1+i].(string)
			}
			dump := func() (all []string) {
				for _, key := range keys {
					all = append(all, client.Dump(ctx, key).Val())
				}
				return all
			}
			before := dump()
			got, err := quick.Run(ctx, client, keys, args[1+n:]...).Text()
			after := dump()
			if err == nil {
				decided++
				for i, key := range keys {
					client.Del(ctx, key)
					if before[i] != "" {
						client.Restore(ctx, key, time.Hour, before[i])
					}
				}
			} else if left++; err != redis.Nil || !slices.Equal(before, after) {
				t.Fatalf("seed %d: not decided, %v: %q became %q", seed, err, before, after)
			}
			want, wrong := rest.Run(ctx, client, keys, args[1+n:]...).Text()
			if wrong != nil {
				t.Fatal(wrong)
			}
			if err == nil && (got != want || !slices.Equal(after, dump())) {
				t.Fatalf("seed %d, %v: got %s and %q, want %s and %q", seed, levels, got, after, want, dump())
			}
		}
	}
	t.Logf("%d decided, %d left", decided, left)
	if decided == 0 || left == 0 {
		t.Error("it should meet both")
	}
}

// manyNumbers reports whether a plain value tells more of a limit than what is
// used of it.
func manyNumbers(value string) bool {
	signature, text, _ := strings.Cut(value, "|")
	specs := strings.Split(signature, ",")
	for i, part := range strings.Split(text, ";") {
		if most := map[byte]int{'g': 2, 'f': 2, 'a': 2, 'c': 3}; value != "" && strings.Count(part, ".")+1 > most[specs[i][0]] {
			return true
		}
	}
	return false
}
