package weirtest

import (
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
)

// meter counts the units of one key under one limit. It shares no code with the
// stores. Instants are nanoseconds since the Unix epoch and never go back.
type meter interface {
	// wait returns the time until cost units fit, from 1 unit to Limit.Max; 0 if they
	// fit now.
	wait(at, cost int64) time.Duration
	// take counts cost units, whether they fit or not.
	take(at, cost int64)
	// giveBack makes n units that were taken at an earlier instant free.
	giveBack(at, taken, n int64)
	// remaining returns the number of units that fit now, never below 0.
	remaining(at int64) int64
	// reset returns the time until the limit is as if never used.
	reset(at int64) time.Duration
	// change replaces the limit by another of the same algorithm. Used units stay
	// used.
	change(at int64, limit weir.Limit)
}

func newMeter(at int64, limit weir.Limit) meter {
	switch limit.Algorithm {
	case store.SlidingWindow:
		return &slidingMeter{limit: limit}
	case store.FixedWindow, store.AlignedWindow:
		return &windowMeter{limit: limit}
	default:
		return &bucketMeter{limit: limit, at: at}
	}
}

// slidingMeter keeps a log: units taken at t are free again at t + Period. No
// half-open interval of one Period holds more than Rate.
type slidingMeter struct {
	limit weir.Limit
	log   []logged // oldest first
	used  int64    // the sum of the log
}

type logged struct{ at, cost int64 }

func (m *slidingMeter) expire(at int64) {
	for len(m.log) > 0 && m.log[0].at+int64(m.limit.Period) <= at {
		m.used -= m.log[0].cost
		m.log = m.log[1:]
	}
}

func (m *slidingMeter) wait(at, cost int64) time.Duration {
	m.expire(at)
	free := m.limit.Rate - m.used
	for i := 0; free < cost && i < len(m.log); i++ {
		free += m.log[i].cost
		if free >= cost {
			return time.Duration(m.log[i].at + int64(m.limit.Period) - at)
		}
	}
	return 0
}

func (m *slidingMeter) take(at, cost int64) {
	m.used += cost
	if n := len(m.log); n > 0 && m.log[n-1].at == at {
		m.log[n-1].cost += cost
		return
	}
	m.log = append(m.log, logged{at, cost})
}

func (m *slidingMeter) giveBack(_, taken, n int64) {
	for i := range m.log {
		if m.log[i].at == taken {
			n = min(n, m.log[i].cost)
			m.log[i].cost -= n
			m.used -= n
		}
	}
}

func (m *slidingMeter) remaining(at int64) int64 {
	m.expire(at)
	return max(0, m.limit.Rate-m.used)
}

func (m *slidingMeter) reset(at int64) time.Duration {
	m.expire(at)
	if len(m.log) == 0 {
		return 0
	}
	return time.Duration(m.log[len(m.log)-1].at + int64(m.limit.Period) - at)
}

func (m *slidingMeter) change(at int64, limit weir.Limit) {
	m.expire(at)
	m.limit = limit
}

// windowMeter counts in windows: fixed ones open at the first unit, aligned ones
// start at multiples of the Period.
type windowMeter struct {
	limit weir.Limit
	start int64 // of the window; a fixed one is open if used is above 0
	used  int64
}

func (m *windowMeter) aligned(at int64) int64 { return at - at%int64(m.limit.Period) }

// left returns the time until the window ends, after it opened a due new one.
func (m *windowMeter) left(at int64) time.Duration {
	switch start := m.aligned(at); {
	case m.limit.Algorithm == store.AlignedWindow && start != m.start:
		m.start, m.used = start, 0
	case m.limit.Algorithm == store.FixedWindow && (m.used == 0 || at >= m.start+int64(m.limit.Period)):
		m.start, m.used = at, 0
	}
	return time.Duration(m.start + int64(m.limit.Period) - at)
}

func (m *windowMeter) wait(at, cost int64) time.Duration {
	if left := m.left(at); m.limit.Rate-m.used < cost {
		return left
	}
	return 0
}

func (m *windowMeter) take(at, cost int64) {
	m.left(at)
	m.used += cost
}

func (m *windowMeter) giveBack(at, taken, n int64) {
	m.left(at)
	if taken >= m.start {
		m.used = max(0, m.used-n)
	}
}

func (m *windowMeter) remaining(at int64) int64 {
	m.left(at)
	return max(0, m.limit.Rate-m.used)
}

func (m *windowMeter) reset(at int64) time.Duration {
	if left := m.left(at); m.used > 0 {
		return left
	}
	return 0
}

func (m *windowMeter) change(at int64, limit weir.Limit) {
	m.left(at)
	if m.limit = limit; limit.Algorithm == store.AlignedWindow {
		m.start = m.aligned(at)
	}
}
