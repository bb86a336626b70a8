// Package line keeps the waiting calls of one limiter in order.
//
// Each waiting call has booked a slot: an instant that the store granted. Calls
// that take the same form a line, and their slots are interchangeable: the call
// that arrived first goes in the slot that comes first. A line has one timer.
//
// The package talks to the store through the functions of a [Config] alone.
package line

import (
	"context"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/store"
)

// Config says how lines reach the store. A nil function: the store lacks the ability.
// Cancel and Clock run on goroutines of the package, so they must not panic. They return
// errors that were observed already.
type Config struct {
	// Max is the maximum number of calls that may wait at once. 0: no bound.
	Max int
	// Cancel gives a slot back to the store. It bounds its own time.
	Cancel func(ctx context.Context, id ID, receipt any) error
	// Watch subscribes f to brakes, which change a key's clock.
	Watch func(f func(key string, c store.Clock)) store.Watch
	// Clock asks the store for a key's clock, in the background.
	Clock func(ctx context.Context, id ID) (store.Clock, error)
	// Slow is called once, for the first call that waits for longer than Patience. It runs
	// on a timer's goroutine or a call's.
	Slow func(waited time.Duration)
}

// Patience is the wait after which a call is slow.
const Patience = time.Minute

// ID names a line: calls with the same ID take the same of the same key.
type ID struct {
	Key  string
	Cost int64
	// Limits distinguishes limits that come with a call; "" for the limiter's own.
	Limits string
}

// Lines holds the lines of one limiter, which have slots. Lines are safe for concurrent use.
type Lines struct {
	cfg     Config
	watcher watcher
	slow    atomic.Bool  // Config.Slow has heard of a call
	waiting atomic.Int64 // calls that count against Max
	lines   atomic.Int64 // in all shards
	shards  [shards]shard
}

const shards = 32

// shard holds the lines of some keys.
type shard struct {
	arrivals atomic.Uint64 // numbers the calls
	mu       sync.Mutex
	lines    map[ID]*line
	keys     map[string]int // numbers of lines
	heard    struct {       // the last brake of a key in this shard
		key   string
		clock store.Clock
	}
	paces   map[string]*pace
	surplus map[string][]surplus // of keys, the latest slot first; a goroutine gives it back
}

// New returns Lines without calls.
func New(cfg Config) *Lines {
	l := &Lines{cfg: cfg}
	for i := range l.shards {
		s := &l.shards[i]
		s.lines, s.keys, s.paces, s.surplus = make(map[ID]*line), make(map[string]int), make(map[string]*pace), make(map[string][]surplus)
	}
	if cfg.Watch != nil {
		l.watcher.subscribe = func() store.Watch { return cfg.Watch(l.braked) }
	}
	return l
}

// Idle reports whether no call waits for the key. With a hash collision it may report
// false all the same.
func (l *Lines) Idle(key string) bool {
	if l.lines.Load() == 0 {
		return true
	}
	s := l.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lines) == 0
}

// braked moves the slots of a key as a brake has changed its clock.
func (l *Lines) braked(key string, c store.Clock) {
	s := l.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard.key, s.heard.clock = key, c
	s.move(key, c, time.Time{})
}

// move moves all slots of a key, also those on their way back. The shard is locked. See
// slot.move.
func (s *shard) move(key string, c store.Clock, looked time.Time) {
	for _, b := range s.surplus[key] {
		b.slot.move(c, looked)
	}
	for id, q := range s.lines {
		if id.Key == key {
			q.move(c, looked)
		}
	}
}

var seed = maphash.MakeSeed()

func (l *Lines) shard(key string) *shard { return &l.shards[maphash.String(seed, key)%shards] }

// line returns the line of id, a new one if there is none. The shard is locked.
func (s *shard) line(l *Lines, id ID) *line {
	q := s.lines[id]
	if q == nil {
		q = &line{lines: l, shard: s, id: id}
		s.lines[id] = q
		s.keys[id.Key]++
		l.lines.Add(1)
	}
	return q
}

// drop forgets a line without slots and without a look under way. The shard is locked.
func (s *shard) drop(q *line) {
	if len(q.slots) == 0 && !q.looks.underWay && s.lines[q.id] == q {
		delete(s.lines, q.id)
		if s.keys[q.id.Key]--; s.keys[q.id.Key] == 0 {
			delete(s.keys, q.id.Key)
		}
		q.lines.lines.Add(-1)
	}
}

// pace returns the pace of a key, a new one if there is none. The shard is locked.
func (s *shard) pace(key string, now time.Time) *pace {
	p := s.paces[key]
	if p != nil {
		return p
	}
	for other, p := range s.paces {
		if len(s.paces) < paceKeys && !p.isOver(now) {
			break
		}
		delete(s.paces, other)
	}
	p = new(pace)
	s.paces[key] = p
	return p
}

// correct corrects the units of a key's last departures. The shard is locked.
func (s *shard) correct(key string, more int64) {
	if p := s.paces[key]; p != nil {
		p.correct(more)
	}
}

// first returns the line of a key whose first slot has come and is the earliest of all
// lines. It waits at the key's pace. Nil: the pace holds no calls up. The shard is locked.
func (s *shard) first(key string, now time.Time) (first *line) {
	if p := s.paces[key]; p == nil || p.slack(now) == 0 {
		return nil
	}
	for id, q := range s.lines {
		if id.Key == key && len(q.slots) > 0 && !q.slots[0].At.After(now) && (first == nil || q.slots[0].compare(first.slots[0]) < 0) {
			first = q
		}
	}
	return first
}

// Waits calls Config.Slow for the first call that has waited for longer than [Patience].
// since is the beginning of its wait; zero: it does not wait.
func (l *Lines) Waits(since time.Time) {
	if l.cfg.Slow == nil || since.IsZero() || l.slow.Load() {
		return
	}
	if waited := time.Since(since); waited >= Patience && !l.slow.Swap(true) {
		l.cfg.Slow(waited)
	}
}

// enter counts a call, and reports false when Max calls wait already.
func (l *Lines) enter() bool {
	for n := l.waiting.Load(); n < int64(l.cfg.Max); n = l.waiting.Load() {
		if l.waiting.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return l.cfg.Max == 0
}

// exit undoes enter.
func (l *Lines) exit() {
	if l.cfg.Max != 0 {
		l.waiting.Add(-1)
	}
}

// Count returns how many lines there are, and how many calls count against Max.
func (l *Lines) Count() (lines, calls int) { return int(l.lines.Load()), int(l.waiting.Load()) }
