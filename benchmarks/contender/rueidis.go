//go:build !race

package contender

import (
	"context"
	"crypto/tls"
	"net"
	"strconv"
	"time"

	"github.com/redis/rueidis"
)

// RueidisLimiter stands in for rueidislimiter, whose own module is on no proxy. One
// script runs the same commands on the same two keys of a fixed window, through the same
// client with its defaults.
func RueidisLimiter() Contender {
	return Contender{
		Name: "rueidislimiter", Module: "github.com/redis/rueidis",
		Note:      "rueidislimiter's own module could not be fetched (the module proxy does not have it): a script of the same commands is measured, on the same two keys and by the same client, rueidis, with its defaults.",
		Redis:     openRueidis,
		OnCluster: true,
		Network:   openRueidis,
	}
}

// rueidisWindow counts in KEYS[1] until the time in KEYS[2].
var rueidisWindow = rueidis.NewLuaScript(`
local ends, now = tonumber(redis.call('GET', KEYS[2])), tonumber(ARGV[2])
if not ends or ends < now then
	ends = tonumber(ARGV[3])
	redis.call('SET', KEYS[1], 0, 'PXAT', ends + 1000)
	redis.call('SET', KEYS[2], ends, 'PXAT', ends + 1000)
end
return {redis.call('INCRBY', KEYS[1], ARGV[1]), ends}`)

func openRueidis(c Cleaner, l Limit, at Servers) (Decide, error) {
	o := rueidis.ClientOption{InitAddress: at.Addrs, ForceSingleClient: !at.Cluster, TLSConfig: at.tls()}
	if len(at.Via) > 0 {
		o.DialCtxFn = func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return at.dial(ctx, "tcp", addr)
		}
	}
	client, err := rueidis.NewClient(o)
	if err != nil {
		return nil, err
	}
	c.Cleanup(client.Close)
	return func(ctx context.Context, key string) (bool, error) {
		now := time.Now()
		counter := "rueidislimiter:{" + key + "}"
		args := []string{"1", strconv.FormatInt(now.UnixMilli(), 10), strconv.FormatInt(now.Add(l.Window).UnixMilli(), 10)}
		reply, err := rueidisWindow.Exec(ctx, client, []string{counter, counter + ":ex"}, args).ToArray()
		if err != nil {
			return false, err
		}
		n, err := reply[0].AsInt64()
		return n <= l.Burst, err
	}, nil
}
