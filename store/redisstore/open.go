package redisstore

import (
	"fmt"

	"github.com/goweir/weir/store"
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
// Clusters and Sentinels take rediss too. A cluster behind one address names that address
// once more as addr. In a URL of a Sentinel, user and password are the Sentinel's; the
// parameters username and password, and the path, are for its master. go-redis parses the
// URL. Its options are further parameters, as pool_size=20. Open sets the options of
// [Configure] that the URL leaves out.
//
// Open does no I/O: a Redis that is away keeps no service from starting. See
// [Store.Check] for an early look. Only min_idle_conns dials, in the background.
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
