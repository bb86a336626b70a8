package weir

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"github.com/goweir/weir/internal/heed"
	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

// keyMemory is the memory of one level of a Transport: for each key the requests under
// way, and for the last keys of each shard the last pause and the last look.
type keyMemory [64]keyShard

type keyShard struct {
	mu       sync.Mutex
	underWay []keyCount
	paused   struct {
		key    string
		end    time.Time
		lasted time.Duration
	}
	looked struct {
		key       string
		at        store.Instant
		remaining int64
		busy      bool // a look is under way, at any key of the shard
	}
}

// keyCount is the number of requests of a key that were sent and not answered, at
// least one.
type keyCount struct {
	key string
	n   int64
}

var keySeed = maphash.MakeSeed()

func (m *keyMemory) shard(key string) *keyShard {
	return &m[maphash.String(keySeed, key)%uint64(len(m))]
}

// count adds n, 1 or -1, to the requests of key that are under way.
func (s *keyShard) count(key string, n int64) {
	s.mu.Lock()
	i := s.find(key)
	if i == len(s.underWay) {
		s.underWay = append(s.underWay, keyCount{key: key})
	}
	if s.underWay[i].n += n; s.underWay[i].n == 0 {
		last := len(s.underWay) - 1
		s.underWay[i], s.underWay[last] = s.underWay[last], keyCount{}
		s.underWay = s.underWay[:last]
	}
	s.mu.Unlock()
}

// find returns the index of a key's count, or one after the last. The lock is held.
func (s *keyShard) find(key string) int {
	for i := range s.underWay {
		if s.underWay[i].key == key {
			return i
		}
	}
	return len(s.underWay)
}

// counted returns the number of requests of key that are under way.
func (s *keyShard) counted(key string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.find(key); i < len(s.underWay) {
		return s.underWay[i].n
	}
	return 0
}

// again records a pause of key that the upstream asked for. It reports whether the
// upstream refuses again soon after a pause: within that pause's length. Its bucket is
// slower than our limit then, and pauses alone would have it refuse requests without
// end.
func (s *keyShard) again(key string, pause time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, now := &s.paused, time.Now()
	same, since := p.key == key, now.Sub(p.end)
	again := same && since >= 0 && since <= p.lasted
	if end := now.Add(pause); !same || end.After(p.end) {
		p.key, p.end, p.lasted = key, end, pause
	}
	return again
}

// settles lowers view's Remaining to the present one, by a look at the store which
// requests with the same doubt share. It reports false while another request looks:
// that one settles the doubt. A store that fails leaves it as it is.
func (s *keyShard) settles(ctx context.Context, l *Limiter, key string, granted store.Instant, view *heed.View) bool {
	s.mu.Lock()
	last := s.looked
	if !last.busy {
		s.looked.busy = true
	}
	s.mu.Unlock()
	if last.busy {
		return false
	}
	at, remaining := store.Instant(0), int64(0)
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.looked.busy = false; at > 0 {
			s.looked.key, s.looked.at, s.looked.remaining = key, at, remaining
		}
	}()
	before := view.Remaining
	if last.key == key && granted > 0 && last.at >= granted {
		if view.Remaining = min(before, last.remaining); !view.Doubtful() {
			return true
		}
		view.Remaining = before
	}
	d, err := l.look(ctx, line.ID{Key: key})
	if err == nil {
		at, remaining = d.At, d.Remaining
		view.Remaining = min(before, remaining)
	}
	return true
}
