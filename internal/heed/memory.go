package heed

import (
	"cmp"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/goweir/weir/store"
)

// Memory is the memory of one level of a Transport. It has the requests under way of each
// key, and the last pause, gap and look of the last keys of each shard.
type Memory [64]Shard

// Shard is the part of a Memory that a key is in.
type Shard struct {
	mu       sync.Mutex
	underWay []keyCount
	paused   struct {
		key    string
		end    time.Time
		lasted time.Duration
	}
	told struct {
		key string
		at  store.Instant // the grant of the request whose response told it
		gap time.Duration
	}
	looked struct {
		key       string
		at        store.Instant
		remaining int64
		charges   []store.ChargeState
		busy      bool // a look is under way, at any key of the shard
	}
}

// keyCount is the number of requests of a key that have no answer yet, at least one.
type keyCount struct {
	key string
	n   int64
}

var keySeed = maphash.MakeSeed()

// Shard returns the part of a key.
func (m *Memory) Shard(key string) *Shard {
	return &m[maphash.String(keySeed, key)%uint64(len(m))]
}

// Count adds n, 1 or -1, to the requests of key that are under way.
func (s *Shard) Count(key string, n int64) {
	s.mu.Lock()
	i := s.find(key)
	if i < 0 {
		i, s.underWay = len(s.underWay), append(s.underWay, keyCount{key: key})
	}
	if s.underWay[i].n += n; s.underWay[i].n == 0 {
		s.underWay = slices.Delete(s.underWay, i, i+1)
	}
	s.mu.Unlock()
}

// find returns the index of a key's count; -1: none. The lock is held.
func (s *Shard) find(key string) int {
	return slices.IndexFunc(s.underWay, func(c keyCount) bool { return c.key == key })
}

// Counted returns the number of requests of key that are under way.
func (s *Shard) Counted(key string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.find(key); i >= 0 {
		return s.underWay[i].n
	}
	return 0
}

// UnderWay returns the number of requests under way of each key that has any.
func (m *Memory) UnderWay() map[string]int64 {
	all := make(map[string]int64)
	for i := range m {
		s := &m[i]
		s.mu.Lock()
		for _, c := range s.underWay {
			all[c.key] = c.n
		}
		s.mu.Unlock()
	}
	return all
}

// Brake returns the brake of a view, as View.Brake does, and remembers it. Responses come in
// any order: one to a request from before the last that told a gap can only make it longer.
func (s *Shard) Brake(key string, v View) (b store.Brake, news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, told, most := v.booking.At, &s.told, v.booking.MaxPause
	if at > 0 && at <= told.at && key == told.key {
		v.booking.Gap, v.late = told.gap, true
	}
	v.again = v.signal.Refused && !v.signal.Cause.Concurrent && v.signal.Pause > 0 && s.again(key, min(v.signal.Pause, most), v.booking.Limits)
	if b, news = v.Brake(); b.Tell {
		told.key, told.at, told.gap = key, at, b.Gap
	}
	b.Pause, b.Gap, b.GapFor = min(b.Pause, most), min(b.Gap, most), min(b.GapFor, most)
	b.Slack = min(b.Slack, most-b.Pause)
	return b, news
}

// again records a pause of key that the upstream asked for. It reports whether the upstream refuses
// again soon after a pause: within twice its length or our shortest period. Then its bucket is slower than
// our limit, or smaller, and with pauses alone it would refuse requests without end. The lock is held.
func (s *Shard) again(key string, pause time.Duration, limits []store.Limit) bool {
	p, now := &s.paused, time.Now()
	byPeriod := func(l, m store.Limit) int { return cmp.Compare(l.Period, m.Period) }
	again := p.key == key && !now.Before(p.end) && now.Sub(p.end) <= 2*max(p.lasted, slices.MinFunc(limits, byPeriod).Period)
	if end := now.Add(pause); p.key != key || end.After(p.end) {
		p.key, p.end, p.lasted = key, end, pause
	}
	return again
}

// Clears lowers the Remaining of a view to the present number. Requests with the same
// doubt share one look at the store: Clears reports false while another request looks,
// which then clears the doubt. If the store fails, Remaining is that of the last look.
func (s *Shard) Clears(key string, granted store.Instant, view *View, look func() (store.Decision, error)) bool {
	s.mu.Lock()
	last := s.looked
	s.looked.busy = true
	s.mu.Unlock()
	if last.busy {
		return false
	}
	var d store.Decision
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.looked.busy = false; d.At > 0 {
			s.looked.key, s.looked.at, s.looked.remaining, s.looked.charges = key, d.At, d.Remaining, d.Charges
		}
	}()
	if last.key == key && granted > 0 && last.at >= granted {
		if view.Remaining = min(view.Remaining, view.left(last.remaining, last.charges)); !view.Doubtful() {
			return true
		}
	}
	if now, err := look(); err == nil {
		d = now
		view.Remaining = min(view.Remaining, view.left(d.Remaining, d.Charges))
	}
	return true
}
