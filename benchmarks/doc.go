// Package benchmarks compares weir with other rate limiters at the same work.
// It is a module of its own, so that they never enter weir's go.mod. README.md
// says how to run it.
//
// Every benchmark has a table of contenders, one file per subject. Names are
// key=value pairs, which benchstat can put side by side:
//
//	benchstat -col /store local.txt
package benchmarks
