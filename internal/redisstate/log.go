package redisstate

import (
	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// logHead is the part of a state about its log.
//
//	first, n       entries dropped, and entries ever added
//	newest         the slot of the last entry
//	sum, gone      units of all entries, and of the dropped ones, modulo 2^52
//	start, tail    sum before the block of the first entry, and of the last one
type logHead struct{ first, n, newest, sum, gone, start, tail int64 }

const (
	blockSize = 256     // entries that share a head
	sums      = 1 << 52 // sums of units wrap around here
)

func (h *logHead) read(text string, born int64) error {
	if numbers(text, &h.first, &h.n, &h.newest, &h.sum, &h.gone, &h.start, &h.tail) != 7 || h.first > h.n || h.newest >= maxAfterBirth {
		return wrong("its log is out of bounds")
	}
	if h.newest += born; h.first == h.n {
		h.newest = 0
	}
	return nil
}

// Entries returns how many entries the log has.
func (s *State) Entries() int64 { return s.log.n - s.log.first }

// ReadLog reads the last entries of the log, as Redis has them: all, or more than 256. It
// reports whether they are all. Otherwise the units of the others count until the first
// read entry lapses, so no more units are free than it says.
func (s *State) ReadLog(entries []string) (all bool, err error) {
	h := &s.log
	n := int64(len(entries))
	if n > s.Entries() || n < s.Entries() && n < blockSize {
		return false, wrong("its log is apart from it")
	}
	all = n == s.Entries()
	first := h.n - n
	for ; !all && first%blockSize != 0; first++ {
		entries = entries[1:]
	}
	g := &s.Log
	g.First = first
	block, sum, total := h.start, h.gone, int64(0)
	for i, text := range entries {
		at, own, before := int64(0), int64(0), int64(0)
		head := (first+int64(i))%blockSize == 0
		if fields := numbers(text, &at, &own, &before); fields < 2 || head != (fields == 3) || at >= maxAfterBirth {
			return false, wrong("an entry of its log is out of bounds")
		}
		if head {
			block = before
		}
		if i == 0 && !all {
			// One entry stands for the unread entries.
			sum = s.firstLive()
			g.First, g.Entries = first-1, append(g.Entries, exact.Entry{At: s.Born + at, Sum: (block - sum) & (sums - 1)})
			sum = block
		}
		units := (block + own - sum) & (sums - 1)
		if units > exact.MostUnits {
			return false, wrong("sums of its log do not rise")
		}
		sum = block + own
		if total += units; total > 2*exact.MostUnits {
			return false, wrong("its log has more units than sums can have")
		}
		g.Entries = append(g.Entries, exact.Entry{At: s.Born + at, Sum: last(g) + units})
	}
	return all, nil
}

// last returns the sum of all entries so far.
func last(g *exact.Log) int64 {
	if len(g.Entries) == 0 {
		return g.Base
	}
	return g.Entries[len(g.Entries)-1].Sum
}

// firstLive returns the units before the first live entry of all windows, when the state
// was written.
func (s *State) firstLive() int64 {
	first, sum := s.log.n, s.log.sum
	for i := range s.Parts {
		if p := &s.Parts[i]; p.Rule.Limit.Algorithm == store.SlidingWindow && p.State.A < first {
			first, sum = p.State.A, p.State.B
		}
	}
	return sum
}
