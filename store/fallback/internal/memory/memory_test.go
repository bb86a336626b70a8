package memory_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback/internal/memory"
)

const now = 1_700_000_000_000_000

func open(maxKeys int) *memory.Memory {
	m := new(memory.Memory)
	m.Open(maxKeys)
	return m
}

func charges(key string) []store.Charge {
	return []store.Charge{{Scope: "s", Key: key, Limit: store.Per(10, time.Hour).By(store.FixedWindow), Cost: 1}}
}

func answer(at int64) []store.Seen {
	return []store.Seen{{At: store.Instant(at), Used: store.Used{At: store.Instant(at), Units: 3}}}
}

// An answer that comes after a later one changes nothing. A clock that steps back does.
func TestLearnInAnyOrder(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ back, want time.Duration }{
		"a later answer":         {-time.Microsecond, -time.Microsecond},
		"an answer overtaken":    {time.Microsecond, 0},
		"a slow answer":          {4 * time.Second, 0},
		"a clock steps back":     {6 * time.Second, 6 * time.Second},
		"a clock steps far back": {time.Minute, time.Minute},
	} {
		m, c, seen := open(1000), charges("k"), make([]store.Seen, 1)
		m.Learn(c, answer(now))
		m.Learn(c, answer(now-test.back.Microseconds()))
		if m.Recall(c, seen, now-time.Minute.Microseconds()); seen[0].At != store.Instant(now-test.want.Microseconds()) {
			t.Errorf("%s: the answer of %d is known, want that of %d", name, seen[0].At-now, -test.want.Microseconds())
		}
	}
}

// Of two answers of one instant, as by a server with a coarse clock, the fuller is known in
// whatever order they come.
func TestLearnOneInstant(t *testing.T) {
	t.Parallel()
	for _, a := range []store.Algorithm{store.GCRA, store.SlidingWindow, store.SlidingCounter, store.FixedWindow, store.AlignedWindow} {
		for _, order := range [][]int64{{3, 5}, {5, 3}} {
			m, c := open(1000), charges("k")
			c[0].Limit = c[0].Limit.By(a)
			var seen []store.Seen
			for _, units := range order {
				seen = []store.Seen{{At: now, Used: store.Used{At: now, Units: units}}}
				m.Learn(c, seen)
			}
			m.Lose(c, seen, now-1)
			if r, _ := m.Due(c, now, false, nil); r.Memories[0].Known[0].Units != 5 {
				t.Errorf("%v, %v: %d are known, want 5", a, order, r.Memories[0].Known[0].Units)
			}
		}
	}
}

// A correction reaches the window that counted the booking, and no other.
func TestCorrectionsReachTheirWindow(t *testing.T) {
	t.Parallel()
	hour := time.Hour.Microseconds()
	start := now - now%hour
	for name, test := range map[string]struct {
		algorithm     store.Algorithm
		at            int64 // of the booking
		units, before int64 // afterwards; 5 and 4 before
	}{
		"counter: this window":               {store.SlidingCounter, start + 1, 3, 4},
		"counter: the one before":            {store.SlidingCounter, start - 1, 5, 2},
		"counter: an earlier one":            {store.SlidingCounter, start - hour - 1, 5, 4},
		"sliding window: this period":        {store.SlidingWindow, start + 1, 3, 2},
		"sliding window: the one before":     {store.SlidingWindow, start - 1, 3, 4},
		"sliding window: it counts no more":  {store.SlidingWindow, start - hour - 1, 5, 4},
		"aligned window: the present one":    {store.AlignedWindow, start + 1, 3, 4},
		"aligned window: the one before it":  {store.AlignedWindow, start - 1, 5, 4},
		"fixed window: from its beginning":   {store.FixedWindow, start, 3, 4},
		"fixed window: before its beginning": {store.FixedWindow, start - 1, 5, 4},
	} {
		m, c := open(1000), charges("k")
		c[0].Limit, c[0].Cost = c[0].Limit.By(test.algorithm), 3
		seen := []store.Seen{{At: now, Used: store.Used{At: store.Instant(start), Units: 5, Before: 4}}}
		m.Learn(c, seen)
		m.Correct(c, func(int) int64 { return 1 }, test.at, true)
		m.Lose(c, seen, now)
		r, _ := m.Due(c, now, false, nil)
		if known := r.Memories[0].Known[0]; known.Units != test.units || known.Before != test.before {
			t.Errorf("%s: %d units and %d before, want %d and %d", name, known.Units, known.Before, test.units, test.before)
		}
	}
}

// After a step back of the primary's clock, no instant by the clock before the step holds a
// key up here: no slot booked ahead, and no window. The step shows in an answer for the key, or
// for another one.
func TestStepBackHoldsNoKeyUp(t *testing.T) {
	t.Parallel()
	limit := store.Per(10, time.Hour)
	for _, l := range []store.Limit{limit, limit.By(store.FixedWindow), limit.By(store.SlidingWindow), limit.By(store.SlidingCounter), limit.By(store.AlignedWindow)} {
		for _, answered := range []bool{true, false} {
			m, c := open(1000), charges("k")
			c[0].Limit = l
			m.Learn(c, []store.Seen{{At: now, Used: store.Used{At: now}, Last: now + 1_000_000}})
			back := now - 2*time.Hour.Microseconds()
			if answered {
				m.Spend(c, c, 1, now+2, now+2, 1)
				r, _ := m.Due(c, now+3, false, nil)
				m.Sent(r, true)
				m.Learn(c, []store.Seen{{At: store.Instant(back), Used: store.Used{At: store.Instant(back)}}})
			}
			var seeded store.Memory
			if m.Seed(c, c, back+1, func(m store.Memory) { seeded = m }); seeded.Known[0].At > seeded.At || seeded.Last > seeded.At+1_000_000 {
				t.Errorf("%v, answered %v: the local store starts at %d from %+v, last %d", l.Algorithm, answered, seeded.At, seeded.Known, seeded.Last)
			}
		}
	}
}

// The primary's clock steps back after units were admitted here. The units are as many by
// both clocks.
func TestSpentBeforeAStepBack(t *testing.T) {
	t.Parallel()
	for _, back := range []time.Duration{0, time.Second, time.Minute} {
		m, c, half := open(1000), charges("k"), charges("k")
		c[0].Limit, half[0].Limit = store.Per(100, time.Hour), store.Per(50, time.Hour)
		m.Spend(c, half, 2, now, now, 1)
		r, _ := m.Due(c, now-back.Microseconds(), false, nil)
		if spent := r.Memories[0].Spent[0].At - now; spent < 35_990_000 || spent > 36_010_000 {
			t.Errorf("%v back: spent until %d µs, want about 36000000", back, spent)
		}
	}
}

// An answer of the primary is known until it lapses. Units that were admitted here are
// owed until the primary has them.
func TestRestore(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"k", strings.Repeat("long", 100)} {
		m, c, seen := open(1000), charges(key), make([]store.Seen, 1)
		if owes, _ := m.Recall(c, seen, now); owes || seen[0].At != 0 {
			t.Fatalf("recalled %v of nothing", seen)
		}
		m.Learn(c, answer(now))
		if owes, _ := m.Recall(c, seen, now+1); owes || seen[0].At != now {
			t.Errorf("recalled %v, want the answer", seen)
		}
		if m.Recall(c, seen, now+time.Hour.Microseconds()); seen[0].At != 0 {
			t.Errorf("recalled %v after its window", seen)
		}
		m.Spend(c, c, 1, now+2, now+2, 1)
		r, under := m.Due(c, now+3, false, nil)
		if r == nil || under != nil || len(r.Memories) != 1 || r.Memories[0].Known[0].Units != 3 || r.Memories[0].Spent[0].Units != 1 {
			t.Fatalf("due: %+v", r)
		}
		if again, under := m.Due(c, now+3, false, nil); again != nil || under != r {
			t.Error("two restores of a key at once")
		}
		// A lost answer keeps the ID. A unit since then stays owed.
		m.Sent(r, false)
		<-r.Over
		again, _ := m.Due(c, now+5, false, r)
		if again == nil || again.Memories[0].ID != r.Memories[0].ID {
			t.Fatalf("due again: %+v", again)
		}
		m.Spend(c, c, 1, now+6, now+6, 1)
		m.Sent(again, true)
		last, _ := m.Due(c, now+7, false, again)
		if more, under := m.Due(c, now+8, false, again); more != nil || under != nil {
			t.Error("a call waits for another restore after the one that it waited for")
		}
		if last == nil || last.Memories[0].Spent[0].Units != 2 || last.Memories[0].ID != r.Memories[0].ID {
			t.Fatalf("due at last: %+v", last)
		}
		m.Learn(c, answer(now+9))
		m.Sent(last, true)
		if owes, _ := m.Recall(c, seen, now+10); owes || seen[0].At != now+9 {
			t.Errorf("recalled %v, want no more than the answer", seen)
		}
		m.Forget("s", key)
		if m.Recall(c, seen, now+10); seen[0].At != 0 {
			t.Errorf("recalled %v of a forgotten key", seen)
		}
	}
}

// A call of two keys waits for the restore of one of them, and holds up no call of the other.
func TestDueOfTwoKeys(t *testing.T) {
	t.Parallel()
	m, both := open(1000), append(charges("a"), charges("b")...)
	m.Spend(both, both, 1, now, now, 1)
	b, _ := m.Due(charges("b"), now, false, nil)
	if r, under := m.Due(both, now, false, nil); r != nil || under != b {
		t.Fatalf("due: %+v, under way: %+v", r, under)
	}
	a, under := m.Due(charges("a"), now, false, nil)
	if a == nil || under != nil {
		t.Fatalf("due: %+v, under way: %+v", a, under)
	}
	m.Sent(a, true)
	m.Sent(b, false)
	r, _ := m.Due(both, now, false, nil)
	if r == nil || len(r.Memories) != 1 || r.Memories[0].Key != "b" {
		t.Errorf("due: %+v", r)
	}
}

// A local store gets each answer once, and none while it has units that the primary lacks.
func TestSeed(t *testing.T) {
	t.Parallel()
	m, c, seeds := open(1000), charges("k"), 0
	for i, step := range []struct {
		do   func(at int64)
		want int
	}{
		{func(int64) {}, 0},
		{func(at int64) { m.Learn(c, answer(at)) }, 1},
		{func(int64) {}, 1},
		{func(at int64) { m.Spend(c, c, 1, at, at, 1); m.Learn(c, answer(at)) }, 1},
		{func(at int64) { r, _ := m.Due(c, at, false, nil); m.Sent(r, true) }, 2},
	} {
		at := now + int64(i)
		step.do(at)
		if m.Seed(c, c, at, func(store.Memory) { seeds++ }); seeds != step.want {
			t.Errorf("step %d: seeded %d times, want %d", i, seeds, step.want)
		}
	}
}

// A lost answer is due until the primary has it. Long keys wait for a call.
func TestLacking(t *testing.T) {
	t.Parallel()
	m, long := open(1000), strings.Repeat("long", 100)
	for _, key := range []string{"old", "new", "spent", long} {
		at := int64(now)
		if key == "new" {
			at += 10
		}
		m.Learn(charges(key), answer(at))
	}
	m.Spend(charges("spent"), charges("spent"), 1, now+1, now+1, 1)
	lacking := map[string]bool{}
	for looks, owes := range m.Lacking(now + 5) {
		lacking[looks[0].Key] = owes
	}
	if owes, ok := lacking["old"]; len(lacking) != 2 || !lacking["spent"] || !ok || owes {
		t.Errorf("lacking %v", lacking)
	}
	m.Lose(charges(long), answer(now), now-1)
	if r, _ := m.Due(charges(long), now+6, false, nil); r == nil || r.Memories[0].Key != long || r.Memories[0].Spent != nil {
		t.Errorf("due: %+v", r)
	}
}

// TestForgottenInARestore: a key is forgotten while a restore is under way, and comes again. The
// end of the restore changes nothing that other keys share, which the race detector sees.
func TestForgottenInARestore(t *testing.T) {
	t.Parallel()
	m, c := open(1000), charges("k")
	for i := range 200 { // in all shards
		m.Learn(charges(fmt.Sprint("other", i)), answer(now))
	}
	m.Spend(c, c, 1, now, now, 1)
	r, _ := m.Due(c, now, false, nil)
	if r == nil {
		t.Fatal("nothing to restore")
	}
	m.Forget("s", "k")
	m.Learn(c, answer(now))
	var wg sync.WaitGroup
	wg.Go(func() { m.Sent(r, true) })
	wg.Go(func() {
		for range m.Lacking(now) {
			t.Error("a key is lacking")
		}
	})
	wg.Wait()
	if r, _ := m.Due(c, now, false, nil); r != nil {
		t.Errorf("the new entry has to be restored: %+v", r)
	}
}

// A full memory keeps its keys, and takes new ones when these have lapsed.
func TestFull(t *testing.T) {
	t.Parallel()
	m, seen := open(1), make([]store.Seen, 1)
	keep := func(at int64) (kept int) {
		for i := range 1000 {
			c := charges(time.Duration(at + int64(i)).String())
			m.Learn(c, answer(at))
			if m.Recall(c, seen, at); seen[0].At > 0 {
				kept++
			}
		}
		return kept
	}
	if kept := keep(now); kept == 0 || kept > 64 {
		t.Errorf("kept %d keys, want 1 in each of 64 shards at most", kept)
	}
	if kept := keep(now + 2*time.Hour.Microseconds()); kept == 0 || kept > 64 {
		t.Errorf("kept %d keys after the first ones have lapsed", kept)
	}
}
