//go:build race

package contender

// The race detector compiles every dependency again. It takes more than a minute for
// these two libraries. So they take part in nothing under the race detector.

// Mennanov has the name only.
func Mennanov() Contender { return Contender{Name: "mennanov/limiters"} }

// RueidisLimiter has the name only.
func RueidisLimiter() Contender { return Contender{Name: "rueidislimiter"} }
