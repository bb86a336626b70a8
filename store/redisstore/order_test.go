package redisstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// nested returns a request for one unit of each key, narrowest first.
func nested(limits []store.Limit, keys ...string) store.Request {
	var req store.Request
	for i, key := range keys {
		req.Charges = append(req.Charges, store.Charge{Scope: fmt.Sprint("level", i), Key: key, Limit: limits[i], Cost: 1})
	}
	return req
}

func hours(rates ...int64) (limits []store.Limit) {
	for _, n := range rates {
		limits = append(limits, store.Per(n, time.Hour))
	}
	return limits
}

// look returns the remaining units of each charge's limit.
func look(t *testing.T, s *Store, req store.Request) (left []int64) {
	t.Helper()
	for _, c := range req.Charges {
		c.Cost = 0
		left = append(left, take(t, s, store.Request{Charges: []store.Charge{c}}).Remaining)
	}
	return left
}

func TestSlot(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	c := cluster.Client()
	s := newStore(t, c)
	for _, key := range []string{"", "a", "user 7", "ключ", "{}", "a}b{c", "org:acme", string(make([]byte, 300))} {
		state := rediskey.State(s.prefix, "scope", key)
		for _, k := range []string{state, rediskey.Log(state), rediskey.Held(state)} {
			if want := c.ClusterKeySlot(context.Background(), k).Val(); int64(slot(k)) != want {
				t.Errorf("%q is in slot %d, want %d", k, slot(k), want)
			}
		}
	}
}

// TestLevelsInOrder counts the calls for levels in several slots, and checks the remaining
// units.
func TestLevelsInOrder(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	single := redistest.Start(t)
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": redistest.Start(t).Addr, "b": redistest.Start(t).Addr}})
	defer ring.Close()
	for name, client := range map[string]redis.UniversalClient{"cluster": cluster.Client(), "ring": ring, "single": single.Client()} {
		s := newStore(t, client)
		commands := evals(client)
		for _, test := range []struct {
			refused int // the level that refuses; -1: none
			calls   int64
			left    string
		}{
			{-1, 3, "[8 8 8]"},
			{0, 1 + 2, "[0 9 9]"},
			{1, 2 + 1 + 2, "[9 0 9]"},
			{2, 3 + 2 + 2, "[9 9 0]"},
		} {
			limits := hours(9, 9, 9)
			req := nested(limits, fmt.Sprint("ann", test.refused), fmt.Sprint("acme", test.refused), fmt.Sprint("all", test.refused))
			if s.slotted.Load() && slot(s.stateOf(req, 0)) == slot(s.stateOf(req, 1)) {
				t.Fatal("the keys of this test share a slot: choose others")
			}
			if test.refused >= 0 {
				all := req
				all.Charges = append([]store.Charge(nil), req.Charges[test.refused])
				all.Charges[0].Cost = 9
				take(t, s, all)
			} else {
				take(t, s, req) // sends the script
			}
			before := commands.Load()
			d := take(t, s, req)
			calls := commands.Load() - before
			if name == "single" {
				test.calls = 1
			}
			if test.refused == -1 {
				test.left = "[7 7 7]"
			}
			if d.Allowed != (test.refused < 0) || calls != test.calls {
				t.Errorf("%s, refused by %d: %+v in %d calls, want %d", name, test.refused, d, calls, test.calls)
			}
			if test.refused >= 0 && d.Scope != fmt.Sprint("level", test.refused) {
				t.Errorf("%s, refused by %d: %q is named", name, test.refused, d.Scope)
			}
			left := fmt.Sprint(look(t, s, req))
			told := fmt.Sprint([]int64{d.Charge(0).Remaining, d.Charge(1).Remaining, d.Charge(2).Remaining})
			if left != test.left || told != left {
				t.Errorf("%s, refused by %d: %s remain, %s told, want %s", name, test.refused, left, told, test.left)
			}
		}
		// Keys in one slot take one call.
		req := nested(hours(9, 9), "same", "same")
		req.Charges[1].Limit, req.Charges[1].Scope = store.Per(9, 24*time.Hour), req.Charges[0].Scope
		before := commands.Load()
		if take(t, s, req); commands.Load()-before != 1 {
			t.Errorf("%s: %d calls for two limits of a key", name, commands.Load()-before)
		}
		// A slot of several keys, or a lease with them, requires one server.
		req = nested(hours(9, 9), "ann", "acme")
		req.MaxWait = time.Second
		if _, err := s.Take(context.Background(), req); (name == "single") != (err == nil) || err != nil && !errors.Is(err, ErrCrossSlot) {
			t.Errorf("%s: waiting for two keys: %v", name, err)
		}
	}
}

func (s *Store) stateOf(req store.Request, i int) string {
	return rediskey.State(s.prefix, req.Charges[i].Scope, req.Charges[i].Key)
}

// evals counts the commands of a client.
func evals(client redis.UniversalClient) *atomic.Int64 {
	var n atomic.Int64
	client.AddHook(counting{&n})
	return &n
}

type counting struct{ n *atomic.Int64 }

func (counting) DialHook(next redis.DialHook) redis.DialHook { return next }
func (c counting) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			c.n.Add(1)
		}
		return next(ctx, cmd)
	}
}
func (counting) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// TestClientThatLooksSingle: the first answer of a cluster behind one address reveals it.
func TestClientThatLooksSingle(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	s := newStore(t, struct{ redis.UniversalClient }{cluster.Client()})
	for range 3 {
		if d := take(t, s, nested(hours(9, 9), "a", "b")); !d.Allowed {
			t.Fatalf("%+v", d)
		}
	}
	if left := fmt.Sprint(look(t, s, nested(hours(9, 9), "a", "b"))); left != "[6 6]" || !s.slotted.Load() {
		t.Errorf("%s remain, want 6 and 6", left)
	}
}

// TestLevelsTogether: under concurrent calls, the used units of a wide level equal the
// admitted ones, and refused calls get their units back. A bucket may keep a few units if it
// had more bookings meanwhile than its credit tells apart.
func TestLevelsTogether(t *testing.T) {
	t.Parallel()
	clients := map[string]redis.UniversalClient{
		"single":  redistest.Start(t).Client(),
		"cluster": redistest.StartCluster(t).Client(),
	}
	for name, client := range clients {
		for a, user := range every(20, time.Hour) {
			t.Run(fmt.Sprint(name, " ", user.Algorithm), func(t *testing.T) {
				s := newStore(t, client)
				org, all := store.Per(45, time.Hour).By(user.Algorithm), store.Per(70, time.Hour).By(store.Algorithm((a+2)%5))
				limits := []store.Limit{user, org, all}
				var admitted [4]atomic.Int64 // by user
				var wg sync.WaitGroup
				for i := range 8 {
					wg.Go(func() {
						for j := range 25 {
							u := (i + j) % 4
							req := nested(limits, fmt.Sprint(a, "user", u), fmt.Sprint(a, "org", u/2), fmt.Sprint(a, "all"))
							req.Cancelable = j%5 == 0
							d, err := s.Take(context.Background(), req)
							if err != nil {
								t.Error(err)
								return
							}
							switch {
							case !d.Allowed:
							case req.Cancelable && j%2 == 0:
								if err := s.Cancel(context.Background(), d.Receipt); err != nil {
									t.Error(err)
								}
							default:
								admitted[u].Add(1)
							}
						}
					})
				}
				wg.Wait()
				fits := func(l store.Limit, admitted, left int64) bool {
					lost := l.Max() - admitted - left
					return lost == 0 || l.Algorithm == store.GCRA && lost > 0 && lost <= 8
				}
				sum := int64(0)
				for u := range admitted {
					n := admitted[u].Load()
					sum += n
					req := nested(limits, fmt.Sprint(a, "user", u), fmt.Sprint(a, "org", u/2), fmt.Sprint(a, "all"))
					left := look(t, s, req)
					if !fits(user, n, left[0]) {
						t.Errorf("user %d: %d admitted and %d remain of 20", u, n, left[0])
					}
					if pair := admitted[u/2*2].Load() + admitted[u/2*2+1].Load(); u%2 == 1 && !fits(org, pair, left[1]) {
						t.Errorf("organisation of user %d: %d admitted and %d remain of 45", u, pair, left[1])
					}
					if u == 3 && !fits(all, sum, left[2]) {
						t.Errorf("%d admitted and %d remain of 70", sum, left[2])
					}
				}
				t.Logf("%d of 200 admitted", sum)
			})
		}
	}
}

// TestLevelsGivenBackExactly: a refusal by a wide level leaves the narrow ones unchanged,
// byte for byte. So does cancelling. Settling corrects each.
func TestLevelsGivenBackExactly(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t).Client()
	s, _ := newStill(t, c, "")
	ctx := context.Background()
	for _, l := range every(5, time.Hour) {
		name := l.Algorithm.String()
		req := nested([]store.Limit{l, l, store.Per(2, time.Hour)}, "user "+name, "org "+name, "all "+name)
		req.Cancelable = true
		take(t, s, req)
		dumps := func() (all []string) {
			for i := range req.Charges {
				state := s.stateOf(req, i)
				all = append(all, c.Get(ctx, state).Val(), fmt.Sprint(c.LRange(ctx, rediskey.Log(state), 0, -1).Val()))
			}
			return all
		}
		before := dumps()
		d := take(t, s, req)
		if err := s.Cancel(ctx, d.Receipt); err != nil {
			t.Fatal(err)
		}
		if l.Algorithm != store.SlidingWindow && fmt.Sprint(dumps()) != fmt.Sprint(before) {
			t.Errorf("%s: cancelled:\n%q, before\n%q", name, dumps(), before)
		}
		take(t, s, req)
		full := look(t, s, req)
		if d := take(t, s, req); d.Allowed || d.Scope != "level2" {
			t.Fatalf("%s: %+v", name, d)
		}
		if after := look(t, s, req); fmt.Sprint(after) != fmt.Sprint(full) {
			t.Errorf("%s: refused: %v remain, before %v", name, after, full)
		}
	}
	req := nested(hours(9, 9, 9), "ann", "acme", "all")
	req.Cancelable = true
	d := take(t, s, req)
	if err := s.Settle(ctx, d.Receipt, 1, 2); !errors.Is(err, store.ErrConfig) {
		t.Errorf("two costs for three charges: %v", err)
	}
	if err := s.Settle(ctx, d.Receipt, 0, 3, 5); err != nil {
		t.Fatal(err)
	}
	if left := fmt.Sprint(look(t, s, req)); left != "[9 6 4]" {
		t.Errorf("settled at 0, 3 and 5: %s remain", left)
	}
}
