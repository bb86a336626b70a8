//go:build race

package weir_test

// raceDetector: everything takes several times as long.
const raceDetector = true
