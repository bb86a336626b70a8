//go:build race

package localstore_test

const raceDetector = true
