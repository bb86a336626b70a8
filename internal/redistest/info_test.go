package redistest

import (
	"maps"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestInfo(t *testing.T) {
	t.Parallel()
	s := Start(t)
	if got := s.Info("replication")["role"]; got != "master" {
		t.Errorf("role = %q, want master", got)
	}
}

func TestCommandsDuring(t *testing.T) {
	t.Parallel()
	s := Start(t)
	ctx := t.Context()
	c := s.Client()
	script := redis.NewScript("return redis.call('INCR', KEYS[1])")
	if err := script.Load(ctx, c).Err(); err != nil {
		t.Fatal(err)
	}

	if _, err := c.Pipelined(ctx, func(p redis.Pipeliner) error { return p.Ping(ctx).Err() }); err != nil {
		t.Fatal(err)
	}

	cases := []struct {
		name string
		f    func()
		want map[string]int
	}{
		{"nothing", func() {}, map[string]int{}},
		{"plain commands", func() {
			c.Set(ctx, "k", "v", 0)
			c.Get(ctx, "k")
			c.Get(ctx, "k")
		}, map[string]int{"set": 1, "get": 2}},
		{"a pipeline", func() {
			pipe := c.Pipeline()
			pipe.Get(ctx, "k")
			pipe.Del(ctx, "k")
			pipe.Exec(ctx)
		}, map[string]int{"get": 1, "del": 1}},
		{"a script and what it calls", func() {
			script.EvalSha(ctx, c, []string{"n"})
		}, map[string]int{"evalsha": 1, "incr": 1}},
		{"its own questions", func() {
			s.Info("stats")
			s.Commands()
		}, map[string]int{"info": 2}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			if got := s.CommandsDuring(tc.f); !maps.Equal(got, tc.want) {
				t.Errorf("served %v, want %v", got, tc.want)
			}
		})
	}
}

func TestCommandsAfterARestart(t *testing.T) {
	t.Parallel()
	s := Start(t)
	mustSet(t, s.Client(), "k", "v")
	if n := s.Commands()["set"]; n != 1 {
		t.Errorf("%d calls of SET, want 1", n)
	}
	s.Restart()
	if n, ok := s.Commands()["set"]; ok {
		t.Errorf("%d calls of SET after a restart, want none", n)
	}
}
