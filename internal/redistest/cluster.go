package redistest

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Cluster is a Redis Cluster of three masters without replicas. It refuses all
// keys while one of them is away, as clusters do unless told otherwise.
type Cluster struct {
	// Nodes are the masters, each with a third of the slots, in that order.
	Nodes []*Server
	// Addrs are their addresses, as host:port.
	Addrs []string

	tb testing.TB
}

const slots = 16384

// StartCluster starts a cluster and returns when every node serves its slots,
// which takes two to three seconds: Redis makes a new master wait for two. The
// nodes are killed when tb ends. The arguments go to every node.
func StartCluster(tb testing.TB, args ...string) *Cluster {
	tb.Helper()
	const nodes = 3
	c := &Cluster{tb: tb}
	args = append([]string{
		"--save", "", "--appendonly", "no",
		"--cluster-enabled", "yes",
		"--cluster-config-file", "nodes.conf",
		"--cluster-node-timeout", "1000",
	}, args...)
	for range nodes {
		node := start(tb, true, args...)
		c.Nodes = append(c.Nodes, node)
		c.Addrs = append(c.Addrs, node.Addr)
	}
	for i, node := range c.Nodes {
		addSlots := []string{"CLUSTER", "ADDSLOTS"}
		for slot := slots * i / nodes; slot < slots*(i+1)/nodes; slot++ {
			addSlots = append(addSlots, strconv.Itoa(slot))
		}
		node.must(addSlots...)
		// Nodes that start with the same epoch would have to settle that first.
		node.must("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
		for _, other := range c.Nodes[:i] {
			node.must("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(other.port.number))
		}
	}
	c.Await()
	return c
}

// Await returns when every node finds that all slots are served, as after a
// node was killed and restarted.
func (c *Cluster) Await() {
	c.tb.Helper()
	for _, node := range c.Nodes {
		await(c.tb, "the cluster does not come up", func() error {
			text, err := node.do("CLUSTER", "INFO")
			if err != nil {
				return err
			}
			info := fields(text)
			if info["cluster_state"] != "ok" || info["cluster_slots_ok"] != strconv.Itoa(slots) {
				return fmt.Errorf("%s says:\n%s", node.Addr, text)
			}
			return nil
		})
	}
}

// Node returns the node that the key belongs to. The first node must be alive.
func (c *Cluster) Node(key string) *Server {
	c.tb.Helper()
	text := c.Nodes[0].must("CLUSTER", "KEYSLOT", key)
	slot, err := strconv.Atoi(text)
	if err != nil {
		c.tb.Fatalf("redistest: CLUSTER KEYSLOT: %v", err)
	}
	i := 0
	for slot >= slots*(i+1)/len(c.Nodes) {
		i++
	}
	return c.Nodes[i]
}

// Client returns a client of the cluster with the defaults of go-redis, except
// for what opts change. It is closed when the test that started the cluster
// ends, and may be closed before.
func (c *Cluster) Client(opts ...func(*redis.ClusterOptions)) *redis.ClusterClient {
	o := &redis.ClusterOptions{Addrs: c.Addrs}
	for _, opt := range opts {
		opt(o)
	}
	client := redis.NewClusterClient(o)
	closeAfter(c.tb, client)
	return client
}
