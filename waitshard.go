package weir

import (
	"context"
	"hash/maphash"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/store"
)

// waits holds the calls of one Limiter that wait. Nothing is kept for a key on
// which nobody does.
type waits struct {
	waiting atomic.Int64 // calls between enter and exit; only with MaxWaiters
	queues  atomic.Int64 // how many there are in the shards
	shards  [waitShards]waitShard
}

const waitShards = 32

// waitShard holds the queues of some of the keys.
type waitShard struct {
	arrivals atomic.Uint64 // numbers the calls
	mu       sync.Mutex
	queues   map[lineID]*queue
	look     look // with it a shard is one cache line
}

// queueID says what a call takes.
type queueID struct {
	key  string
	cost int64
}

// lineID says whose slots are interchangeable: of those that take the same under
// the same limits.
type lineID struct {
	queueID
	rules string // of limits that are not the limiter's; "" for those
}

// line returns which line a call under limits belongs in.
func (l *Limiter) line(id queueID, limits []Limit) lineID {
	if slices.Equal(limits, l.cfg.Limits) {
		return lineID{queueID: id}
	}
	var b []byte
	for i := range limits {
		at := &limits[i]
		for _, n := range [...]int64{at.Rate, int64(at.Period), at.Burst, int64(at.Algorithm)} {
			b = append(strconv.AppendInt(b, n, 36), ' ')
		}
	}
	return lineID{id, string(b)}
}

var waitSeed = maphash.MakeSeed()

func (w *waits) shard(key string) *waitShard {
	return &w.shards[maphash.String(waitSeed, key)%waitShards]
}

// enter counts a call that is going to wait, and reports false when there are
// too many.
func (l *Limiter) enter() bool {
	if l.cfg.MaxWaiters == 0 {
		return true
	}
	for {
		n := l.waits.waiting.Load()
		if n >= int64(l.cfg.MaxWaiters) {
			return false
		}
		if l.waits.waiting.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// reenter counts a call again that was counted out when its slot came, and has to
// wait on: it is not refused for those who took its place meanwhile.
func (l *Limiter) reenter() {
	if l.cfg.MaxWaiters != 0 {
		l.waits.waiting.Add(1)
	}
}

// exit undoes enter.
func (l *Limiter) exit() {
	if l.cfg.MaxWaiters != 0 {
		l.waits.waiting.Add(-1)
	}
}

// waitsBefore reports whether anybody who arrived before waits.
func (s *waitShard) waitsBefore(id lineID, arrival uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[id]
	if q == nil {
		return false
	}
	first := q.arrivals.Front()
	return first != nil && first.Value.(*waiter).arrival < arrival
}

// idle reports whether nobody waits, on any of some keys that this is one of.
func (w *waits) idle(key string) bool {
	if w.queues.Load() == 0 {
		return true
	}
	s := w.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queues) == 0
}

// queue returns the queue of id, a new one if there is none. The shard is
// locked.
func (s *waitShard) queue(l *Limiter, id lineID) *queue {
	q := s.queues[id]
	if q == nil {
		if s.queues == nil {
			s.queues = make(map[lineID]*queue)
		}
		q = &queue{limiter: l, shard: s, id: id, asking: make(chan struct{}, 1)}
		s.queues[id] = q
		l.waits.queues.Add(1)
	}
	return q
}

// newSlot is the slot of a decision that came just now. A store that does not
// say its time has its slots ordered by ours.
func newSlot(d *store.Decision, now time.Time) *slot {
	from := d.At
	if from == 0 {
		from = store.Instant(now.UnixMicro())
	}
	return &slot{
		at: now.Add(d.Delay), order: from + store.Instant(d.Delay.Microseconds()),
		booked: now, granted: d.At, receipt: d.Receipt,
	}
}

// join queues a waiter with the slot that was granted to it just now.
func (l *Limiter) join(id lineID, w *waiter, d store.Decision, now time.Time) *queue {
	shard := l.waits.shard(id.key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	q := shard.queue(l, id)
	q.add(w, newSlot(&d, now))
	q.advance()
	return q
}

// surrender gives up a slot that was granted just now to a call that can't use
// it, and returns what the give-back closes when it is done. Whoever waits
// gains by it.
func (l *Limiter) surrender(ctx context.Context, id lineID, d store.Decision, now time.Time) <-chan struct{} {
	shard := l.waits.shard(id.key)
	shard.mu.Lock()
	defer shard.mu.Unlock()
	q := shard.queue(l, id)
	w := &waiter{arrival: math.MaxUint64}
	q.add(w, newSlot(&d, now))
	back := q.giveBack(ctx, q.remove(w))
	q.advance()
	return back
}
