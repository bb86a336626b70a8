//go:build !race

package long

// Race says that the race detector is on: everything takes several times as long.
const Race = false
