//go:build race

package redisstore

// raceDetector: everything takes several times as long.
const raceDetector = true
