// Package redistest starts real redis-servers for tests: a single one, a
// cluster of three masters, or a master and a replica watched by a sentinel.
// A [Proxy] in front of any of them makes its network fail.
//
// The servers listen on free ports of 127.0.0.1 and keep nothing on disk. The end of a
// test kills its servers. On Linux they also die with the test binary, however it ends.
// On other systems they outlive a test binary that is killed, or that panics outside of a
// test's goroutine.
//
// The environment variable WEIR_REDIS_SERVER names the server, by path or by name; the
// default is redis-server from PATH. Any server with the arguments of redis-server 6 or
// later will do. Without a server tests are skipped, or fail if WEIR_REQUIRE_REDIS is 1.
package redistest
