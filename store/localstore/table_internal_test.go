package localstore

import (
	"fmt"
	"hash/maphash"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store"
)

// key returns the key in a slot.
func (t *table) key(at *small) id {
	if at.n == isLong {
		return id{t.classes[at.class].of.scope, t.long.all[at.long()]}
	}
	return id{t.classes[at.class].of.scope, string(at.text[:at.n])}
}

func hashOf(k *id) uint64 { return hash(maphash.String(seed, k.key), k.scope) }

// TestTableIsAMap compares a table with a map while keys come, lapse and go. Most have one of
// a few hashes, so their slots collide.
func TestTableIsAMap(t *testing.T) {
	t.Parallel()
	for seed := range uint64(long.Or(6, 2)) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var tab smalls
		limits := []store.Limit{store.Per(1, time.Second), store.Per(1, time.Second).By(store.FixedWindow), store.Per(5, time.Minute).By(store.SlidingCounter)}
		type known struct {
			lapse   int64 // when it lapses
			further []exact.State
		}
		want := map[id]known{}
		room := 1 + rng.IntN(500)
		now := int64(1e15)
		for step := range 20_000 {
			k := id{scope: []string{"", "a", "b"}[rng.IntN(3)], key: fmt.Sprint(rng.IntN(room))}
			if rng.IntN(4) == 0 {
				k.key = strings.Repeat(k.key, 1+rng.IntN(60)) // some about as long as a slot, some far longer
			}
			h := hashOf(&k)
			i := tab.find(h, &k, nil)
			if _, ok := want[k]; ok != (i >= 0) {
				t.Fatalf("seed %d, step %d: %q is there: %t, want %t", seed, step, k, i >= 0, ok)
			}
			switch what := rng.IntN(10); {
			case i < 0 && what < 7:
				charges := []store.Charge{{}, {Limit: store.Per(2, time.Hour)}, {Limit: store.Per(1, time.Hour)}}[:1+rng.IntN(3)]
				charges[0].Limit = limits[rng.IntN(len(limits))]
				i = tab.add(h, &k, tab.class(k.scope, charges, nil))
				at := &tab.slots[i]
				m := &tab.classes[at.class]
				m.of.Book(&at.state, now, 1)
				further := m.further(at)
				for j := range further {
					if further[j] != (exact.State{}) {
						t.Fatalf("seed %d, step %d: the state of a new key is %v", seed, step, further[j])
					}
					further[j].A = now + rng.Int64N(1e6)
				}
				want[k] = known{tab.lapse(at), slices.Clone(further)}
			case i >= 0 && what < 3:
				if got := tab.key(&tab.slots[i]); got != k {
					t.Fatalf("%q is found as %q", k, got)
				}
				tab.remove(i)
				delete(want, k)
			case what == 9:
				now += rng.Int64N(1e5)
				before := maps.Clone(want)
				maps.DeleteFunc(want, func(_ id, is known) bool { return is.lapse <= now })
				_, forgotten := tab.sweep(now, 1<<20)
				if forgotten > len(before)-len(want) {
					t.Fatalf("seed %d, step %d: %d forgotten, %d had lapsed", seed, step, forgotten, len(before)-len(want))
				}
				for tab.count > len(want) { // A sweep ends early if it makes the table smaller.
					if _, n := tab.sweep(now, 1<<20); n == 0 {
						t.Fatalf("seed %d, step %d: %d kept, %d are alive", seed, step, tab.count, len(want))
					}
				}
			}
			if tab.count != len(want) {
				t.Fatalf("seed %d, step %d: %d keys, want %d", seed, step, tab.count, len(want))
			}
		}
		for k, is := range want {
			i := tab.find(hashOf(&k), &k, nil)
			if i < 0 {
				t.Errorf("seed %d: %q is gone", seed, k)
				continue
			}
			at := &tab.slots[i]
			if tab.lapse(at) != is.lapse || !slices.Equal(tab.classes[at.class].further(at), is.further) {
				t.Errorf("seed %d: %q is not as it was left", seed, k)
			}
		}
		members := 0
		for _, m := range tab.classes {
			members += m.keys
			if w := m.rows.width; w > 0 && len(m.rows.states)/w-len(m.rows.free) != m.keys {
				t.Errorf("seed %d: %d states and %d free rows of %d, for %d keys", seed, len(m.rows.states), len(m.rows.free), w, m.keys)
			}
		}
		if members != tab.count || len(tab.classes) > 27 {
			t.Errorf("seed %d: %d classes of %d keys, %d are there", seed, len(tab.classes), members, tab.count)
		}
	}
}

// TestMostClasses: limits without a class still count. They get a class when another one has no
// keys left.
func TestMostClasses(t *testing.T) {
	t.Parallel()
	var tab table
	add := func(n int) int {
		k, l := id{key: fmt.Sprint(n)}, store.Per(int64(n+1), time.Hour)
		class := tab.class("", []store.Charge{{Limit: l}}, nil)
		if class >= 0 {
			tab.add(hashOf(&k), &k, class)
		}
		return class
	}
	l := store.Per(1, time.Second)
	if tab.class("twins", []store.Charge{{Limit: l}, {Limit: store.Per(2, time.Second)}, {Limit: l}}, nil) >= 0 {
		t.Fatal("a class of one limit twice")
	}
	for n := range maxClasses {
		if add(n) < 0 {
			t.Fatalf("no room for limit %d", n)
		}
	}
	if add(maxClasses) >= 0 {
		t.Fatal("one more")
	}
	k := id{key: "7"}
	tab.remove(tab.find(maphash.String(seed, "7"), &k, nil))
	if add(maxClasses) < 0 || len(tab.classes) != maxClasses {
		t.Fatalf("no room in the place of one that is gone, %d classes", len(tab.classes))
	}
}

// TestCacheLines: slots and shards of another size would share cache lines.
func TestCacheLines(t *testing.T) {
	if size := reflect.TypeFor[small]().Size(); size != 64 {
		t.Errorf("a slot has %d bytes", size)
	}
	if size := reflect.TypeFor[shard]().Size(); size%64 != 0 && strconv.IntSize == 64 {
		t.Errorf("a shard has %d bytes", size)
	}
}
