//go:build race

package fallback_test

// raceDetector: everything takes several times as long.
const raceDetector = true
