//go:build race

package storetest

// thinning divides how much is tried at random: the race detector looks for races,
// and everything takes several times as long.
const thinning = 6
