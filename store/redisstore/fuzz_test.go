package redisstore

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/script"
)

// FuzzState plants a value and a log, and makes calls on the key. Each call answers soundly
// or fails with ErrState. No value is reset silently.
func FuzzState(f *testing.F) {
	const born = "|946684800000000"
	for _, seed := range []struct{ value, log string }{
		{"1g5/3600000000=720000000" + born, ""},
		{"1g5/3600000000/9=720000000.0~946684900000000" + born, ""},
		{"1g7/3600000000=514285714.2" + born + "|q0.0.0.77.1.946684800000000,1.0.0.0", ""},
		{"1g5/3600000000=4320000000" + born + "|q720000000.720000000.1.77.6.946684800000000,1.0.0.0.2.0.720000001.0", ""},
		{"1f5/3600000000=946684800000000.3" + born, ""},
		{"1a5/3600000000=946684800000000.3.2" + born + "|q0.0.0.77.4.946684800000000", ""},
		{"1c5/3600000000=946684800000000.3.2" + born, ""},
		{"1c5/3600000000=946684800000000.3.2.4.1" + born + "|q0.0.0.77.4.946684800000000", ""},
		{"1w5/3600000000=0.0" + born + "|l0.2.0.3.0.0.0", "0.1.0 0.3"},
		{"1w5/3600000000=256.64;g5/3600000000=1" + born + "|l256.257.1.65.64.64.64", "1.1.64"},
		{"1g5/3600000000=720000000" + born + "|c946684800000000.946684800000000.946684860000000.0.720000000.0.0.0.0.0.0", ""},
		{"1g5/3600000000=720000000" + born + "|c946684800000000.946684800000000.0.0.720000000.1000000.946684860000000.32.946684800000000.1000000.1", ""},
		{"1g7/3600000000=514285714.2" + born + "|r946684800000000;946684900000000.2.0", ""},
		{"1c5/3600000000=946684800000000.3.2" + born + "|r946684800000000;946684800000000.2.1", ""},
		{"1w5/3600000000=0.0" + born + "|l0.2.0.3.0.0.0|r946684800000007;946684800000000.2.1", "0.1.0 0.3"},
		{"1" + born + "|r", ""}, {"1f5/3600000000=946684800000000.3" + born + "|r", ""},
		{"1g1/1=1|9007199254740991", ""}, {"2g5/3600000000=1" + born, ""}, {"", ""}, {"1", ""}, {"1|", ""}, {"1" + born, ""}, {"1=;=|1", "1.1.1"},
	} {
		f.Add(seed.value, seed.log)
	}
	m, c := miniClient(f)
	f.Fuzz(func(t *testing.T, value, log string) {
		m.FlushAll()
		s, sleep := newStill(t, c, "")
		ctx := context.Background()
		state, logKey := namesOf(s, "k")
		m.Set(state, value)
		if log != "" {
			m.Push(logKey, strings.Split(log, " ")...)
		}
		for _, l := range every(5, time.Hour) {
			for _, cost := range []int64{0, 1, 3, 5} {
				req := charge("k", cost, l)
				req.MaxWait, req.Cancelable = time.Duration(cost)*time.Second, cost > 1
				d, err := s.Take(ctx, req)
				if err != nil {
					if !errors.Is(err, ErrState) {
						t.Fatalf("value %q, log %q, %v: %v", value, log, l.Algorithm, err)
					}
					if got, _ := m.Get(state); got != value {
						t.Fatalf("value %q, log %q, %v: %v, but it is now %q", value, log, l.Algorithm, err, got)
					}
					return
				}
				if d.Remaining < 0 || d.Remaining > 5 || d.RetryAfter < 0 || d.Delay < 0 {
					t.Fatalf("value %q, log %q, %v: %+v", value, log, l.Algorithm, d)
				}
				if d.Receipt != nil {
					if err := s.Cancel(ctx, d.Receipt); err != nil && !errors.Is(err, ErrState) {
						t.Fatal(err)
					}
				}
				value, _ = m.Get(state)
			}
			known := []store.Used{{At: startMicros + 60_000_000, Units: 0, Before: 1}}
			memory := store.Memory{Key: "k", Limits: []store.Limit{l}, At: 1, Known: known, Last: startMicros + 90_000_000, Spent: known, ID: l.Algorithm.String()}
			if _, err := s.Restore(ctx, memory); err != nil && !errors.Is(err, ErrState) {
				t.Fatalf("value %q, log %q, %v: restoring: %v", value, log, l.Algorithm, err)
			}
			value, _ = m.Get(state)
			sleep(time.Minute)
		}
	})
}

// FuzzReply: no reply makes its reader panic, or passes for another one.
func FuzzReply(f *testing.F) {
	f.Add("1 2 3 4 5 6 7", "")
	f.Add("946684800000000 1 0 5", "1.1")
	f.Add("1 1 2 3 4 5 6", "1.2.3")
	f.Add("", "")
	limits := script.LimitsOf(charge("k", 1, every(5, time.Hour)...).Charges)
	f.Fuzz(func(t *testing.T, numbers, text string) {
		var list []any
		for _, part := range strings.Fields(numbers) {
			if part == "t" {
				list = append(list, text)
				continue
			}
			n := int64(0)
			for _, r := range part {
				n = n*31 + int64(r) - '0'
			}
			list = append(list, n)
		}
		r := script.NewReply(list)
		now := r.Number()
		a := r.Answer(&script.Key{Limits: limits}, 1, nil, now)
		if r.End() == nil && a.Calls >= 0 && len(a.States) != len(limits.Rules) {
			t.Errorf("%q: %+v", numbers, a)
		}
	})
}
