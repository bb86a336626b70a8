package redistest

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

const (
	serverEnv  = "WEIR_REDIS_SERVER"
	requireEnv = "WEIR_REQUIRE_REDIS"
)

// binary returns the path of redis-server. Without one it ends the test: with a failure
// if a server is required, else with a skip.
func binary(tb testing.TB) string {
	tb.Helper()
	path, missing, required := find(os.Getenv, exec.LookPath)
	switch {
	case missing == "":
		return path
	case required:
		tb.Fatal(missing)
	default:
		tb.Skip(missing + "; skipped")
	}
	return ""
}

// find looks for a redis-server. missing, if not empty, says in one line why there is
// none. required reports whether a test must then fail.
func find(getenv func(string) string, lookPath func(string) (string, error)) (path, missing string, required bool) {
	name, where := "redis-server", "redis-server not found on PATH"
	if set := getenv(serverEnv); set != "" {
		name, where = set, fmt.Sprintf("%s=%s not found", serverEnv, set)
	}
	if path, err := lookPath(name); err == nil {
		return path, "", false
	}
	required = getenv(requireEnv) != "" && getenv(requireEnv) != "0"
	return "", fmt.Sprintf("%s: install it (apt-get install redis-server) or set %s", where, serverEnv), required
}
