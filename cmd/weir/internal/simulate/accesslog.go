package simulate

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
)

// Log reads calls from an access log: lines in the common or combined format, or JSON
// objects. Lines of one whole second are spread evenly over it. A time before that of
// the line in front counts as that time.
type Log struct {
	R   io.Reader `json:"-"`
	Key string    `json:"-"` // the field that says who calls, see fields; empty: all lines count together

	// Results, once Arrivals has ended.
	Lines    int64  `json:"lines"`
	Bad      int64  `json:"bad"`
	Moved    int64  `json:"out_of_order"`        // lines whose time was before that of the line in front
	FirstBad string `json:"first_bad,omitempty"` // the reason, with its line's number
	Err      error  `json:"-"`                   // of R
	Start    int64  `json:"-"`                   // the first time
	End      int64  `json:"-"`                   // the latest time

	second  int64    // of pending
	pending []string // keys of lines of a whole second
}

const (
	maxLine    = 64 << 10
	maxPending = 1 << 18 // further lines of one second come at its end
)

// Arrivals returns the calls. It can be used once.
func (l *Log) Arrivals() iter.Seq[Arrival] {
	return func(yield func(Arrival) bool) {
		in := bufio.NewReaderSize(l.R, maxLine)
		for {
			line, err := in.ReadSlice('\n')
			long := errors.Is(err, bufio.ErrBufferFull)
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = in.ReadSlice('\n')
			}
			if len(line) > 0 && !l.read(line, long, yield) {
				return
			}
			if err != nil {
				if err != io.EOF {
					l.Err = err
				}
				l.flush(yield)
				return
			}
		}
	}
}

// read reads one line. It reports false if the receiver wants no more.
func (l *Log) read(line []byte, long bool, yield func(Arrival) bool) bool {
	l.Lines++
	at, whole, key, err := time.Time{}, false, "", errors.New("longer than 64 KiB")
	if !long {
		at, whole, key, err = parseLine(line, l.Key)
	}
	if err == nil && (at.Unix() <= 0 || at.UTC().Year() > 2261) { // A time.Duration holds such a span.
		err = errors.New("a time before 1970 or after 2261")
	}
	if err != nil {
		if l.Bad++; l.FirstBad == "" {
			l.FirstBad = fmt.Sprintf("line %d: %v", l.Lines, err)
		}
		return true
	}
	if !whole {
		return l.flush(yield) && l.yield(at.UnixMicro(), key, yield)
	}
	second := at.Unix()
	if len(l.pending) > 0 && second > l.second || len(l.pending) == maxPending {
		if !l.flush(yield) {
			return false
		}
	}
	switch {
	case len(l.pending) == 0:
		l.second = second
	case second < l.second:
		l.Moved++
	}
	l.pending = append(l.pending, key)
	return true
}

// flush yields the lines of a second.
func (l *Log) flush(yield func(Arrival) bool) bool {
	for i, key := range l.pending {
		if !l.yield(l.second*1e6+int64(i)*1e6/int64(len(l.pending)), key, yield) {
			return false
		}
	}
	clear(l.pending)
	l.pending = l.pending[:0]
	return true
}

func (l *Log) yield(at int64, key string, yield func(Arrival) bool) bool {
	if at < l.End {
		at = l.End
		l.Moved++
	}
	l.Start, l.End = cmp.Or(l.Start, at), at
	return yield(Arrival{at, key})
}
