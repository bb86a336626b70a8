package redisstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// onAnotherNode returns a key on another node than a given key's.
func onAnotherNode(t *testing.T, cluster *redistest.Cluster, s *Store, other string) string {
	t.Helper()
	first := rediskey.State(s.prefix, "level0", other)
	for i := range 100 {
		key := fmt.Sprint("all ", i)
		if cluster.Node(rediskey.State(s.prefix, "level1", key)) != cluster.Node(first) {
			return key
		}
	}
	t.Fatal("there is no other node")
	return ""
}

// TestMasterLostBetweenLevels: the units of the narrow level are given back when the wide
// one's master is away, or silent until the context ends.
func TestMasterLostBetweenLevels(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, "--cluster-require-full-coverage", "no")
	c := cluster.Client(func(o *redis.ClusterOptions) { ConfigureCluster(o); o.MaxRedirects = 1 })
	s := newStore(t, c)
	wide := onAnotherNode(t, cluster, s, "ann")
	req := nested(hours(9, 9), "ann", wide)
	take(t, s, req)
	narrow := store.Request{Charges: req.Charges[:1]}
	lost := cluster.Node(rediskey.State(s.prefix, "level1", wide))

	lost.Stop()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := s.Take(ctx, req); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil {
		t.Errorf("a master that says nothing: %v", err)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("the caller was held for %v", took)
	}
	if left := look(t, s, narrow); left[0] != 8 {
		t.Errorf("after the context's end %d remain of the narrow level, want 8", left[0])
	}
	lost.Cont()
	lost.Kill()
	if _, err := s.Take(context.Background(), req); err == nil || errors.Is(err, store.ErrUnsupported) {
		t.Errorf("a master that is away: %v", err)
	}
	if left := look(t, s, narrow); left[0] != 8 {
		t.Errorf("after the failure %d remain of the narrow level, want 8", left[0])
	}
}
