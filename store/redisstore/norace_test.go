//go:build !race

package redisstore

const thinning = 1
