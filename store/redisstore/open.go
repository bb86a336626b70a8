package redisstore

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Open returns a Store with a client of its own, or a *store.ConfigError. No error holds
// any text of the URL, as that may have a password in it. cfg is as for [New], with a nil
// Client. Close the Store at the end.
//
//	URL                                                        server
//	redis://user:password@host:6379/0                          single
//	rediss://user:password@host:6379/0                         single, over TLS
//	unix://user:password@/path/to/socket?db=0                  single, on this machine
//	redis://user:password@host:6379?addr=host2:6379            cluster; addr may come again
//	redis://host:26379?master_name=name&addr=host2:26379       Sentinel; addr may come again
//
// Clusters and Sentinels take rediss too. A cluster behind one address names it once more as
// addr. In a URL of a Sentinel, user and password are the Sentinel's; the parameters username
// and password, and the path, are for its master. Options of go-redis are parameters, as
// pool_size=20. Open sets the options of [Configure] that the URL leaves out.
//
// Open does no I/O, so a service starts without its Redis. [Store.Check] is an early look.
// Only min_idle_conns dials, in the background.
func Open(url string, cfg Config) (*Store, error) {
	if cfg.Client != nil {
		return nil, &store.ConfigError{Field: "redisstore.Config.Client", Want: "nil with Open, which makes the client", Got: fmt.Sprintf("a %T", cfg.Client)}
	}
	dial, err := parseURL(url)
	if err != nil {
		return nil, err
	}
	cfg.Client = dial()
	s, err := New(cfg)
	if err != nil {
		_ = cfg.Client.Close()
		return nil, err
	}
	s.owned = true
	return s, nil
}

// connect makes a client. It does no I/O, unless the URL asks for idle connections.
type connect func() redis.UniversalClient

// parser reads URLs of one kind.
type parser func(url.URL) (connect, error)

// parseURL reads a URL of [Open]. No error holds any text of the URL: in a wrong URL a
// password may stand anywhere.
func parseURL(text string) (connect, error) {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return nil, badURL("a URL, as redis://localhost:6379", "an empty one")
	case err != nil:
		return nil, badURL("a URL, as redis://user:password@host:6379/0, with %XX for special characters in user and password", "another text")
	case u.Scheme != "redis" && u.Scheme != "rediss" && u.Scheme != "unix":
		return nil, badURL("redis://, rediss:// or unix:// at its start", "another scheme or none")
	case u.Opaque != "":
		return nil, badURL("// behind the scheme", "none")
	case strings.Contains(u.Host, ","):
		return nil, badURL("further hosts as parameters, as addr=host2:6379", "several before the path")
	case u.Fragment != "":
		return nil, badURL("%23 in place of #", "a #")
	case u.Query().Has("master_name") && u.Query().Get("master_name") == "":
		return nil, badURL("the name that Sentinel has for the master as master_name", "an empty one")
	}
	parse := kindOf(u)
	c, err := parse.checked(*u)
	if err != nil {
		return nil, parse.refused(*u)
	}
	return c, nil
}

func badURL(want, got string) error {
	return &store.ConfigError{Field: "redisstore.Open: url", Want: want, Got: got}
}

// kindOf returns the parser of a URL.
func kindOf(u *url.URL) parser {
	switch query := u.Query(); {
	case u.Scheme != "unix" && query.Has("master_name"):
		return parseFailover
	case u.Scheme != "unix" && query.Has("addr"):
		return parseCluster
	}
	return parseSingle
}

func parseSingle(u url.URL) (connect, error) {
	o, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, err
	}
	Configure(o)
	o.MaintNotificationsConfig = noLookup()
	return func() redis.UniversalClient { return redis.NewClient(o) }, nil
}

func parseFailover(u url.URL) (connect, error) {
	o, err := redis.ParseFailoverURL(u.String())
	if err != nil {
		return nil, err
	}
	if o.RouteByLatency || o.RouteRandomly || o.ReplicaOnly {
		return nil, errors.New("decisions need the master")
	}
	ConfigureFailover(o)
	return func() redis.UniversalClient { return redis.NewFailoverClient(o) }, nil
}

func parseCluster(u url.URL) (connect, error) {
	o, err := redis.ParseClusterURL(u.String())
	if err != nil {
		return nil, err
	}
	if strings.Trim(u.Path, "/") != "" && u.Path != "/0" {
		return nil, errors.New("a cluster has database 0 only")
	}
	ConfigureCluster(o)
	o.MaintNotificationsConfig = noLookup()
	return func() redis.UniversalClient { return redis.NewClusterClient(o) }, nil
}

// noLookup stops go-redis from looking the host up when it makes a client. go-redis asks for
// the kind of address, for notices of a server's maintenance. Without it clients reconnect to
// their own address.
func noLookup() *maintnotifications.Config {
	return &maintnotifications.Config{EndpointType: maintnotifications.EndpointTypeNone}
}

// counts are parameters with numbers from 0 on. go-redis allocates sizes at once, and panics
// if it can't.
var counts = []string{
	"db", "pool_size", "min_idle_conns", "max_idle_conns", "max_active_conns", "max_concurrent_dials",
	"pipeline_pool_size", "pipeline_read_buffer_size", "pipeline_write_buffer_size",
}

const maxCount, maxPort = 1 << 20, 1<<16 - 1

// within reports whether a text is a number of a range.
func within(text string, low, high int) bool {
	n, err := strconv.Atoi(text)
	return err == nil && low <= n && n <= high
}

// checked parses a URL, and first refuses numbers that go-redis drops, panics at or
// can't dial.
func (parse parser) checked(u url.URL) (connect, error) {
	query, err := url.ParseQuery(u.RawQuery)
	negative := u.Scheme != "unix" && strings.Contains(u.Path, "/-")
	wrong := err != nil || negative || u.Port() != "" && !within(u.Port(), 1, maxPort)
	for name, values := range query {
		for _, text := range values {
			_, port, _ := net.SplitHostPort(text)
			none := text == "" || text == "-1" && name == "pipeline_pool_size"
			wrong = wrong || name == "addr" && !within(port, 1, maxPort) || slices.Contains(counts, name) && !none && !within(text, 0, maxCount)
		}
	}
	if wrong {
		return nil, errors.New("a number out of range")
	}
	return parse(u)
}

// refused returns an error that names the wrong part of a URL. It parses the URL with each
// parameter alone.
func (parse parser) refused(u url.URL) error {
	pairs := strings.Split(u.RawQuery, "&")
	u.RawQuery = ""
	if _, err := parse.checked(u); err != nil {
		return badURL("a port from 1 to 65535 and the number of a database as path (0 on a cluster), or the path of a unix socket", "another port or path")
	}
	for i, pair := range pairs {
		u.RawQuery = pair
		if _, err := parse.checked(u); err != nil {
			return badURL("options of go-redis as parameters, as read_timeout=1s", fmt.Sprintf("an unknown one or a wrong value in parameter %d", i+1))
		}
	}
	return badURL("a URL for go-redis", "another text")
}
