package redisstate

import "github.com/goweir/weir/internal/exact"

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
