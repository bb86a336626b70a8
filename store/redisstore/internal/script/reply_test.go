package script

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

func TestParseBrake(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]*exact.Move{
		"5.6 0 7 3:api key":  {Clock: exact.Clock{At: 5, V: 6, Unit: 1}, First: 7},
		"5.6 3.4 0 0:a b c ": {Clock: exact.Clock{At: 5, V: 6, Unit: 1}, Before: exact.Clock{At: 3, V: 4, Unit: 1}},
		"":                   nil, "5.6 0 7": nil, "5.6 x 7 0:a": nil, "x 0 7 0:a": nil, "5.6 0 x 0:a": nil,
	} {
		name, clock, ok := ParseBrake(payload)
		if ok != (want != nil) {
			t.Errorf("%q: %t", payload, ok)
			continue
		}
		if ok && (fmt.Sprint(clock) != fmt.Sprint(want) || name != payload[len(payload)-len(name):] || name == "") {
			t.Errorf("%q: %q, %+v, want %+v", payload, name, clock, want)
		}
	}
	if name, _, _ := ParseBrake("5.6 0 7 0:a b c "); name != "0:a b c " {
		t.Errorf("the name is %q", name)
	}
}

func FuzzParseBrake(f *testing.F) {
	f.Add("5.6 0 7 3:api key")
	f.Add("1.2.3.4.5.6.7.8.9.10.1 3.4 0 0:")
	f.Fuzz(func(t *testing.T, payload string) {
		if _, clock, ok := ParseBrake(payload); ok {
			clock.Real(1) // It ends.
			clock.Gap(1)
		}
	})
}

// TestReplyOfAnotherForm: a reply with a missing or extra part is errReply.
func TestReplyOfAnotherForm(t *testing.T) {
	t.Parallel()
	limits := limitsOf(store.Per(3, time.Second), store.Per(5, time.Minute).By(store.SlidingCounter))
	short := []any{int64(9), int64(1), int64(0), int64(1), int64(2), int64(3), int64(4), int64(5)}
	long := []any{int64(9), int64(1), "5.6", int64(9), int64(9), int64(1), int64(2), int64(9), int64(3), int64(4), int64(5), int64(9)}
	read := func(list any) error {
		r := NewReply(list)
		r.Answer(&Key{Limits: limits}, 1, nil, r.Number())
		return r.End()
	}
	for _, good := range [][]any{short, long, {int64(9), int64(needsLog)}, {int64(9), int64(failed)}} {
		if err := read(good); err != nil {
			t.Errorf("%v: %v", good, err)
		}
		bad := map[string]any{"one more": append(append([]any(nil), good...), int64(1)), "one fewer": good[:len(good)-1], "no list": "OK"}
		for i := range good {
			text := append([]any(nil), good...)
			text[i] = "x"
			bad[fmt.Sprint("a text at ", i)] = text
			none := append([]any(nil), good...)
			none[i] = nil
			bad[fmt.Sprint("nothing at ", i)] = none
		}
		for name, list := range bad {
			if err := read(list); !errors.Is(err, errReply) {
				t.Errorf("%v with %s: %v", good, name, err)
			}
		}
	}
}

// TestReplyThatAsksForever: a reply that asks for the log again is errReply, and so is one with an
// unknown code: the call would go on for ever, or be decided by nothing.
func TestReplyThatAsksForever(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		calls int64
		key   Key
		want  error
	}{
		"without the log":  {needsLog, Key{}, nil},
		"with the log":     {needsLog, Key{Logged: true}, errReply},
		"an unknown code":  {-4, Key{}, errReply},
		"lost":             {lost, Key{Logged: true}, nil},
		"can't be decided": {failed, Key{Logged: true}, nil},
	} {
		test.key.Limits = limitsOf(store.Per(3, time.Second))
		r := NewReply([]any{test.calls})
		r.Answer(&test.key, 1, nil, 1000)
		if err := r.End(); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// TestAnswer: a short answer means the same as the long one.
func TestAnswer(t *testing.T) {
	t.Parallel()
	limits := limitsOf(store.Per(3, time.Second))
	for name, test := range map[string]struct {
		list []any
		want Answer
	}{
		"allowed": {[]any{int64(1), int64(0), int64(1_333_333), int64(1)}, Answer{
			Calls: 1, Real: 1000, Slot: 1000, Plain: true, States: []State{{exact.State{A: 1_333_333, B: 1}, 1000}},
		}},
		"refused": {[]any{int64(0), int64(0), int64(1_001_000), int64(0)}, Answer{
			Calls: 0, Real: 334_334, Slot: 1000, Plain: true, States: []State{{exact.State{A: 1_001_000}, 334_334}},
		}},
		"with bookings": {[]any{int64(0), int64(2), int64(5000), int64(4000), int64(1_001_000), int64(0), int64(5000)}, Answer{
			Calls: 0, Real: 5000, Slot: 4000, States: []State{{exact.State{A: 1_001_000}, 5000}},
		}},
		"with neither": {[]any{int64(0), int64(1), int64(5000), int64(4000), int64(1_001_000), int64(0), int64(5000)}, Answer{
			Calls: 0, Real: 5000, Slot: 4000, Plain: true, States: []State{{exact.State{A: 1_001_000}, 5000}},
		}},
	} {
		r := NewReply(test.list)
		got := r.Answer(&Key{Limits: limits}, 1, nil, 1000)
		if err := r.End(); err != nil || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", test.want) {
			t.Errorf("%s: %v\ngot  %+v\nwant %+v", name, err, got, test.want)
		}
	}
}

func limitsOf(limits ...store.Limit) *Limits {
	var charges []store.Charge
	for _, l := range limits {
		charges = append(charges, store.Charge{Limit: l, Cost: 1})
	}
	return LimitsOf(charges)
}

// TestArguments: the number of KEYS is right, and calls under the same limits share them.
func TestArguments(t *testing.T) {
	t.Parallel()
	bucket, window := limitsOf(store.Per(7, time.Second).WithBurst(9)), limitsOf(store.Per(5, time.Minute).By(store.SlidingWindow))
	list := []Key{
		{State: "a", Limits: bucket, Calls: 2}, {State: "b", Limits: bucket, Calls: 1, Seen: 44}, {State: "c", Logged: true, Limits: window, Calls: 3, Tag: 9},
	}
	allow := AllowArgs(len(list), func(i int) *Key { return &list[i] }, "")
	const of = "1 g7/1s/9 1 0 7 1285714 2 142857 1"
	if got, want := fmt.Sprintln(allow[2:]...), "4 a b c c:log  2 0 "+of+" 2 0 1 44 1 1 1 w5/60s 1 0 5 60000000 3 9 0\n"; got != want {
		t.Errorf("allow:\ngot  %swant %s", got, want)
	}
	req := store.Request{
		Charges: []store.Charge{{Key: "a", Limit: store.Per(7, time.Second).WithBurst(9), Cost: 1}},
		MaxWait: time.Second, Hold: store.Hold{Max: 3, ID: "id", Lease: time.Minute, Next: true},
	}
	list = []Key{{State: "a", Limits: bucket, Seen: 44}, {State: "c", Logged: true, Limits: window}}
	take := TakeArgs(&req, list, "5", 77, All)
	if got, want := fmt.Sprintln(take[2:]...), "4 a c c:log a:held 5 1000000 77 take 0 "+of+" 44 1 1 w5/60s 1 0 5 60000000 0 hold 3 id 60000000 0 1\n"; got != want {
		t.Errorf("take:\ngot  %swant %s", got, want)
	}
	receipt := &Receipt{Key: Key{State: "a", Limits: bucket, Places: []int{2}, Tag: 1}, Seq: 2, Floor: 3, Slot: 4, Entry: 5, Before: "1…"}
	settle := SettleArgs([]*Receipt{receipt}, "", func(charge int) int64 { return int64(charge) * 10 })
	if got, want := fmt.Sprintln(settle[2:]...), "2 a a:log  1 2 3 4 5 1… 1 g7/1s/9 1 20\n"; got != want {
		t.Errorf("settle:\ngot  %swant %s", got, want)
	}
	if got, want := fmt.Sprintln(LeaseArgs("a:held", 5, []string{"x", "y"}, "")[2:]...), "1 a:held  5 x y\n"; got != want {
		t.Errorf("lease:\ngot  %swant %s", got, want)
	}
}
