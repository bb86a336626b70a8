package redisstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// snapshot returns everything stored about a key.
func snapshot(c redis.UniversalClient, s *Store, key string) string {
	state, log := namesOf(s, key)
	ctx := context.Background()
	return fmt.Sprintf("%q %q", c.Dump(ctx, state).Val(), c.Dump(ctx, log).Val())
}

// TestForeignStateIsATypedError: a foreign value is an error of its key, and stays
// unchanged. Reset clears it.
func TestForeignStateIsATypedError(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	s, _ := newStill(t, c, "")
	ctx := t.Context()
	text := func(value string) func(state, log string) {
		return func(state, _ string) { c.Set(ctx, state, value, 0) }
	}
	const g, born = "1g5/3600s=", "|946684800000000"
	for name, test := range map[string]struct {
		plant func(state, log string)
		err   error
	}{
		"a hash":                    {func(state, _ string) { c.HSet(ctx, state, "a", "b") }, ErrState},
		"a list":                    {func(state, _ string) { c.RPush(ctx, state, "a") }, ErrState},
		"a set of leases":           {func(state, _ string) { c.ZAdd(ctx, state, redis.Z{Score: 1, Member: "a"}) }, ErrState},
		"a log of another type":     {func(_, log string) { c.Set(ctx, log, "x", 0) }, ErrState},
		"a log without its value":   {func(_, log string) { c.RPush(ctx, log, "mine") }, ErrState},
		"nothing":                   {text(""), ErrState},
		"a text":                    {text("hello"), ErrState},
		"a bar":                     {text("|"), ErrState},
		"a newer version":           {text("2g5/3600s=1" + born), ErrVersion},
		"a far newer version":       {text("9\x00\xff"), ErrVersion},
		"an older version":          {text("0"), ErrVersion},
		"another number":            {text("12"), ErrState},
		"a limit twice":             {text("1g5/3600s=1;g5/3600s=1" + born), ErrState},
		"a number more":             {text(g + "1.0.7" + born), ErrState},
		"a text behind":             {text(g + "1" + born + "hello"), ErrState},
		"a part without a name":     {text(g + "1" + born + "||"), ErrState},
		"a part twice":              {text(g + "1" + born + "|c1.2|c1.2"), ErrState},
		"a credit out of bounds":    {text(g + "1" + born + "|q0.0.0.7.1.946684800000000,99999999999999999.1.1.0"), ErrState},
		"a credit of another size":  {text(g + "1" + born + "|q0.0.0.7.1.946684800000000,1.0.0"), ErrState},
		"a credit too many":         {text(g + "1" + born + "|q0.0.0.7.1.946684800000000,1.0.0.0,1.0.0.0"), ErrState},
		"no birth":                  {text(g + "0|"), ErrState},
		"no numbers":                {text(g + born), ErrState},
		"a huge number":             {text(g + "99999999999999999999" + born), ErrState},
		"a huge birth":              {text(g + "1|99999999999999999999"), ErrState},
		"an exponent":               {text(g + "1e3" + born), ErrState},
		"a rest over its limit":     {text(g + "1.5" + born), ErrState},
		"no rate":                   {text("1g0/1=1" + born), ErrState},
		"a limit out of bounds":     {text("1g1/999999999999999999=1" + born), ErrState},
		"another algorithm":         {text("1x5/3600000000=1" + born), ErrState},
		"too many units":            {text("1f5/3600000000=946684800000000.9007199254740991" + born), ErrState},
		"too many limits":           {text("1" + strings.Repeat("f5/3600000000=946684800000000.1;", 65) + born), ErrState},
		"an unknown part":           {text(g + "1" + born + "|z1"), ErrState},
		"a short queue":             {text(g + "1" + born + "|q1.2.3"), ErrState},
		"a queue out of bounds":     {text(g + "1" + born + "|q99999999999999999.1.1.1.1.1"), ErrState},
		"a clock of another length": {text(g + "1" + born + "|c1.2.3"), ErrState},
		"a clock of zeros":          {text(g + "1" + born + "|c0.0.0.0.0.0.0.0.0.0.0"), ErrState},
		"a share over its bound":    {text(g + "1" + born + "|c946684800000000.1.0.0.1.0.0.65.1.1.0"), ErrState},
		"a share without a step":    {text(g + "1" + born + "|c946684800000000.1.0.0.1.0.0.5.1.0.0"), ErrState},
		"a clock far ahead":         {text(g + "1" + born + "|c946684800000000.9007199254740991"), ErrState},
		"a restored part twice":     {text(g + "1" + born + "|r|r"), ErrState},
		"restored without numbers":  {text(g + "1" + born + "|r946684800000000"), ErrState},
		"restored too little":       {text(g + "1" + born + "|r946684800000000;1.2"), ErrState},
		"restored too much":         {text(g + "1" + born + "|r946684800000000;1.0.0;1.0.0"), ErrState},
		"restored before the birth": {text(g + "1" + born + "|r946684799999999;1.0.0"), ErrState},
		"restored out of bounds":    {text(g + "1" + born + "|r946684800000000;99999999999999999.0.0"), ErrState},
		"restored far ahead":        {text(g + "1" + born + "|r99999999999999999;1.0.0"), ErrState},
		"restored, a rest too long": {text(g + "1" + born + "|r946684800000000;1.5.0"), ErrState},
		"a reset with numbers":      {text(g + "1" + born + "|r;1.0.0"), ErrState},
		"a short log":               {text("1w5/3600000000=0.0" + born + "|l0.1.0.1"), ErrState},
		"a log that is not there":   {text("1w5/3600000000=0.0" + born + "|l0.1.0.1.0.0.0"), ErrState},
		"a log that runs backwards": {text("1w5/3600000000=0.0" + born + "|l2.1.0.1.0.0.0"), ErrState},
	} {
		for _, l := range every(5, time.Hour) {
			key := name + l.Algorithm.String()
			state, log := namesOf(s, key)
			test.plant(state, log)
			before := snapshot(c, s, key)
			needsLog := strings.HasPrefix(name, "a log of") || strings.HasPrefix(name, "a log without")
			if needsLog && l.Algorithm != store.SlidingWindow {
				continue // No other algorithm looks at a log.
			}
			for _, req := range []store.Request{charge(key, 1, l), {Charges: charge(key, 1, l).Charges, Cancelable: true}, charge(key, 0, l)} {
				_, err := s.Take(ctx, req)
				var one interface{ OfOneKey() bool }
				if !errors.Is(err, test.err) || errors.Is(err, weir.ErrLimited) || !errors.As(err, &one) || !one.OfOneKey() {
					t.Errorf("%s under %v: got %v, want %v", name, l.Algorithm, err, test.err)
				}
			}
			if err := s.Brake(ctx, charge(key, 0, l).Charges, store.Brake{Pause: time.Second}); !errors.Is(err, ErrState) {
				t.Errorf("%s under %v: a brake: %v", name, l.Algorithm, err)
			}
			m := store.Memory{Key: key, Limits: []store.Limit{l}, At: 1, Known: make([]store.Used, 1), Spent: make([]store.Used, 1), ID: "id"}
			if _, err := s.Restore(ctx, m); !errors.Is(err, ErrState) || c.Exists(ctx, rediskey.Restored(state, "id")).Val() != 0 {
				t.Errorf("%s under %v: restoring: %v", name, l.Algorithm, err)
			}
			if after := snapshot(c, s, key); after != before {
				t.Errorf("%s under %v: %s became %s", name, l.Algorithm, before, after)
			}
			if err := s.Reset(ctx, "", key); err != nil {
				t.Fatal(err)
			}
			if d := take(t, s, charge(key, 1, l)); !d.Allowed || d.Remaining != 4 {
				t.Errorf("%s under %v: after a reset: %+v", name, l.Algorithm, d)
			}
		}
	}
}

// TestDamagedLog: a log that does not match its value, or holds a foreign entry in the
// script's way, is an error. It stays unchanged.
func TestDamagedLog(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	s, sleep := newStill(t, c, "")
	ctx := t.Context()
	l := store.Per(5, time.Minute).By(store.SlidingWindow)
	damages := map[string]func(log string){
		"an entry more":       func(log string) { c.RPush(ctx, log, "1.1") },
		"an entry fewer":      func(log string) { c.RPop(ctx, log) },
		"gone":                func(log string) { c.Del(ctx, log) },
		"of another log":      func(log string) { c.Del(ctx, log); c.RPush(ctx, log, "1.1", "2.2") },
		"another type":        func(log string) { c.Del(ctx, log); c.Set(ctx, log, "x", 0) },
		"a head without base": func(log string) { c.LSet(ctx, log, 0, "0.1") },
	}
	for _, entry := range []string{"", "x", "1e3", "inf", "nan", "0x10", "1.", ".1", "1.2.3.4", "1:2", "-5.1", "99999999999999999999.1.0"} {
		damages[fmt.Sprintf("entries of %q", entry)] = func(log string) {
			for i := range c.LLen(ctx, log).Val() {
				c.LSet(ctx, log, i, entry)
			}
		}
	}
	for name, damage := range damages {
		for range 5 {
			take(t, s, charge(name, 1, l))
		}
		_, log := namesOf(s, name)
		damage(log)
		before := snapshot(c, s, name)
		if _, err := s.Take(ctx, charge(name, 1, l)); !errors.Is(err, ErrState) {
			t.Errorf("%s: %v, want ErrState", name, err)
		}
		if after := snapshot(c, s, name); after != before {
			t.Errorf("%s: %s became %s", name, before, after)
		}
	}
	sleep(time.Second)
}

// wild are numbers that cause trouble.
var wild = []string{
	"0", "1", "2", "5", "64", "65", "999999", "1000000", "3600000000", "946684800000000", "946684800000001", "946684803600000",
	"1125899906842623", "1125899906842624", "1576800000000000", "2000000000000000", "4102444800000000",
	"4503599627370496", "9007199254740991", "9007199254740992", "99999999999999999999",
}

var digits = regexp.MustCompile(`\d+`)

// TestPlantedNumbers replaces numbers of real states, and of their logs, with wild ones.
// Calls then answer, or fail with ErrState, in time.
func TestPlantedNumbers(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	ctx := t.Context()
	rng := rand.New(rand.NewPCG(7, 9))
	answered := 0
	for n := range long.Of(4000) {
		s, sleep := newStill(t, c, fmt.Sprint(n, ":"))
		limits := randomLimits(rng, rng.IntN(2) == 0)
		req := charge("key", 1, limits...)
		var last store.Decision
		m := store.Memory{Key: "key", Limits: limits, At: startMicros - 1, Known: make([]store.Used, len(limits)), Spent: make([]store.Used, len(limits))}
		for i := range limits {
			m.Known[i] = store.Used{At: startMicros + store.Instant(rng.Int64N(1e9)), Before: rng.Int64N(5)}
			if limits[i].Algorithm != store.GCRA {
				m.Known[i].Units = rng.Int64N(5)
			}
			m.Spent[i] = m.Known[i]
		}
		restores := rng.IntN(2) == 0
		if restores {
			if _, err := s.Restore(ctx, m); err != nil {
				t.Fatal(err)
			}
		}
		for range 1 + rng.IntN(8) {
			req.MaxWait, req.Cancelable = time.Duration(rng.IntN(3))*time.Hour, rng.IntN(2) == 0
			if d := take(t, s, req); d.Receipt != nil {
				last = d
			}
			sleep(time.Duration(rng.Int64N(int64(limits[0].Period))).Truncate(time.Microsecond))
		}
		if rng.IntN(2) == 0 {
			b := store.Brake{Pause: time.Minute, Cut: store.Cut{Unit: 1, Recovery: time.Hour}, Tell: rng.IntN(2) == 0, Gap: time.Second, GapFor: time.Hour}
			if err := s.Brake(ctx, req.Charges, b); err != nil {
				t.Fatal(err)
			}
		}
		state, log := namesOf(s, "key")
		spoil := func(text string, rare int) string {
			return text[:min(1, len(text))] + digits.ReplaceAllStringFunc(text[min(1, len(text)):], func(number string) string {
				if rng.IntN(rare) > 0 {
					return number
				}
				return wild[rng.IntN(len(wild))]
			})
		}
		value := spoil(c.Get(ctx, state).Val(), 6)
		c.Set(ctx, state, value, time.Hour)
		for i, entry := range c.LRange(ctx, log, 0, -1).Val() {
			c.LSet(ctx, log, int64(i), spoil(entry, 12))
		}
		check := func(what string, err error) {
			if err != nil && !errors.Is(err, ErrState) {
				t.Errorf("%s of %q: %v", what, value, err)
			}
		}
		if last.Receipt != nil && rng.IntN(2) == 0 {
			check("settling", s.Settle(ctx, last.Receipt, rng.Int64N(4)))
		}
		if restores {
			m.ID = "id"
			_, err := s.Restore(ctx, m)
			check("restoring", err)
		}
		if rng.IntN(3) == 0 {
			check("braking", s.Brake(ctx, req.Charges, store.Brake{Pause: time.Second}))
		}
		for _, cost := range []int64{0, 1} {
			d, err := s.Take(ctx, charge("key", cost, limits...))
			if check("taking", err); err == nil {
				answered++
				if d.Remaining < 0 || d.Remaining > d.Limit.Max() || d.Delay < 0 || d.RetryAfter < 0 {
					t.Errorf("%q: %+v", value, d)
				}
			}
		}
	}
	if answered < long.Of(400) {
		t.Errorf("only %d calls were answered", answered)
	}
}
