//go:build !race

package weir_test

const raceDetector = false
