package redisstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/goweir/weir/store"
)

// FuzzState plants a value and a log entry and makes calls on the key: each
// answers or fails with ErrState, within what the limits could make it wait.
func FuzzState(f *testing.F) {
	for _, seed := range []string{
		"g5/3600000000/5|946684800000000", "g3/1000000/3|946684800000000.1.5.0.946684800000000",
		"f5/3600000000|946684800000000.3", "a5/3600000000|946684800000000.3", "c5/3600000000|946684800000000.3.2",
		"w5/3600000000|1.1.946684800000000", "w5/3600000000|1.1.946684800000000.1",
		"g5/1000000/5,w5/3600000000|946684800000000;1.1.9|946684801000000,946684800000000",
		"g1/1/1|9007199254740991", "c1/1|1.1125899906842624.1125899906842624", "", "|", "||", "g|1", "g5/3600000000/5|.",
	} {
		f.Add(seed, "946684800000000")
		f.Add(seed, "946684800000000:3,2")
	}
	m, c := miniClient(f)
	f.Fuzz(func(t *testing.T, value, entry string) {
		m.FlushAll()
		s, sleep := newStill(t, c, "")
		ctx := context.Background()
		state, log := s.keys("", "k")
		m.Set(state, value)
		m.Push(log, entry)
		for _, l := range every(5, time.Hour) {
			for _, cost := range []int64{0, 1, 3, 5} {
				req := charge("k", cost, l)
				req.MaxWait, req.Cancelable = time.Duration(cost)*time.Second, cost > 1
				d, err := s.Take(ctx, req)
				if err != nil {
					if !errors.Is(err, ErrState) {
						t.Fatalf("value %q, entry %q, %v: %v", value, entry, l.Algorithm, err)
					}
					continue
				}
				if d.Remaining < 0 || d.Remaining > 5 || d.RetryAfter < 0 || d.Delay < 0 || d.RetryAfter > 4*time.Hour && d.RetryAfter != store.Never {
					t.Fatalf("value %q, entry %q, %v: %+v", value, entry, l.Algorithm, d)
				}
				if d.Receipt != nil {
					if err := s.Cancel(ctx, d.Receipt); err != nil && !errors.Is(err, ErrState) {
						t.Fatal(err)
					}
				}
			}
			sleep(time.Minute)
		}
	})
}

// FuzzReply checks that no reply makes the parser panic or take half of it.
func FuzzReply(f *testing.F) {
	f.Add("1 2 3 4 5 6 7", 1)
	f.Add("1 2 3", 0)
	f.Add("", 2)
	f.Add("1 2 3 4 5 6 7 ", 1)
	f.Fuzz(func(t *testing.T, head string, limits int) {
		order := make([]int, max(min(limits, 8), 0))
		for i := range order {
			order[i] = i
		}
		_, outcomes, err := parse(head, order, nil, false)
		if err == nil && len(outcomes) != len(order) {
			t.Errorf("%q: %d outcomes of %d", head, len(outcomes), len(order))
		}
	})
}
