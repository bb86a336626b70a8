package redisstore

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

func TestURLs(t *testing.T) {
	t.Parallel()
	single := func(f func(o *redis.Options) bool) func(redis.UniversalClient) bool {
		return func(c redis.UniversalClient) bool {
			client, ok := c.(*redis.Client)
			return ok && f(client.Options())
		}
	}
	for name, test := range map[string]struct {
		url string
		is  func(redis.UniversalClient) bool
	}{
		"single": {"redis://u:p@h:1/2", single(func(o *redis.Options) bool {
			return o.Addr == "h:1" && o.DB == 2 && o.Username == "u" && o.Password == "p" && o.TLSConfig == nil && o.ReadTimeout == replyTimeout
		})},
		"no port":   {"redis://h", single(func(o *redis.Options) bool { return o.Addr == "h:6379" })},
		"IPv6":      {"redis://[::1]:7", single(func(o *redis.Options) bool { return o.Addr == "[::1]:7" })},
		"escaped":   {"redis://:%23%2F%40@h", single(func(o *redis.Options) bool { return o.Password == "#/@" })},
		"over TLS":  {"rediss://h:1", single(func(o *redis.Options) bool { return o.TLSConfig.ServerName == "h" })},
		"a socket":  {"unix://u:p@/run/redis.sock?db=3", single(func(o *redis.Options) bool { return o.Network == "unix" && o.Addr == "/run/redis.sock" && o.DB == 3 })},
		"an option": {"redis://h?read_timeout=7s&pool_size=3", single(func(o *redis.Options) bool { return o.ReadTimeout == 7*time.Second && o.PoolSize == 3 })},
		"Sentinel":  {"redis://u:p@h:1/2?master_name=m&addr=h2:2&password=q", single(func(o *redis.Options) bool { return o.DB == 2 && o.Password == "q" && o.ContextTimeoutEnabled })},
		"cluster": {"rediss://u:p@h:1?addr=h2:2&addr=h3:3", func(c redis.UniversalClient) bool {
			client, ok := c.(*redis.ClusterClient)
			return ok && slices.Equal(client.Options().Addrs, []string{"h:1", "h2:2", "h3:3"}) && client.Options().TLSConfig != nil && client.Options().ContextTimeoutEnabled
		}},
		"cluster behind one address": {"redis://h:1/0?addr=h:1", func(c redis.UniversalClient) bool { _, ok := c.(*redis.ClusterClient); return ok }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Open(test.url, Config{Prefix: "p:"})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			if !test.is(s.client) || s.prefix != "p:" {
				t.Errorf("another client: %v", s.client)
			}
		})
	}
}

// newGoRedis reports whether the tests run with go-redis v9.23 or a later one.
func newGoRedis(t *testing.T) bool {
	var major, minor int
	if _, err := fmt.Sscanf(redis.Version(), "%d.%d", &major, &minor); err != nil {
		t.Fatal(err)
	}
	return major > 9 || minor >= 23
}

// TestURLOfAPipelinePool: the number -1 means none. go-redis before v9.23 has no such
// parameter.
func TestURLOfAPipelinePool(t *testing.T) {
	t.Parallel()
	s, err := Open("redis://h?pipeline_pool_size=-1", Config{})
	if known := newGoRedis(t); (err == nil) != known {
		t.Errorf("this go-redis knows the parameter: %v, and Open returned the error: %v", known, err)
	}
	if err == nil {
		_ = s.Close()
	}
}

// wrongURLs have the word secret in each part that may hold one.
var wrongURLs = map[string]struct{ url, want string }{
	"empty":                     {"", "got an empty one"},
	"no scheme":                 {"secret:secret@secret:1", "redis://, rediss:// or unix://"},
	"another scheme":            {"http://secret:secret@secret", "redis://, rediss:// or unix://"},
	"no slashes":                {"redis:secret@secret:1", "// behind the scheme"},
	"a port of letters":         {"redis://u:secret@h:secret", "with %XX for special characters"},
	"a port above 65535":        {"redis://u:secret@h:99999999", "a port from 1 to 65535"},
	"port 0":                    {"rediss://u:secret@h:0", "a port from 1 to 65535"},
	"a huge port":               {"redis://u:secret@h:99999999999999999999", "a port from 1 to 65535"},
	"a Sentinel's port":         {"redis://u:secret@h:65536?master_name=m", "a port from 1 to 65535"},
	"a port of a further host":  {"redis://u:secret@h?pool_size=1&addr=h:65536", "parameter 2"},
	"a port of a Sentinel":      {"redis://u:secret@h?master_name=m&addr=h:0", "parameter 2"},
	"database -1":               {"redis://u:secret@h/-1", "the number of a database"},
	"database -1 by parameter":  {"redis://u:secret@h?db=-1", "parameter 1"},
	"database -1 of a socket":   {"unix://u:secret@/s?db=-1", "parameter 1"},
	"database -1 of a master":   {"redis://u:secret@h/-1?master_name=m", "the number of a database"},
	"# in the password":         {"redis://u:x#secret@h", "with %XX for special characters"},
	"# behind a number":         {"redis://:1#secret@h", "%23 in place of #"},
	"/ in the password":         {"redis://u:sec/secret@h", "with %XX for special characters"},
	"/ behind a number":         {"redis://:1/secret@h", "the number of a database"},
	"? behind a number":         {"redis://:1?secret@h", "parameter 1"},
	"%":                         {"redis://u:secret%zz@h", "with %XX for special characters"},
	"a control character":       {"redis://u:secret\n@h", "with %XX for special characters"},
	"a space":                   {"redis://u:secret@h secret", "with %XX for special characters"},
	"two hosts":                 {"redis://u:secret@secret:1,secret:2", "further hosts as parameters"},
	"a database by name":        {"redis://h/secret", "the number of a database"},
	"two databases":             {"redis://h/1/secret", "the number of a database"},
	"no socket":                 {"unix://secret:secret@", "the path of a unix socket"},
	"an unknown parameter":      {"redis://u:secret@h?pool_size=1&secret=1", "parameter 2"},
	"a value":                   {"redis://u:secret@h?read_timeout=secret", "parameter 1"},
	"a broken parameter":        {"redis://h?password=%secret", "parameter 1"},
	"no pool":                   {"redis://h?pool_size=-1", "parameter 1"},
	"a huge pool":               {"redis://h?read_timeout=1s&pool_size=2147483648", "parameter 2"},
	"a huge pool of a cluster":  {"redis://h?addr=h:2&pool_size=2147483648", "parameter 2"},
	"Sentinel without a name":   {"redis://u:secret@h?master_name=", "the name that Sentinel has"},
	"Sentinel's replicas":       {"redis://h?master_name=m&replica_only=true&password=secret", "parameter 2"},
	"Sentinel's nearest":        {"redis://h?master_name=m&route_by_latency=1", "parameter 2"},
	"Sentinel's address":        {"redis://h?master_name=m&addr=secret", "parameter 2"},
	"a cluster's address":       {"redis://u:secret@h?addr=secret", "parameter 1"},
	"a cluster's database":      {"redis://h/1?addr=h:2", "0 on a cluster"},
	"a socket is no cluster":    {"unix:///s?addr=secret:1", "parameter 1"},
	"a password as a parameter": {"redis://h?password=secret", "parameter 1"},
}

func TestWrongURLs(t *testing.T) {
	t.Parallel()
	for name, test := range wrongURLs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Open(test.url, Config{})
			var config *store.ConfigError
			if s != nil || !errors.As(err, &config) || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("a store: %t, %v, want %q", s != nil, err, test.want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

// FuzzOpenURL: no URL panics, and no error shows any of its secrets.
func FuzzOpenURL(f *testing.F) {
	for _, test := range wrongURLs {
		f.Add(test.url)
	}
	for _, text := range []string{
		"redis://secret:secret@h:1/2?pool_size=3", "rediss://h?addr=h:2&max_redirects=3", "unix://secret@/s?db=1",
		"redis://h?master_name=m&username=secret&password=secret&db=1", "redis://h?read_timeout=secret&write_timeout=-1",
	} {
		f.Add(text)
	}
	// Errors have only texts of this package, and the place of a parameter.
	number := regexp.MustCompile(`parameter \d+`)
	texts := map[string]bool{number.ReplaceAllString(badURL("a URL for go-redis", "another text").Error(), ""): true}
	for _, test := range wrongURLs {
		_, err := parseURL(test.url)
		texts[number.ReplaceAllString(err.Error(), "")] = true
	}
	f.Fuzz(func(t *testing.T, text string) {
		dial, err := parseURL(text)
		if err != nil {
			if !texts[number.ReplaceAllString(err.Error(), "")] {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if u, err := url.Parse(text); err != nil || u.Query().Has("min_idle_conns") {
			return // It would dial.
		}
		if err := dial().Close(); err != nil {
			t.Error(err)
		}
	})
}
