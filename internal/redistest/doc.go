// Package redistest starts real redis-servers for tests: a single one, a
// cluster of three masters, or a master and a replica watched by a sentinel.
// A [Proxy] in front of any of them makes its network fail.
//
// The servers listen on free ports of 127.0.0.1, keep nothing on disk, and are
// killed when the test that started them is over. On Linux they also die with
// the test binary, however it ends; elsewhere a test binary that is killed, or
// that panics outside of a test's goroutine, leaves its servers running.
//
// The server is the one that the environment variable WEIR_REDIS_SERVER names,
// by path or by name, or else redis-server from PATH. Any server that takes
// the arguments of redis-server 6 or later will do. Tests are skipped where
// there is none, and fail instead when WEIR_REQUIRE_REDIS is set to 1.
package redistest
