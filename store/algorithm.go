package store

import "fmt"

// Algorithm says how a [Limit] counts. Its zero value is [GCRA].
//
// The maximum number of units that any half-open interval as long as the period
// can admit:
//
//	GCRA            Burst + Rate
//	SlidingWindow   Rate
//	SlidingCounter  2·Rate; close to Rate under even traffic
//	FixedWindow     2·Rate
//	AlignedWindow   2·Rate
type Algorithm uint8

const (
	// GCRA is the generic cell rate algorithm (ITU-T I.371), a token bucket
	// that needs one instant of state: Burst units at once, then one unit per
	// Period/Rate.
	GCRA Algorithm = iota
	// SlidingWindow keeps an exact log: no half-open interval of one Period
	// ever holds more than Rate units. It costs memory per unit.
	SlidingWindow
	// SlidingCounter weighs two neighbouring aligned windows, an estimate of
	// the sliding window in constant memory.
	SlidingCounter
	// FixedWindow counts in windows that open at the first unit.
	FixedWindow
	// AlignedWindow counts in windows that start at multiples of the Period
	// since the Unix epoch, in UTC.
	AlignedWindow

	algorithms
)

var algorithmNames = [algorithms]string{
	"gcra", "sliding_window", "sliding_counter", "fixed_window", "aligned_window",
}

// String returns the algorithm's name in lower case with underscores, as
// [Algorithm.UnmarshalText] reads it.
func (a Algorithm) String() string {
	if a >= algorithms {
		return fmt.Sprintf("algorithm(%d)", uint8(a))
	}
	return algorithmNames[a]
}

// MarshalText implements [encoding.TextMarshaler].
func (a Algorithm) MarshalText() ([]byte, error) {
	if a >= algorithms {
		return nil, fmt.Errorf("weir: Algorithm: %d is not one of the five algorithms", uint8(a))
	}
	return []byte(algorithmNames[a]), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler]. The empty text is GCRA.
func (a *Algorithm) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*a = GCRA
		return nil
	}
	for i, name := range algorithmNames {
		if name == string(text) {
			*a = Algorithm(i)
			return nil
		}
	}
	return fmt.Errorf("weir: Algorithm: %q is none of %q", text, algorithmNames)
}
