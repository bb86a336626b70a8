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

// Sentinel is a sentinel that watches a master and a replica. Alone, it promotes the
// replica when the master has been away for 300 ms.
type Sentinel struct {
	// Addr is the sentinel's address, as host:port.
	Addr string
	// Name is the master's name in the sentinel.
	Name string
	// Master and Replica have these roles at the start. A failover changes the roles, not
	// the fields.
	Master, Replica *Server

	tb     testing.TB
	server *Server
}

// StartSentinel starts a master, a replica and a sentinel, and returns when the sentinel
// is ready to promote the replica. All are killed when tb ends. The arguments go to the
// master and the replica.
func StartSentinel(tb testing.TB, args ...string) *Sentinel {
	tb.Helper()
	s := &Sentinel{Name: "weir", tb: tb}
	// The replica gets its copy at once, not after the five seconds in which a master
	// waits for further replicas.
	args = append([]string{"--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0"}, args...)
	s.Master = Start(tb, args...)
	s.Replica = Start(tb, append(args, "--replicaof", "127.0.0.1", strconv.Itoa(s.Master.port.number))...)
	s.awaitReplica(s.Replica)

	// A sentinel keeps its knowledge in its configuration file.
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
			err = fmt.Errorf("its replicas:\n%s", replicas)
		}
		return err
	})
	return s
}

// Failover exchanges the roles of master and replica, and returns when each has its new
// one. Both must be alive. For a moment both are masters, and writes to the old one are
// lost.
func (s *Sentinel) Failover() {
	s.tb.Helper()
	from, to := s.Master, s.Replica
	if s.MasterAddr() == to.Addr {
		from, to = to, from
	}
	// On a busy machine the sentinel may find no good replica for a moment, or act itself.
	await(s.tb, "no failover begins", func() error {
		if s.MasterAddr() == to.Addr {
			return nil
		}
		_, err := s.server.do("SENTINEL", "FAILOVER", s.Name)
		return err
	})
	s.AwaitMaster(to)
	// The sentinel does the same, but about ten seconds later.
	from.must("REPLICAOF", "127.0.0.1", strconv.Itoa(to.port.number))
	from.must("CLIENT", "KILL", "TYPE", "normal")
	s.awaitReplica(from)
}

// AwaitMaster returns when server is the master, by its own word and by the sentinel's.
func (s *Sentinel) AwaitMaster(server *Server) {
	s.tb.Helper()
	await(s.tb, server.Addr+" does not become the master", func() error {
		if addr := s.MasterAddr(); addr != server.Addr {
			return fmt.Errorf("the sentinel names %s", addr)
		}
		return server.has("replication", "role", "master")
	})
}

// awaitReplica returns when server follows a master and has all its data.
func (s *Sentinel) awaitReplica(server *Server) {
	s.tb.Helper()
	await(s.tb, server.Addr+" does not become a replica", func() error {
		return server.has("replication", "master_link_status", "up")
	})
}

// MasterAddr returns the master's address by the sentinel.
func (s *Sentinel) MasterAddr() string {
	s.tb.Helper()
	host, port, _ := strings.Cut(s.server.must("SENTINEL", "GET-MASTER-ADDR-BY-NAME", s.Name), "\n")
	return host + ":" + port
}

// Client returns a client that follows the master, with the defaults of go-redis, changed
// by opts. It is closed when the sentinel's test ends, or earlier by the test.
func (s *Sentinel) Client(opts ...func(*redis.FailoverOptions)) *redis.Client {
	o := &redis.FailoverOptions{MasterName: s.Name, SentinelAddrs: []string{s.Addr}}
	for _, opt := range opts {
		opt(o)
	}
	c := redis.NewFailoverClient(o)
	closeAfter(s.tb, c)
	return c
}
