package redistest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Cluster is a Redis Cluster of three masters without replicas. While a master is away it
// refuses all keys, the default of Redis.
type Cluster struct {
	// Nodes are the masters, each with a third of the slots, in that order.
	Nodes []*Server
	// Addrs are their addresses, as host:port.
	Addrs []string

	tb testing.TB
}

const slots = 16384

// StartCluster starts a cluster and returns when every node serves its slots. This takes
// two to three seconds, as Redis makes a new master wait for two. The nodes are killed
// when tb ends. The arguments go to every node.
func StartCluster(tb testing.TB, args ...string) *Cluster {
	tb.Helper()
	const nodes = 3
	c := &Cluster{tb: tb}
	args = append([]string{
		"--save", "", "--appendonly", "no",
		"--cluster-enabled", "yes",
		"--cluster-config-file", "nodes.conf",
		"--cluster-node-timeout", "60000", // A busy machine is no reason to take a node for dead.
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
		// With equal epochs, nodes would first have to settle that.
		node.must("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
		for _, other := range c.Nodes[:i] {
			node.must("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(other.port.number))
		}
	}
	c.Await()
	return c
}

// Await returns when every node finds all slots served, for example after a restart.
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
				return fmt.Errorf("%s reports:\n%s", node.Addr, text)
			}
			return nil
		})
	}
}

// Node returns the node that serves a key. The first node must be alive.
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

// Client returns a client of the cluster with the defaults of go-redis, changed by opts.
// It is closed when the cluster's test ends, or earlier by the test.
func (c *Cluster) Client(opts ...func(*redis.ClusterOptions)) *redis.ClusterClient {
	o := &redis.ClusterOptions{Addrs: c.Addrs}
	for _, opt := range opts {
		opt(o)
	}
	client := redis.NewClusterClient(o)
	closeAfter(c.tb, client)
	return client
}

// Move is a slot on its way from one node of a cluster to another. Meanwhile the first
// node answers for keys that it still has. It redirects other keys to the second node,
// which takes redirected calls only.
type Move struct {
	cluster  *Cluster
	slot     string
	from, to *Server
}

// Move starts to move the slot of a key from one node to another. The cluster's clients
// find out by themselves.
func (c *Cluster) Move(key string, from, to *Server) *Move {
	c.tb.Helper()
	m := &Move{c, from.must("CLUSTER", "KEYSLOT", key), from, to}
	to.must("CLUSTER", "SETSLOT", m.slot, "IMPORTING", from.must("CLUSTER", "MYID"))
	from.must("CLUSTER", "SETSLOT", m.slot, "MIGRATING", to.must("CLUSTER", "MYID"))
	return m
}

// Key moves a key of the slot, if it exists.
func (m *Move) Key(key string) {
	m.cluster.tb.Helper()
	m.from.must("MIGRATE", "127.0.0.1", strconv.Itoa(m.to.port.number), key, "0", "5000")
}

// End moves the rest of the slot, and the slot itself.
func (m *Move) End() {
	m.cluster.tb.Helper()
	for {
		keys := m.from.must("CLUSTER", "GETKEYSINSLOT", m.slot, "100")
		if keys == "" {
			break
		}
		for key := range strings.SplitSeq(keys, "\n") {
			m.Key(key)
		}
	}
	id := m.to.must("CLUSTER", "MYID")
	m.to.must("CLUSTER", "SETSLOT", m.slot, "NODE", id)
	for _, node := range m.cluster.Nodes {
		node.must("CLUSTER", "SETSLOT", m.slot, "NODE", id)
	}
}
