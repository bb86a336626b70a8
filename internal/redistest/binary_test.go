package redistest

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	t.Parallel()
	const onPath = "redis-server not found on PATH: install it (apt-get install redis-server) or set WEIR_REDIS_SERVER"
	installed := map[string]string{"redis-server": "/usr/bin/redis-server", "/opt/valkey-server": "/opt/valkey-server"}
	cases := []struct {
		name      string
		installed map[string]string
		env       map[string]string
		path      string
		missing   string
		required  bool
	}{
		{"on the path", installed, nil, "/usr/bin/redis-server", "", false},
		{"on the path and required", installed, map[string]string{requireEnv: "1"}, "/usr/bin/redis-server", "", false},
		{"named", installed, map[string]string{serverEnv: "/opt/valkey-server"}, "/opt/valkey-server", "", false},
		{"nowhere", nil, nil, "", onPath, false},
		{"nowhere and required", nil, map[string]string{requireEnv: "1"}, "", onPath, true},
		{"nowhere and required by another word", nil, map[string]string{requireEnv: "true"}, "", onPath, true},
		{"nowhere and not required", nil, map[string]string{requireEnv: "0"}, "", onPath, false},
		{
			"not where it should be, though on the path", installed, map[string]string{serverEnv: "/opt/redis"}, "",
			"WEIR_REDIS_SERVER=/opt/redis not found: install it (apt-get install redis-server) or set WEIR_REDIS_SERVER", false,
		},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			lookPath := func(name string) (string, error) {
				if path, ok := tc.installed[name]; ok {
					return path, nil
				}
				return "", errors.New("not found")
			}
			getenv := func(name string) string { return tc.env[name] }
			path, missing, required := find(getenv, lookPath)
			if path != tc.path || missing != tc.missing || required != tc.required {
				t.Errorf("find = %q, %q, %v\nwant   %q, %q, %v", path, missing, required, tc.path, tc.missing, tc.required)
			}
		})
	}
}

// A missing server is a skip with one line, or a failure.
func TestWithoutAServer(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, require string
		ok            bool
		want          string
	}{
		{"skipped", "", true, "--- SKIP: TestInfo"},
		{"required", "1", false, "--- FAIL: TestInfo"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestInfo$", "-test.v")
			cmd.Env = append(os.Environ(), "PATH=", serverEnv+"=", requireEnv+"="+tc.require, "GORACE=atexit_sleep_ms=0")
			out, err := cmd.CombinedOutput()
			if (err == nil) != tc.ok {
				t.Errorf("the test binary ended with %v", err)
			}
			if !strings.Contains(string(out), tc.want) || strings.Count(string(out), "not found on PATH") != 1 {
				t.Errorf("the output lacks %q or the one line that explains it:\n%s", tc.want, out)
			}
		})
	}
}
