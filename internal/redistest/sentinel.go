package redistest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Sentinel is a sentinel that watches a master and a replica, and by itself is
// enough to promote the replica when the master has been away for 300 ms.
type Sentinel struct {
	// Addr is where the sentinel listens, as host:port.
	Addr string
	// Name is the master's name, which clients ask the sentinel for.
	Name string
	// Master and Replica are what they were at the start; after a failover
	// their roles have changed, the names here have not.
	Master, Replica *Server

	tb     testing.TB
	server *Server
}

// StartSentinel starts a master, a replica and a sentinel, and returns when the
// sentinel knows enough to promote the replica. All are killed when tb ends.
// The arguments go to the master and to the replica.
func StartSentinel(tb testing.TB, args ...string) *Sentinel {
	tb.Helper()
	s := &Sentinel{Name: "weir", tb: tb}
	// The replica is to have its copy at once, not after the five seconds that
	// a master waits for further replicas.
	args = append([]string{"--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0"}, args...)
	s.Master = Start(tb, args...)
	s.Replica = Start(tb, append(args, "--replicaof", "127.0.0.1", strconv.Itoa(s.Master.port.number))...)
	s.awaitReplica(s.Replica)

	// A sentinel keeps what it learns in its configuration file.
	config := filepath.Join(tb.TempDir(), "sentinel.conf")
	lines := []string{
		fmt.Sprintf("sentinel monitor %s 127.0.0.1 %d 1", s.Name, s.Master.port.number),
		fmt.Sprintf("sentinel down-after-milliseconds %s 300", s.Name),
		fmt.Sprintf("sentinel failover-timeout %s 2000", s.Name),
	}
	if err := os.WriteFile(config, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		tb.Fatal(err)
	}
	s.server = start(tb, false, config, "--sentinel")
	s.Addr = s.server.Addr
	await(tb, "the sentinel does not find the replica", func() error {
		replicas, err := s.server.do("SENTINEL", "REPLICAS", s.Name)
		if err == nil && !strings.Contains(replicas, "master-link-status\nok") {
			err = fmt.Errorf("it knows:\n%s", replicas)
		}
		return err
	})
	return s
}

// Failover has the sentinel exchange the roles of master and replica, both of
// which must be alive, and returns when each has its new one. For a moment in
// between both are masters, and what the old one takes then is lost.
func (s *Sentinel) Failover() {
	s.tb.Helper()
	from, to := s.Master, s.Replica
	if s.MasterAddr() == to.Addr {
		from, to = to, from
	}
	s.server.must("SENTINEL", "FAILOVER", s.Name)
	s.AwaitMaster(to)
	// The sentinel would do the same, but only some ten seconds later.
	from.must("REPLICAOF", "127.0.0.1", strconv.Itoa(to.port.number))
	from.must("CLIENT", "KILL", "TYPE", "normal")
	s.awaitReplica(from)
}

// AwaitMaster returns when server is the master, to itself and to the sentinel.
func (s *Sentinel) AwaitMaster(server *Server) {
	s.tb.Helper()
	await(s.tb, server.Addr+" does not become the master", func() error {
		if addr := s.MasterAddr(); addr != server.Addr {
			return fmt.Errorf("the sentinel names %s", addr)
		}
		return server.has("replication", "role", "master")
	})
}

// awaitReplica returns when server follows a master and has all of its data.
func (s *Sentinel) awaitReplica(server *Server) {
	s.tb.Helper()
	await(s.tb, server.Addr+" does not become a replica", func() error {
		return server.has("replication", "master_link_status", "up")
	})
}

// MasterAddr returns the address of the master, as the sentinel tells clients.
func (s *Sentinel) MasterAddr() string {
	s.tb.Helper()
	host, port, _ := strings.Cut(s.server.must("SENTINEL", "GET-MASTER-ADDR-BY-NAME", s.Name), "\n")
	return host + ":" + port
}

// Client returns a client that follows the master, with the defaults of
// go-redis except for what opts change. It is closed when the test that started
// the sentinel ends, and may be closed before.
func (s *Sentinel) Client(opts ...func(*redis.FailoverOptions)) *redis.Client {
	o := &redis.FailoverOptions{MasterName: s.Name, SentinelAddrs: []string{s.Addr}}
	for _, opt := range opts {
		opt(o)
	}
	c := redis.NewFailoverClient(o)
	closeAfter(s.tb, c)
	return c
}
