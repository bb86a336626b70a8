package line_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

// keyModel is a store of one key, whose units come one by one in the key's time.
type keyModel struct {
	clock exact.Clock
	next  int64 // the first free slot, in the key's time
	ahead []int64
}

// booked is a slot in the key's time, and when it was granted.
type booked struct{ slot, at int64 }

const modelUnit = int64(10_000) // microseconds

func now() int64 { return int64(micros(time.Now())) }

// book grants the next slot for cost units.
func (m *keyModel) book(cost int64) store.Decision {
	t := now()
	slot := max(m.clock.Floor(m.clock.Now(t), t), m.next)
	m.next = slot + cost*modelUnit
	m.clock.Book(slot, cost, t)
	m.ahead = append(m.ahead, slot)
	d := store.Decision{Allowed: true, At: store.Instant(t), Slot: store.Instant(slot), Receipt: booked{slot, t}}
	d.Delay = time.Duration(m.clock.Real(slot)-t) * time.Microsecond
	if !m.clock.IsZero() {
		d.Clock = &exact.Move{Clock: m.clock}
	}
	return d
}

// brake sets a brake, and returns the new clock; nil when nothing changes.
func (m *keyModel) brake(b *store.Brake) store.Clock {
	t, first := now(), int64(0)
	m.ahead = slices.DeleteFunc(m.ahead, func(slot int64) bool { return slot <= m.clock.Now(t) })
	if len(m.ahead) > 0 {
		first = slices.Min(m.ahead)
	}
	clock, changed := m.clock.Apply(b, modelUnit, first, t)
	if !changed {
		return nil
	}
	move := &exact.Move{Clock: clock, Before: m.clock, First: first}
	if clock.IsZero() {
		move.Clock = exact.Clock{At: t, V: t}
	}
	m.clock = clock
	return move
}

func randomBrake(random *rand.Rand, at int64) (b store.Brake) {
	d := time.Duration(random.IntN(400)+1) * ms
	switch random.IntN(5) {
	case 0, 1:
		b.Pause = d
	case 2:
		b.Cut = store.Cut{Unit: time.Duration(modelUnit) * time.Microsecond, Recovery: 10 * d, Since: store.Instant(at - 1)}
	case 3:
		b.Tell, b.Gap, b.GapFor = true, d/10, 2*d
	default:
		b.Lift = true
	}
	return b
}

// TestModel: random calls of a key wait, give up and leave, while random brakes change the
// key's clock. Each call leaves at its slot's instant by the last clock, in order.
func TestModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) { runModel(t, seed) })
	}
}

func runModel(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 7))
	b := newBench(0, true)
	b.watch(t)
	var (
		mu   sync.Mutex
		m    keyModel
		last [3]struct{ arrival, slot int64 } // by cost
		wg   sync.WaitGroup
		gone int
	)
	wait := func(ctx context.Context, cost int64, arrival int64) {
		call, _ := b.Enter(line.ID{Key: "k", Cost: cost}, time.Time{})
		defer call.Exit()
		mu.Lock()
		d := m.book(cost)
		mu.Unlock()
		used, again, err := call.Wait(ctx, line.Granted(&d, nil, time.Now(), time.Now()), time.Time{})
		if err != nil {
			call.Linger()
			return
		}
		mu.Lock()
		defer mu.Unlock()
		slot := used.Receipt.(booked)
		if comes := max(m.clock.Real(slot.slot), slot.at); again || comes != now() {
			t.Errorf("seed %d: call %d went %d µs after its slot, again: %v", seed, arrival, now()-comes, again)
		}
		if l := &last[cost]; arrival <= l.arrival || slot.slot <= l.slot {
			t.Errorf("seed %d: call %d went in slot %d, after call %d in slot %d", seed, arrival, slot.slot, l.arrival, l.slot)
		} else {
			l.arrival, l.slot = arrival, slot.slot
		}
		gone++
	}
	stayed := 0
	for i := range int64(200) {
		switch random.IntN(8) {
		case 0: // Brakes and bookings are at different instants.
			time.Sleep(time.Microsecond)
			mu.Lock()
			brake := randomBrake(random, now())
			c := m.brake(&brake)
			mu.Unlock()
			if c != nil {
				b.tell("k", c)
			}
			time.Sleep(time.Microsecond)
		case 1:
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Duration(random.IntN(300_000))*time.Microsecond+500, cancel)
			wg.Go(func() { wait(ctx, 1+i%2, i+1) })
		default:
			stayed++
			wg.Go(func() { wait(t.Context(), 1+i%2, i+1) })
		}
		synctest.Wait()
		time.Sleep(time.Duration(random.IntN(15_000)) * time.Microsecond)
	}
	wg.Wait()
	if gone < stayed {
		t.Errorf("seed %d: %d calls went, want at least %d", seed, gone, stayed)
	}
	if b.looks > 0 {
		t.Errorf("seed %d: %d looks at the key", seed, b.looks)
	}
	if lines, calls := b.Count(); lines != 0 || calls != 0 {
		t.Errorf("seed %d: %d lines and %d calls are left", seed, lines, calls)
	}
	time.Sleep(2 * time.Second)
}
