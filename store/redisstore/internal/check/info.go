package check

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// info checks the settings that INFO shows. Users and proxies that forbid CONFIG often
// allow INFO. A Sentinel has no other command of a store.
func (r *report) info(ctx context.Context, t *target) (sentinel bool) {
	text, err := t.Client.Info(ctx).Result()
	if err != nil {
		r.add(Finding{Name: "info", Level: Unknown, Server: t.Addr, What: "version, role and eviction can't be read", Remedy: "ACL SETUSER with +info, or see maxmemory-policy yourself: want noeviction", Err: err})
		return false
	}
	info := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			info[name] = value
		}
	}
	add := func(name string, level string, what, remedy string) {
		r.add(Finding{Name: name, Level: level, Server: t.Addr, What: what, Remedy: remedy})
	}
	if info["redis_mode"] == "sentinel" {
		add("sentinel", Fault, "the server is a Sentinel, which keeps no limits", "name its master: master_name in the URL, or a client of redis.NewFailoverClient")
		return true
	}
	if major, err := strconv.Atoi(strings.Split(info["redis_version"], ".")[0]); err == nil && major < 6 {
		add("version", Warning, "the server is Redis "+info["redis_version"]+", which is not tested", "use Redis 6 or later, or Valkey")
	}
	if bits := info["arch_bits"]; bits == "32" {
		add("version", Fault, "the server is a program of 32 bits, whose scripts have too short numbers", "use a server of 64 bits")
	}
	if info["role"] == "slave" {
		add("replica", Fault, "the server is a replica", replicaRemedy)
	}
	if _, single := r.Client.(*redis.Client); single && info["cluster_enabled"] == "1" {
		add("cluster", Warning, "the server is in cluster mode, and the client is not", clusterRemedy)
	}
	switch policy := info["maxmemory_policy"]; policy {
	case "":
		add("eviction", Unknown, "INFO has no maxmemory_policy", "see maxmemory-policy yourself: want noeviction")
	case "noeviction":
	default:
		when := "when memory is full"
		if info["maxmemory"] == "0" {
			when += ", for which maxmemory is not set yet"
		}
		add("eviction", Warning, "maxmemory-policy "+policy+" drops keys "+when+": their units are then free again. All keys of weir have a TTL, so volatile policies drop them too", "set maxmemory-policy noeviction, or use a server for weir alone")
	}
	return false
}
