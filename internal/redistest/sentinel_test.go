package redistest

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestSentinel(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name string
		fail func(*Sentinel)
	}{
		{"by command", (*Sentinel).Failover},
		{"when the master is killed", func(s *Sentinel) {
			s.Master.Kill()
			s.AwaitMaster(s.Replica)
		}},
		{"when the master is stopped", func(s *Sentinel) {
			s.Master.Stop()
			s.AwaitMaster(s.Replica)
		}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := StartSentinel(t)
			if got := s.MasterAddr(); got != s.Master.Addr {
				t.Fatalf("MasterAddr = %s, want %s", got, s.Master.Addr)
			}
			c := s.Client(func(o *redis.FailoverOptions) { o.ReadTimeout = time.Second })
			mustSet(t, c, "k", "before")
			// The replica has all the master's data, except for data on its way.
			if err := c.Wait(t.Context(), 1, 0).Err(); err != nil {
				t.Fatal(err)
			}
			tc.fail(s)
			if got := s.MasterAddr(); got != s.Replica.Addr {
				t.Errorf("MasterAddr = %s after the failover, want %s", got, s.Replica.Addr)
			}
			await(t, "the client does not follow the master", func() error {
				return c.Set(t.Context(), "k", "after", 0).Err()
			})
			wantGet(t, s.Replica.Client(), "k", "after")
		})
	}
}
