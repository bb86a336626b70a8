package redisstore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// aclOf returns what docs/redis.md has a user with scripts be set to: the line
// for decisions, that for brakes and that for calls in flight.
func aclOf(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, match := range regexp.MustCompile(`(?m)^ACL SETUSER weir (.*)$`).FindAllStringSubmatch(string(page), -1) {
		if !strings.Contains(match[1], "+multi") { // That is for WithoutScripts.
			lines = append(lines, match[1])
		}
	}
	if len(lines) != 3 {
		t.Fatalf("docs/redis.md has %d lines for a user with scripts, want 3", len(lines))
	}
	return lines
}

// withACL returns a store whose client is a user with these rules.
func withACL(t *testing.T, rules string) (*Store, *redis.Client) {
	t.Helper()
	server := redistest.Start(t)
	admin := server.Client()
	args := []any{"ACL", "SETUSER", "weir"}
	for _, rule := range strings.Fields(rules) {
		args = append(args, rule)
	}
	if err := admin.Do(t.Context(), args...).Err(); err != nil {
		t.Fatal(err)
	}
	return newStore(t, server.Client(func(o *redis.Options) { o.Username, o.Password = "weir", "password" })), admin
}

// TestCallsThatCannotBeWritten: a user who may not write logs, or not let them expire,
// is told of it, and what can't be logged is not charged to the limits beside it.
func TestCallsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, denied := range []string{"rpush", "pexpire"} {
		t.Run(denied, func(t *testing.T) {
			t.Parallel()
			s, admin := withACL(t, aclOf(t)[0]+" -"+denied)
			req := charge("key", 1, store.Per(5, time.Hour), store.Per(5, time.Hour).By(store.SlidingWindow))
			other := charge("other", 1, req.Charges[0].Limit, req.Charges[1].Limit)
			_, alone := s.Take(t.Context(), req)
			_, errs := onBoard(s, []store.Request{req, other})
			for i, err := range append(errs, alone) {
				if err == nil {
					t.Errorf("call %d: no error", i)
				}
			}
			if state, log := s.keys("", "key"); denied == "rpush" && admin.Exists(t.Context(), state, log).Val() != 0 {
				t.Errorf("it was charged: %q", admin.Get(t.Context(), state).Val())
			}
		})
	}
}

// TestFlightWhereTextsAreForbidden: a server that may not be sent the script, and
// does not know it, is not asked again and again for each call of a flight.
func TestFlightWhereTextsAreForbidden(t *testing.T) {
	t.Parallel()
	s, admin := withACL(t, aclOf(t)[0]+" -eval")
	const calls = 200
	before := asked(t, admin)
	var reqs []store.Request
	for i := range calls {
		reqs = append(reqs, charge(fmt.Sprint("key", i), 1, store.Per(1, time.Hour)))
	}
	_, errs := onBoard(s, reqs)
	for i, err := range errs {
		if !redis.HasErrorPrefix(err, "NOPERM") {
			t.Fatalf("call %d: %v, want the server's refusal", i, err)
		}
	}
	if n := asked(t, admin) - before; n > 12*calls {
		t.Errorf("%d commands for %d calls", n, calls)
	}
}

// asked is how many script calls the server has been sent so far.
func asked(t *testing.T, admin *redis.Client) (n int) {
	t.Helper()
	text, err := admin.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`cmdstat_eval(?:sha)?:calls=(\d+),.*rejected_calls=(\d+)`).FindAllStringSubmatch(text, -1) {
		for _, digits := range m[1:] {
			i, _ := strconv.Atoi(digits)
			n += i
		}
	}
	return n
}

// decides does all that needs no brake and no lease.
func decides(ctx context.Context, s *Store, admin *redis.Client) error {
	var errs []error
	take := func(req store.Request) (receipt any) {
		req.MaxWait, req.Cancelable = time.Hour, true
		d, err := s.Take(ctx, req)
		errs = append(errs, err)
		return d.Receipt
	}
	for name, limit := range map[string]store.Limit{"bucket": store.Per(3, time.Minute), "window": store.Per(3, time.Second).By(store.SlidingWindow)} {
		first := take(charge(name, 1, limit))
		take(charge(name, 1, limit))
		errs = append(errs, s.Settle(ctx, first, 2), s.Cancel(ctx, take(charge(name, 1, limit))))
		// Refused: nothing is written, unless there is something to repair.
		_, err := s.Take(ctx, charge(name, 3, limit))
		errs = append(errs, err)
		_, err = s.Take(ctx, charge(name, 0, limit))
		errs = append(errs, err)
		errs = append(errs, s.Reset(ctx, "", name))
	}
	// A common state that is gone on with as another one.
	_, err := s.Take(ctx, charge("common", 1, store.Per(3, time.Minute)))
	errs = append(errs, err)
	take(charge("common", 1, store.Per(3, time.Minute)))
	// A window of which everything has expired, so that its log is cut.
	short := store.Per(2, time.Millisecond).By(store.SlidingWindow)
	long := store.Per(100, time.Hour)
	for range 3 {
		take(charge("short", 1, short, long))
		time.Sleep(2 * time.Millisecond)
	}
	// Settled to nothing while others were charged since, an entry goes.
	limit := store.Per(5, time.Hour).By(store.SlidingWindow)
	first := take(charge("settled", 1, limit))
	take(charge("settled", 1, limit))
	errs = append(errs, s.Settle(ctx, first, 0))
	return errors.Join(errs...)
}

// brakes pauses a key on which slots are booked ahead.
func brakes(ctx context.Context, s *Store, _ *redis.Client) error {
	limit := store.Per(1, time.Second).By(store.SlidingWindow)
	var errs []error
	for range 3 {
		req := charge("braked", 1, limit)
		req.MaxWait = time.Hour
		_, err := s.Take(ctx, req)
		errs = append(errs, err)
	}
	charges := charge("braked", 0, limit).Charges
	errs = append(errs, s.Brake(ctx, charges, store.Brake{Pause: time.Minute}))
	return errors.Join(append(errs, s.Brake(ctx, charges, store.Brake{Lift: true}))...)
}

// watched reports an error unless a brake reaches a watch that has been silent
// for longer than a subscription may be without being asked.
func watched(ctx context.Context, s *Store, admin *redis.Client) error {
	told := make(chan struct{}, 10)
	w := s.WatchBrakes(func(string, string, store.Instant) { told <- struct{}{} })
	defer w.Stop()
	time.Sleep(watchPing + watchPing/4)
	if !w.Covers(time.Now()) {
		return errors.New("there is no subscription, or none any more")
	}
	if err := brakes(ctx, s, admin); err != nil {
		return err
	}
	select {
	case <-told:
		return nil
	case <-time.After(time.Second):
		return errors.New("nothing was published")
	}
}

// holds takes, renews and releases leases.
func holds(ctx context.Context, s *Store, admin *redis.Client) error {
	var errs []error
	take := func(id string) {
		_, err := s.Take(ctx, holding("held", id, 2, 1, store.Per(100, time.Hour)))
		errs = append(errs, err)
	}
	take("a")
	take("b")
	take("refused")
	_, err := s.Renew(ctx, "", "held", time.Minute, "a", "gone")
	errs = append(errs, err, s.Release(ctx, "", "held", "a"))
	// One that ends too late to be true, as when the server's clock stepped back.
	far := float64(time.Now().Add(2 * store.MaxLease).UnixMicro())
	errs = append(errs, admin.ZAdd(ctx, s.heldKey("", "held"), redis.Z{Score: far, Member: "far"}).Err())
	take("c")
	return errors.Join(errs...)
}

// TestLeastACL: what docs/redis.md has a user be allowed is enough, and without
// any one command of it something fails, but for those that it says make it
// faster.
func TestLeastACL(t *testing.T) {
	t.Parallel()
	lines := aclOf(t)
	for i, do := range []func(context.Context, *Store, *redis.Client) error{decides, watched, holds} {
		rules := lines[0]
		if i > 0 {
			rules += " " + lines[i]
		}
		t.Run(fmt.Sprintf("line %d is enough", i+1), func(t *testing.T) {
			t.Parallel()
			s, admin := withACL(t, rules)
			if err := do(t.Context(), s, admin); err != nil {
				t.Error(err)
			}
		})
		for _, word := range strings.Fields(lines[i]) {
			command, ok := strings.CutPrefix(word, "+")
			if !ok {
				continue
			}
			t.Run("without "+command, func(t *testing.T) {
				t.Parallel()
				s, admin := withACL(t, rules+" -"+command)
				slower := command == "hget" || command == "hincrby"
				err := do(t.Context(), s, admin)
				if (err == nil) != slower {
					t.Errorf("%v, want it to fail: %v", err, !slower)
				}
				if errors.Is(err, ErrState) && command == "get" {
					t.Errorf("%v: that is said to be the key's fault", err)
				}
			})
		}
	}
}

// TestBrakesWithoutPublishing: with no channel at all a key is paused all the
// same.
func TestBrakesWithoutPublishing(t *testing.T) {
	t.Parallel()
	s, admin := withACL(t, aclOf(t)[0]+" +rpop")
	if err := brakes(t.Context(), s, admin); err != nil {
		t.Error(err)
	}
}

// TestOutagesNameTheSameUser: the page on outages repeats the first line.
func TestOutagesNameTheSameUser(t *testing.T) {
	page, err := os.ReadFile("../../docs/outages.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "ACL SETUSER weir "+aclOf(t)[0]+"\n") {
		t.Error("docs/outages.md has another user than docs/redis.md")
	}
}
