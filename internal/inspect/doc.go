// Package inspect reads the limits that package redisstore keeps in Redis, for people: the
// keys under a prefix, their use, bookings ahead, brakes and calls in flight. The command
// weir and the dashboard show its results.
//
// It changes nothing. It sends SCAN with a bound, and for each key GETRANGE, PTTL, LRANGE,
// ZCARD and ZRANGE in pipelines, and TIME. It runs no script, so a user with these
// commands is enough. All arithmetic is that of package exact.
package inspect
