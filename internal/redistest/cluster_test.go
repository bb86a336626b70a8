package redistest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir/internal/long"
)

func TestCluster(t *testing.T) {
	t.Parallel()
	c := StartCluster(t)
	client := c.Client()
	ctx := t.Context()

	t.Run("serves keys of all slots", func(t *testing.T) {
		want := make(map[*Server]int)
		for i := range 100 {
			key := fmt.Sprintf("key-%d", i)
			mustSet(t, client, key, key)
			wantGet(t, client, key, key)
			want[c.Node(key)]++
		}
		for i, node := range c.Nodes {
			got := node.must("DBSIZE")
			if got == "0" || got != fmt.Sprint(want[node]) {
				t.Errorf("node %d has %s keys, want %d", i, got, want[node])
			}
		}
	})
	t.Run("keys of one hash tag are together", func(t *testing.T) {
		if err := client.MSet(ctx, "{tag}a", 1, "{tag}b", 2).Err(); err != nil {
			t.Error(err)
		}
	})
	t.Run("keys of several slots are not", func(t *testing.T) {
		err := client.Eval(ctx, "return 1", []string{"a", "b"}).Err()
		if err == nil || !strings.Contains(err.Error(), "slot") {
			t.Errorf("a script over two slots: %v, want an error", err)
		}
	})
	t.Run("a node redirects", func(t *testing.T) {
		key := "key-0"
		for i, node := range c.Nodes {
			err := node.Client().Get(ctx, key).Err()
			if moved := err != nil && strings.HasPrefix(err.Error(), "MOVED "); moved == (node == c.Node(key)) {
				t.Errorf("node %d: %v", i, err)
			}
		}
	})
	t.Run("options", func(t *testing.T) {
		one := c.Client(func(o *redis.ClusterOptions) { o.Addrs = c.Addrs[2:] })
		wantGet(t, one, "key-1", "key-1")
	})
}

func TestClusterMove(t *testing.T) {
	t.Parallel()
	c := StartCluster(t)
	client := c.Client()
	const tag = "{t}"
	for _, key := range []string{"a", "b"} {
		mustSet(t, client, tag+key, key)
	}
	from := c.Node(tag)
	to := c.Nodes[0]
	if from == to {
		to = c.Nodes[1]
	}
	m := c.Move(tag, from, to)
	m.Key(tag + "a")
	m.Key(tag + "not there")
	for key, sent := range map[string]bool{"a": true, "b": false} {
		if err := from.Client().Get(t.Context(), tag+key).Err(); (err != nil && strings.HasPrefix(err.Error(), "ASK ")) != sent {
			t.Errorf("%s on the way: %v", key, err)
		}
		wantGet(t, client, tag+key, key)
	}
	m.End()
	for _, key := range []string{"a", "b"} {
		if got, err := to.Client().Get(t.Context(), tag+key).Result(); got != key {
			t.Errorf("%s is not where it should be: %v", key, err)
		}
		wantGet(t, client, tag+key, key)
	}
}

func TestClusterNodeDies(t *testing.T) {
	long.Only(t)
	t.Parallel()
	c := StartCluster(t, "--cluster-node-timeout", "1000")
	const key = "k"
	client := c.Client()
	mustSet(t, client, key, "v")
	victim := c.Node(key)
	victim.Kill()
	for _, node := range c.Nodes {
		if node == victim {
			continue
		}
		await(t, "the cluster goes on without a master", func() error {
			if _, err := node.do("GET", key); err == nil || !strings.HasPrefix(err.Error(), "CLUSTERDOWN") {
				return fmt.Errorf("GET: %v", err)
			}
			return nil
		})
	}
	victim.Restart()
	c.Await()
	await(t, "the key's node does not come back", func() error {
		err := client.Set(t.Context(), key, "new", 0).Err()
		return err
	})
	wantGet(t, client, key, "new")
}
