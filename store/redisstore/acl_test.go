package redisstore

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// aclLines returns the rules of docs/redis.md for a user with scripts: for decisions,
// sliding windows, the channel and calls in flight.
func aclLines(t *testing.T) (lines [4]string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^ACL SETUSER weir (.*)$`).FindAllStringSubmatch(string(page), -1)
	if len(found) != 5 || !strings.Contains(found[4][1], "+multi") {
		t.Fatalf("docs/redis.md has %d lines, want 4 for scripts and 1 for plainstore", len(found))
	}
	for i := range lines {
		lines[i] = found[i][1]
	}
	return lines
}

// TestLeastACL: a user with these permissions can do everything, and needs each of them.
// Nothing fails without the channel.
func TestLeastACL(t *testing.T) {
	t.Parallel()
	lines := aclLines(t)
	for name, test := range map[string]struct {
		lines []int // of the user; the test leaves out each command of the last line in turn
		do    func(ctx context.Context, s *Store) error
		fails bool
	}{
		"decisions":       {[]int{0}, func(ctx context.Context, s *Store) error { return useLimits(ctx, s, store.GCRA) }, true},
		"brakes":          {[]int{0}, braked(store.GCRA), true},
		"sliding windows": {[]int{0, 1}, braked(store.SlidingWindow), true},
		"channel":         {[]int{0, 2}, braked(store.GCRA), false},
		"in flight":       {[]int{0, 3}, hold, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			admin := server.Client()
			channelless := strings.HasPrefix(server.Info("server")["redis_version"], "6.0.")
			all := ""
			for _, i := range test.lines {
				all += " " + lines[i]
			}
			last := strings.Fields(lines[test.lines[len(test.lines)-1]])
			left := append([]string{""}, last...)
			for _, word := range left {
				command, ok := strings.CutPrefix(word, "+")
				if !ok && word != "" {
					continue
				}
				rules := strings.Fields(all)
				if ok {
					rules = append(rules, "-"+command)
				}
				user := "weir-" + command
				args := []any{"ACL", "SETUSER", user}
				for _, rule := range rules {
					if channelless && (rule == "resetchannels" || rule[0] == '&') {
						continue
					}
					args = append(args, rule)
				}
				if err := errors.Join(admin.FlushAll(t.Context()).Err(), admin.ScriptFlush(t.Context()).Err(), admin.Do(t.Context(), args...).Err()); err != nil {
					t.Fatal(err)
				}
				s := newStore(t, server.Client(func(o *redis.Options) { o.Username, o.Password = user, "password" }))
				err := test.do(t.Context(), s)
				if want := ok && test.fails; (err != nil) != want {
					t.Errorf("without %q: %v, want an error: %v", command, err, want)
				}
			}
		})
	}
}

// useLimits runs every operation that needs neither a brake nor a lease.
func useLimits(ctx context.Context, s *Store, a store.Algorithm) error {
	var errs []error
	take := func(key string, cost int64, limits ...store.Limit) any {
		req := store.Request{MaxWait: time.Hour, Cancelable: true}
		for _, l := range limits {
			req.Charges = append(req.Charges, store.Charge{Key: key, Limit: l.By(a), Cost: cost})
		}
		d, err := s.Take(ctx, req)
		errs = append(errs, err)
		return d.Receipt
	}
	limit := store.Per(3, time.Minute)
	first := take("key", 2, limit)
	second := take("key", 1, limit)
	last := take("key", 1, limit)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	errs = append(errs, s.Settle(ctx, first, 1), s.Cancel(ctx, second), s.Cancel(ctx, last))
	// The script cuts a log whose entries have all expired.
	for range 200 {
		take("short", 1, store.Per(200, time.Millisecond), store.Per(100_000, time.Hour))
	}
	for range 200 {
		take("brief", 1, store.Per(1000, 5*time.Millisecond))
	}
	time.Sleep(2 * time.Millisecond)
	take("short", 1, store.Per(200, time.Millisecond))
	errs = append(errs, report(ctx, s, limit.By(a)))
	return errors.Join(append(errs, s.Reset(ctx, "", "key"))...)
}

// report tells the store of a loss, and of units admitted without it.
func report(ctx context.Context, s *Store, l store.Limit) error {
	req := store.Request{Charges: []store.Charge{{Key: "lost", Limit: l, Cost: 2}}, Seen: make([]store.Seen, 1)}
	_, err := s.Take(ctx, req)
	used := []store.Used{req.Seen[0].Used}
	lost, restored := s.Restore(ctx, store.Memory{Key: "lost", Limits: []store.Limit{l}, At: 1, Known: used, Spent: used, ID: "one"})
	if restored == nil && !lost {
		restored = errors.New("no loss is found")
	}
	return errors.Join(err, restored)
}

// braked is useLimits with a brake.
func braked(a store.Algorithm) func(ctx context.Context, s *Store) error {
	return func(ctx context.Context, s *Store) error {
		if err := useLimits(ctx, s, a); err != nil {
			return err
		}
		charges := []store.Charge{{Key: "braked", Limit: store.Per(3, time.Minute).By(a)}}
		watch := s.WatchBrakes(func(string, string, store.Clock) {})
		defer watch.Stop()
		for _, b := range []store.Brake{{Pause: time.Minute}, {Lift: true}} {
			if err := s.Brake(ctx, charges, b); err != nil {
				return err
			}
		}
		return nil
	}
}

// hold takes, renews and releases a lease. One lease ends in a day, as after a step back of
// the server's clock.
func hold(ctx context.Context, s *Store) error {
	held := rediskey.Held(rediskey.State(s.prefix, "", "key"))
	if err := s.client.Do(ctx, "zadd", held, time.Now().Add(24*time.Hour).UnixMicro(), "far").Err(); err != nil {
		return err
	}
	for _, id := range []string{"one", "two", "three"} {
		req := store.Request{
			Charges: []store.Charge{{Key: "key", Limit: store.Per(100, time.Minute), Cost: 1}},
			Hold:    store.Hold{Max: 2, ID: id, Lease: time.Minute},
		}
		if _, err := s.Take(ctx, req); err != nil {
			return err
		}
	}
	_, err := s.Renew(ctx, "", "key", time.Minute, "one", "unknown")
	return errors.Join(err, s.Release(ctx, "", "key", "one"))
}
