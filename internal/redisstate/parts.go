// Package redisstate reads the state that package redisstore keeps in Redis. The grammar
// stands in store/redisstore/internal/script/lua/1_value.lua, beside the code that writes
// it. Bounds are those of the scripts: a value that the scripts refuse is an error here.
//
// It is no part of package script, as programs that only look at states need it too, and
// they stand outside of store/redisstore.
package redisstate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// ErrValue is returned for a value that no release of weir wrote.
var ErrValue = errors.New("the value is not weir's")

// ErrVersion is returned for a state of another version. It matches ErrValue.
var ErrVersion = fmt.Errorf("%w of this version", ErrValue)

func wrong(what string) error { return fmt.Errorf("%w: %s", ErrValue, what) }

// algorithms are the letters of the algorithms, in their order.
const algorithms = "gwcfa"

// FormatLimit writes a limit as it stands in a key's value: how it counts, without its
// name. 25 per 5 s by GCRA with a burst of 50 is g25/5s/50.
func FormatLimit(l *store.Limit) string {
	b := make([]byte, 1, 40)
	b[0] = algorithms[l.Algorithm]
	b = append(strconv.AppendInt(b, l.Rate, 10), '/')
	if l.Period%time.Second == 0 {
		b = append(strconv.AppendInt(b, int64(l.Period/time.Second), 10), 's')
	} else {
		b = strconv.AppendInt(b, l.Period.Microseconds(), 10)
	}
	if most := l.Max(); most != l.Rate {
		b = strconv.AppendInt(append(b, '/'), most, 10)
	}
	return string(b)
}

// ParseLimit reads a limit as FormatLimit writes it, and no other text.
func ParseLimit(text string) (l store.Limit, err error) {
	bad := wrong("a limit that is not weir's")
	if text == "" {
		return l, bad
	}
	at := strings.IndexByte(algorithms, text[0])
	rate, rest, ok := strings.Cut(text[1:], "/")
	period, burst, bursts := strings.Cut(rest, "/")
	if at < 0 || !ok {
		return l, bad
	}
	l.Algorithm = store.Algorithm(at)
	unit := time.Microsecond
	if seconds, ok := strings.CutSuffix(period, "s"); ok {
		period, unit = seconds, time.Second
	}
	n, ok := number(period)
	if !ok || n > int64(store.MaxPeriod/unit) {
		return l, bad
	}
	l.Period = time.Duration(n) * unit
	if l.Rate, ok = number(rate); !ok {
		return l, bad
	}
	if bursts {
		if l.Burst, ok = number(burst); !ok {
			return l, bad
		}
	}
	if l.Validate() != nil || FormatLimit(&l) != text {
		return l, bad
	}
	return l, nil
}

// ParseClock reads a clock: its first two numbers, or all.
func ParseClock(text string) (c exact.Clock, ok bool) {
	n := numbers(text, &c.At, &c.V, &c.Until, &c.Stand, &c.Unit, &c.Gap, &c.Ends, &c.Share, &c.Since, &c.Step, &c.Next)
	if c.Unit == 0 {
		c.Unit = 1
	}
	return c, (n == 2 || n == 11) && c.At > 0 && c.Share <= 64 && (c.Share == 0 || c.Step > 0)
}

// Bounds of a stored clock, as in the scripts.
const (
	maxGap   = int64(1e12)
	maxStep  = int64(1e13)
	maxAhead = int64(1e15)
)

// storedClock reads a clock of a state. After a step back of the server's clock, a script
// may answer once with a clock further ahead.
func storedClock(text string) (c exact.Clock, ok bool) {
	c, ok = ParseClock(text)
	return c, ok && max(c.Unit, c.Gap) <= maxGap && c.Step <= maxStep && max(c.Until, c.Ends, c.V, c.Stand, c.Next) <= c.At+maxAhead
}

// number reads a number of 53 bits, as doubles have them, in at most 16 digits.
func number(text string) (int64, bool) {
	n, err := strconv.ParseUint(text, 10, 53)
	return int64(n), err == nil && len(text) <= 16
}

// numbers reads numbers with dots between them into fields. It returns how many there
// are; 0 if the text is of another form.
func numbers(text string, fields ...*int64) int {
	n := 0
	for part := range strings.SplitSeq(text, ".") {
		v, ok := number(part)
		if !ok || n == len(fields) {
			return 0
		}
		*fields[n] = v
		n++
	}
	return n
}
