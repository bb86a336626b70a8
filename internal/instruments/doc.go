// Package instruments serves promweir and otelweir: bounded labels, and numbers that are
// read when they are collected.
package instruments

import (
	"slices"
	"strconv"
	"strings"

	"github.com/goweir/weir"
)

const (
	// MaxLimits bounds the limits of a limiter that have series of their own.
	MaxLimits = 64
	// MaxBudgets bounds the budgets of a limiter's upstream that have series.
	MaxBudgets = 16
	// maxName bounds a name from outside, in bytes.
	maxName = 64
)

// The bounds of histograms' buckets, in seconds. Those of waits are OpenTelemetry's for
// requests, with longer ones.
var (
	WaitBuckets  = []float64{.005, .01, .025, .05, .075, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 30, 60, 300}
	PauseBuckets = []float64{.1, .5, 1, 5, 10, 30, 60, 300, 900, 3600, 86400}
	StoreBuckets = []float64{.00001, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}
)

// Clean returns a name from outside as a label's value.
func Clean(name string) string {
	if name == "" {
		return "unnamed"
	}
	return strings.ToValidUTF8(name[:min(len(name), maxName)], "?")
}

// Status returns the label of the status of a refusal. Unusual ones share one.
func Status(code int) string {
	if slices.Contains([]int{403, 418, 420, 429, 503, 529}, code) {
		return strconv.Itoa(code)
	}
	return "other"
}

// Said returns the label for whether a refusal said a time.
func Said(e *weir.Event) string {
	if e.Pause > 0 {
		return "duration"
	}
	return "nothing"
}

// To returns the label of a change of a primary store.
func To(e *weir.Event) string {
	if e.Err != nil {
		return "away"
	}
	return "back"
}

// NearLimit reports whether a call took units and came near its limit.
func NearLimit(e *weir.Event) bool { return e.Cost > 0 && e.Decision.Near() }
