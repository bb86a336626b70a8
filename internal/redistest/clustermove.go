package redistest

import (
	"strconv"
	"strings"
)

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
