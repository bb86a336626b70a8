//go:build race

package fallback_test

const raceDetector = true
