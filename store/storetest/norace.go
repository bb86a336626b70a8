//go:build !race

package storetest

const thinning = 1
