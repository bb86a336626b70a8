package data

import (
	"fmt"
	"strconv"
)

// Decisions names a case of decisions: the number of keys and of callers, and the
// outcome.
func Decisions(keys, callers int, allowed bool) string {
	outcome := "refused"
	if allowed {
		outcome = "allowed"
	}
	return fmt.Sprintf("%s, %s, %s", Keys(keys), Callers(callers), outcome)
}

// Keys names a number of keys.
func Keys(n int) string {
	if n == 1 {
		return "1 key"
	}
	return Count(n) + " keys"
}

// Callers names a number of goroutines.
func Callers(n int) string {
	if n == 1 {
		return "1 goroutine"
	}
	return Count(n) + " goroutines"
}

// Count writes a number with spaces between thousands.
func Count(n int) string {
	if n < 0 {
		return "-" + Count(-n)
	}
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s\u00a0%03d", Count(n/1000), n%1000)
}

// These are the parts of a run.
const (
	Local    = "local"
	Memory   = "memory"
	Redis    = "redis"
	Cluster  = "cluster"
	Server   = "server"
	HTTP     = "http"
	Outage   = "outage"
	Exact    = "exact"
	Waiting  = "waiting"
	Physical = "physical"
	Network  = "network"
)

// These are the metrics.
const (
	NsPerOp     = "ns/decision"
	PerSecond   = "decisions/s"
	P50         = "p50 µs"
	P90         = "p90 µs"
	P99         = "p99 µs"
	Allocs      = "allocs"
	Errors      = "errors %"
	Scripts     = "script calls"
	Commands    = "commands"
	CPU         = "CPU µs"
	InScript    = "script µs"
	BytesIn     = "bytes in"
	BytesOut    = "bytes out"
	BytesPerKey = "bytes/key"
	Overhead    = "ns over base"
	OverAllocs  = "allocs over base"
	First       = "first ms"
	Typical     = "median ms"
	Longest     = "longest ms"
	Failed      = "errors"
	Honoured    = "longest with 50 ms"
	Admitted    = "admitted"
	Most        = "limit"
	Seconds     = "s"
	Calls       = "store calls"
	Late        = "longest wait/ideal"
	Disorder    = "out of order %"
)
