package redisstore

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// TestColdServerGetsEachTextOnce: however many calls find that a server has forgotten the
// scripts, one brings the text.
func TestColdServerGetsEachTextOnce(t *testing.T) {
	t.Parallel()
	const callers = 300
	single, cluster := redistest.Start(t), redistest.StartCluster(t)
	for name, c := range map[string]struct {
		store   *Store
		servers []*redistest.Server
	}{
		"one server": {newStore(t, single.Client()), []*redistest.Server{single}},
		"a cluster":  {newStore(t, cluster.Client()), cluster.Nodes},
	} {
		for kind, prepare := range map[string]func(*store.Request){
			"now":     func(*store.Request) {},
			"waiting": func(req *store.Request) { req.MaxWait = time.Hour },
			"restoring": func(req *store.Request) {
				of := req.Charges[0]
				req.Restore = []store.Memory{{Scope: of.Scope, Key: of.Key, Limits: []store.Limit{of.Limit}, ID: "id", At: 1, Known: []store.Used{{}}}}
			},
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				texts := func() (n int) {
					for _, server := range c.servers {
						n += server.Commands()["eval"]
					}
					return n
				}
				for _, server := range c.servers {
					if err := server.Client().ScriptFlush(t.Context()).Err(); err != nil {
						t.Fatal(err)
					}
				}
				before := texts()
				var all sync.WaitGroup
				for i := range callers {
					all.Go(func() {
						req := charge(fmt.Sprint(kind, i), 1, store.Per(1, time.Hour)) // Waiting calls use one script, as none leaves room for another.
						prepare(&req)
						if d, err := c.store.Take(t.Context(), req); err != nil || !d.Allowed || d.Remaining != 0 {
							t.Errorf("%+v, %v", d, err)
						}
					})
				}
				all.Wait()
				if n := texts() - before; n != len(c.servers) {
					t.Errorf("%d texts, want %d", n, len(c.servers))
				}
			})
		}
	}
}
