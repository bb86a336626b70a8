//go:build race

package contender

// Under the race detector these two libraries take part in no case: compiling their
// dependencies anew takes more than a minute.

// Mennanov has a name only.
func Mennanov() Contender { return Contender{Name: "mennanov/limiters"} }

// RueidisLimiter has a name only.
func RueidisLimiter() Contender { return Contender{Name: "rueidislimiter"} }
