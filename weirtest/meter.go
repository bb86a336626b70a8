package weirtest

import (
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
)

// meter counts what one key used of one limit. It shares no code with what it
// judges. Instants are nanoseconds since the Unix epoch and never go back.
type meter interface {
	// wait returns how long until cost more units fit, which is at least 1 and
	// at most what the limit can hold; 0 when they fit now.
	wait(at, cost int64) time.Duration
	// take counts cost units, whether they fit or not.
	take(at, cost int64)
	// remaining returns how many units fit now, never below 0.
	remaining(at int64) int64
	// reset returns how long until the limit is as if never used.
	reset(at int64) time.Duration
	// change goes on with another limit of the same algorithm. What is used
	// stays used.
	change(at int64, limit weir.Limit)
}

func newMeter(at int64, limit weir.Limit) meter {
	switch limit.Algorithm {
	case store.SlidingWindow:
		return &slidingMeter{limit: limit}
	case store.FixedWindow:
		return &fixedMeter{limit: limit}
	case store.AlignedWindow:
		return &alignedMeter{limit: limit}
	default:
		return &bucketMeter{limit: limit, at: at}
	}
}

// slidingMeter keeps a log: units taken at t are free again at t + Period, so
// that no half-open interval of one Period holds more than Rate.
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

// fixedMeter counts in windows that open at the first unit.
type fixedMeter struct {
	limit weir.Limit
	start int64 // of the window, if anything is used
	used  int64
}

func (m *fixedMeter) end(at int64) int64 {
	if m.used > 0 && at >= m.start+int64(m.limit.Period) {
		m.used = 0
	}
	return m.start + int64(m.limit.Period)
}

func (m *fixedMeter) wait(at, cost int64) time.Duration {
	if end := m.end(at); m.limit.Rate-m.used < cost {
		return time.Duration(end - at)
	}
	return 0
}

func (m *fixedMeter) take(at, cost int64) {
	m.end(at)
	if m.used == 0 {
		m.start = at
	}
	m.used += cost
}

func (m *fixedMeter) remaining(at int64) int64 {
	m.end(at)
	return max(0, m.limit.Rate-m.used)
}

func (m *fixedMeter) reset(at int64) time.Duration {
	end := m.end(at)
	if m.used == 0 {
		return 0
	}
	return time.Duration(end - at)
}

func (m *fixedMeter) change(at int64, limit weir.Limit) {
	m.end(at)
	m.limit = limit
}

// alignedMeter counts in windows that start at multiples of the Period.
type alignedMeter struct {
	limit weir.Limit
	index int64 // of the window that used belongs to
	used  int64
}

func (m *alignedMeter) end(at int64) int64 {
	if index := at / int64(m.limit.Period); index != m.index {
		m.index, m.used = index, 0
	}
	return (m.index + 1) * int64(m.limit.Period)
}

func (m *alignedMeter) wait(at, cost int64) time.Duration {
	if end := m.end(at); m.limit.Rate-m.used < cost {
		return time.Duration(end - at)
	}
	return 0
}

func (m *alignedMeter) take(at, cost int64) {
	m.end(at)
	m.used += cost
}

func (m *alignedMeter) remaining(at int64) int64 {
	m.end(at)
	return max(0, m.limit.Rate-m.used)
}

func (m *alignedMeter) reset(at int64) time.Duration {
	end := m.end(at)
	if m.used == 0 {
		return 0
	}
	return time.Duration(end - at)
}

func (m *alignedMeter) change(at int64, limit weir.Limit) {
	m.end(at)
	m.limit, m.index = limit, at/int64(limit.Period)
}
