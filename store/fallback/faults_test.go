package fallback_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store/redisstore"
)

// bed is a Redis with its clients, and a fault that begins and ends.
type bed struct {
	client     func(configured bool) redis.UniversalClient
	begin, end func()
}

// fault is a way to fail. The service does not notice a harmless one.
type fault struct {
	name     string
	harmless bool
	setUp    func(t testing.TB, during time.Duration) bed
}

// faults are all faults of the tests.
var faults = []fault{
	{name: "refused", setUp: through(redistest.Refuse)},
	{name: "black hole", setUp: through(redistest.Blackhole)},
	{name: "delay 40 ms each way", setUp: through(redistest.Delay(40 * time.Millisecond))},
	{name: "throttle to 1 kB per second", setUp: through(redistest.Throttle(1000))},
	{name: "cut in the middle of a reply", setUp: through(redistest.CutMidReply(10))},
	{name: "corrupt from the first byte", setUp: through(redistest.Corrupt(0))},
	{name: "corrupt in the middle", setUp: through(redistest.Corrupt(20))},
	{name: "SIGSTOP", setUp: direct((*redistest.Server).Stop, (*redistest.Server).Cont)},
	{name: "SIGKILL, back without memory", setUp: direct((*redistest.Server).Kill, (*redistest.Server).Restart)},
	{name: "SCRIPT FLUSH", harmless: true, setUp: commands("script flush", "ping")},
	{name: "READONLY", setUp: commands("replicaof 127.0.0.1 1", "replicaof no one")},
	{name: "OOM", setUp: commands("config set maxmemory 1", "config set maxmemory 0")},
	{name: "NOAUTH", setUp: commands("config set requirepass secret;client kill type normal", "auth secret;config set requirepass ''")},
	{name: "NOPERM", setUp: withUser("-evalsha -eval")},
	{name: "NOPERM of one command", setUp: withUser("-set")},
	{name: "MISCONF", setUp: misconfigured},
	{name: "LOADING", setUp: loading},
	{name: "sentinel failover", setUp: failover},
	{name: "a cluster loses a master", setUp: cluster},
}

// configure sets the address of a client, and redisstore's options if configured.
func configure(addr string, configured bool) func(*redis.Options) {
	return func(o *redis.Options) {
		o.Addr = addr
		if configured {
			redisstore.Configure(o)
		}
	}
}

func through(f redistest.Fault) func(testing.TB, time.Duration) bed {
	return func(t testing.TB, _ time.Duration) bed {
		server := redistest.Start(t)
		proxy := redistest.NewProxy(t, server.Addr)
		return bed{
			client: func(configured bool) redis.UniversalClient { return server.Client(configure(proxy.Addr, configured)) },
			begin:  func() { proxy.Set(f) },
			end:    func() { proxy.Set(redistest.Pass) },
		}
	}
}

func direct(begin, end func(*redistest.Server)) func(testing.TB, time.Duration) bed {
	return func(t testing.TB, _ time.Duration) bed {
		server := redistest.Start(t)
		return bed{
			client: func(configured bool) redis.UniversalClient { return server.Client(configure(server.Addr, configured)) },
			begin:  func() { begin(server) },
			end:    func() { end(server) },
		}
	}
}

// run sends commands over a connection of its own: some may kill it.
func run(t testing.TB, server *redistest.Server, lines string) {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: server.Addr, PoolSize: 1, DisableIdentity: true})
	defer c.Close()
	for line := range strings.SplitSeq(lines, ";") {
		var args []any
		for _, word := range strings.Fields(line) {
			args = append(args, strings.Trim(word, "'"))
		}
		if err := c.Do(context.Background(), args...).Err(); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func commands(begin, end string) func(testing.TB, time.Duration) bed {
	return func(t testing.TB, _ time.Duration) bed {
		server := redistest.Start(t)
		return bed{
			client: func(configured bool) redis.UniversalClient { return server.Client(configure(server.Addr, configured)) },
			begin:  func() { run(t, server, begin) },
			end:    func() { run(t, server, end) },
		}
	}
}

// minimal is the smallest set of rights in docs/redis.md.
const minimal = "acl setuser weir on >secret resetkeys ~weir:* resetchannels -@all +eval +evalsha +time +get +set +del +pttl +exists +llen " +
	"+pexpire +lindex +rpush +rpop +ltrim +lset"

// withUser starts a server with a user of minimal rights, who loses some of them.
func withUser(less string) func(testing.TB, time.Duration) bed {
	return func(t testing.TB, _ time.Duration) bed {
		server := redistest.Start(t)
		run(t, server, minimal)
		return bed{
			client: func(configured bool) redis.UniversalClient {
				return server.Client(configure(server.Addr, configured), func(o *redis.Options) { o.Username, o.Password = "weir", "secret" })
			},
			begin: func() { run(t, server, "acl setuser weir "+less) },
			end:   func() { run(t, server, minimal) },
		}
	}
}

// misconfigured starts a server that refuses writes because it can't save: a directory
// has the name of its snapshot.
func misconfigured(t testing.TB, _ time.Duration) bed {
	server := redistest.Start(t)
	c := server.Client()
	dir := c.ConfigGet(context.Background(), "dir").Val()["dir"]
	save := func(want string) {
		run(t, server, "bgsave")
		eventually(t, "saving is "+want, func() bool { return server.Info("persistence")["rdb_last_bgsave_status"] == want })
	}
	return bed{
		client: func(configured bool) redis.UniversalClient { return server.Client(configure(server.Addr, configured)) },
		begin: func() {
			if err := os.Mkdir(filepath.Join(dir, "dump.rdb"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := c.ConfigSet(context.Background(), "save", "3600 1").Err(); err != nil {
				t.Fatal(err)
			}
			save("err")
		},
		end: func() {
			if err := os.Remove(filepath.Join(dir, "dump.rdb")); err != nil {
				t.Fatal(err)
			}
			save("ok")
		},
	}
}

// loading starts a server that takes long to read its data after a restart.
func loading(t testing.TB, during time.Duration) bed {
	keys := int(during / time.Millisecond)
	server := redistest.Start(t, "--key-load-delay", "1000", "--loading-process-events-interval-bytes", "1024")
	c := server.Client()
	pipe := c.Pipeline()
	for i := range keys {
		pipe.Set(context.Background(), "ballast"+strconv.Itoa(i), strings.Repeat("x", 100), 0)
	}
	if _, err := pipe.Exec(context.Background()); err != nil {
		t.Fatal(err)
	}
	return bed{
		client: func(configured bool) redis.UniversalClient { return server.Client(configure(server.Addr, configured)) },
		begin: func() {
			if err := c.Save(context.Background()).Err(); err != nil {
				t.Fatal(err)
			}
			server.Restart()
		},
		end: func() {
			eventually(t, "loading ends", func() bool { return server.Info("persistence")["loading"] == "0" })
		},
	}
}
