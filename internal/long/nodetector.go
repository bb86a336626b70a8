//go:build !race

package long

// Race reports whether the race detector is on: all code takes several times as long.
const Race = false
