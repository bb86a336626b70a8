package dashboard

import (
	"cmp"
	"slices"
	"time"

	"github.com/goweir/weir/internal/inspect"
)

const maxRows = 50

// frame makes the frame of a moment, without its points.
func (d *Dashboard) frame(v view, now time.Time) *frame {
	d.counts.tick(now)
	f := &frame{
		At: now.UnixMilli(), Interval: d.cfg.Interval.Milliseconds(), Keys: "hashed", Changes: d.cfg.AllowChanges,
		Process: d.counts.process(d.name, now), Log: d.notes.newest(),
		Upstream: rowsOf(&d.budgets, now, budgetRow, smallest), Fallback: rowsOf(&d.fallbacks, now, stateRow, openFirst),
	}
	if d.cfg.ShowKeys {
		f.Keys = "plain"
	}
	t := tables{names: d.names, now: now, here: d.calls.copy(now)}
	if d.reader != nil {
		f.Redis = t.redis(v)
		if v.err == nil {
			d.counts.reading(f.Redis.WaitingCalls, int64(f.Redis.PausedKeys), f.Redis.Latency)
		}
	}
	f.Waiting, f.Slowed, f.Busy = t.rows(v)
	return f
}

// tables makes rows of a reading, and of this process.
type tables struct {
	names namer
	now   time.Time
	here  map[fullKey]hereOf // calls of this process
}

// redis sums up a reading.
func (t *tables) redis(v view) *redisPart {
	p := &redisPart{Age: -1}
	if v.err != nil {
		p.Error, p.AwayFor = t.names.cause(v.err), ms(t.now.Sub(v.away))
	}
	if v.reading == nil {
		return p
	}
	p.Age, p.Latency, p.Reading = ms(t.now.Sub(v.at)), fine(v.latency), fine(v.took)
	p.Keys, p.More = len(v.keys), v.more
	if v.missing != nil {
		p.Missing = t.names.cause(v.missing)
	}
	for _, k := range v.keys {
		age := v.age(k, t.now)
		p.InFlight += k.InFlight
		if k.Err != nil {
			p.Unreadable++
		}
		if hasQueue(k, age) {
			p.WaitingKeys++
			p.WaitingCalls += max(k.Ahead.Calls, 1)
		}
		switch {
		case k.Brake.Pause > age:
			p.PausedKeys++
		case k.Brake.For > age:
			p.SlowedKeys++
		}
	}
	return p
}

// rows makes the tables about keys.
func (t *tables) rows(v view) (waiting []waitingRow, slowed []slowedRow, busy []busyRow) {
	waiting, slowed = []waitingRow{}, []slowedRow{}
	var keys []*inspect.Key
	if v.reading != nil {
		keys = v.keys
	}
	busy = t.busy(v, keys)
	for _, k := range keys {
		limiter, key := textsOf(k)
		full, age := fullKey{limiter, key}, v.age(k, t.now)
		here := t.here[full]
		if hasQueue(k, age) || here.waiting > 0 {
			waiting = append(waiting, t.waiting(full, here, k.Ahead, age))
			delete(t.here, full)
		}
		if pause, slow := ms(k.Brake.Pause-age), ms(k.Brake.For-age); pause > 0 || slow > 0 {
			slowed = append(slowed, slowedRow{t.names.name(limiter, key), pause, k.Brake.Rate, slow, here.reason})
		}
	}
	for k, here := range t.here {
		if here.waiting > 0 {
			waiting = append(waiting, t.waiting(k, here, inspect.Ahead{Calls: int64(here.waiting)}, 0))
		}
	}
	slices.SortFunc(waiting, func(a, b waitingRow) int {
		return cmp.Or(cmp.Compare(b.Last, a.Last), cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.ID, b.ID))
	})
	slices.SortFunc(slowed, func(a, b slowedRow) int {
		return cmp.Or(cmp.Compare(b.Pause, a.Pause), cmp.Compare(a.Rate, b.Rate), cmp.Compare(a.ID, b.ID))
	})
	return first(waiting), first(slowed), busy
}

// hasQueue reports whether calls wait for a key, whose state has some age.
func hasQueue(k *inspect.Key, age inspect.Span) bool {
	return k.Ahead.Calls != 0 && k.Ahead.Last > age
}

func (t *tables) waiting(k fullKey, here hereOf, a inspect.Ahead, age inspect.Span) waitingRow {
	row := waitingRow{keyName: t.names.name(k.limiter, k.key), Calls: a.Calls, First: ms(a.First - age), Last: ms(a.Last - age), Here: int64(here.waiting)}
	if here.waiting > 0 {
		row.Oldest = ms(t.now.Sub(here.oldest))
	}
	return row
}

// busy returns the keys with the largest used shares. Of keys with equal shares, those
// with more calls in this process come first.
func (t *tables) busy(v view, keys []*inspect.Key) []busyRow {
	type use struct {
		*inspect.Key
		share float64
		here  hereOf
	}
	uses := make([]use, 0, len(keys))
	for _, k := range keys {
		if share := k.Busiest().Share(); share > 0 || k.InFlight > 0 {
			limiter, key := textsOf(k)
			uses = append(uses, use{k, share, t.here[fullKey{limiter, key}]})
		}
	}
	slices.SortFunc(uses, func(a, b use) int {
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(b.here.calls, a.here.calls), cmp.Compare(a.Stored, b.Stored))
	})
	rows := []busyRow{}
	for _, u := range first(uses) {
		limiter, key := textsOf(u.Key)
		row := busyRow{keyName: t.names.name(limiter, key), Limits: []limitRow{}, InFlight: u.InFlight, Calls: u.here.calls, Refused: u.here.refused}
		for i := range u.Limits {
			l := &u.Limits[i]
			row.Limits = append(row.Limits, limitRow{inspect.Describe(&l.Limit), l.Max(), l.Used, l.Remaining, ms(l.ResetAfter - v.age(u.Key, t.now))})
		}
		rows = append(rows, row)
	}
	return rows
}

func first[T any](rows []T) []T { return rows[:min(len(rows), maxRows)] }

// ms writes a duration in whole milliseconds, rounded up; fine with their fractions.
func ms[D ~int64](d D) int64 {
	return int64((max(d, 0) + D(time.Millisecond) - 1) / D(time.Millisecond))
}

func fine(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
