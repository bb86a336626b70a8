package dashboard

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store/redisstore"
	"github.com/redis/go-redis/v9"
)

func TestPageShowsAFleet(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Config{ShowKeys: true})
	got := f.state(t)
	if r := got.Redis; r == nil || r.Error != "" || r.Keys != 0 || r.Latency <= 0 || got.Process != nil || got.Keys != "plain" {
		t.Errorf("an empty Redis: %s", encode(got))
	}
	book(t, f.limiter, "queue", 35)
	got = f.await(t, "the queue", func(got *frame) bool { return got.Redis.WaitingKeys == 1 })
	if row := got.Waiting[0]; row.Limiter != "api" || row.Key != "queue" || row.Calls < 24 || row.Calls > 25 || row.Last < 130_000 || row.Last > 150_000 || row.First > 6000 || row.Here != 0 {
		t.Errorf("%+v", row)
	}
	if got.Redis.WaitingCalls != got.Waiting[0].Calls {
		t.Errorf("%+v", got.Redis)
	}
	if row := got.Busy[0]; row.Key != "queue" || len(row.Limits) != 1 || row.Limits[0].Limit != "10/1m gcra" || row.Limits[0].Max != 10 || row.Limits[0].Used != 10 || row.Limits[0].Remaining != 0 {
		t.Errorf("%+v", row)
	}
	must(t, f.client.Set(t.Context(), "weir:{api:planted}", "hello", time.Minute).Err())
	f.await(t, "the planted value", func(got *frame) bool { return got.Redis.Unreadable == 1 && got.Redis.Keys == 2 })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestBothHalvesOfAWait makes calls wait in this process, and in another one.
func TestBothHalvesOfAWait(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Config{})
	book(t, f.limiter, "queue", 30)
	here := newLimiter(t, f.client, "api", perMinute, f.dash.Observe)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	for range 3 {
		go func() { done <- here.Wait(ctx, "queue") }()
	}
	got := f.await(t, "the calls of this process", func(got *frame) bool { return len(got.Waiting) == 1 && got.Waiting[0].Here == 3 })
	if row := got.Waiting[0]; row.Calls < 10 || got.Process.Waiting != 3 {
		t.Errorf("%+v", row)
	}
	cancel()
	for range 3 {
		<-done
	}
	f.await(t, "their end", func(got *frame) bool { return got.Process.Waiting == 0 })
}

func TestReasonOfAPause(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Config{})
	here := newLimiter(t, f.client, "api", perMinute, f.dash.Observe)
	must(t, here.Pause(t.Context(), "mine", time.Hour))
	must(t, f.limiter.Pause(t.Context(), "theirs", time.Minute))
	got := f.await(t, "two pauses", func(got *frame) bool { return got.Redis.PausedKeys == 2 })
	if got.Slowed[0].Reason != "by hand" || got.Slowed[1].Reason != "" {
		t.Errorf("%+v", got.Slowed)
	}
}

// TestOutage stops Redis, takes it away, and brings it back.
func TestOutage(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Config{Interval: minInterval})
	book(t, f.limiter, "queue", 100)
	stream, _ := f.dash.hub.join()
	defer f.dash.hub.leave(stream)
	f.await(t, "the queue", func(got *frame) bool { return got.Redis.WaitingKeys == 1 })
	f.server.Stop()
	got := f.await(t, "the silence", func(got *frame) bool { return got.Redis.Error != "" })
	if got.Redis.WaitingKeys != 1 || got.Redis.AwayFor < 100 {
		t.Errorf("the state before has gone: %+v", got.Redis)
	}
	f.await(t, "that the queue goes on", func(later *frame) bool { return later.Waiting[0].Last < got.Waiting[0].Last })
	f.server.Cont()
	f.await(t, "the end of the silence", func(got *frame) bool { return got.Redis.Error == "" })
	f.server.Kill()
	f.await(t, "the outage", func(got *frame) bool { return strings.Contains(got.Redis.Error, "refused") })
	f.server.Restart()
	f.await(t, "the return", func(got *frame) bool { return got.Redis.Error == "" && got.Redis.Keys == 0 })
}

// TestOneServerAway: without one of its servers, a cluster shows the keys of the others.
func TestOneServerAway(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, "--cluster-require-full-coverage", "no")
	client := cluster.Client(redisstore.ConfigureCluster)
	s, err := redisstore.New(redisstore.Config{Client: client})
	must(t, err)
	api, err := weir.New(weir.Config{Name: "api", Store: s, Limits: []weir.Limit{perMinute}})
	must(t, err)
	for _, key := range ids(12) {
		book(t, api, key, 5)
	}
	f := &fleet{dash: newDashboard(t, Config{Client: client, ShowKeys: true, Interval: minInterval})}
	f.await(t, "all keys", func(got *frame) bool { return got.Redis.Keys == 12 && got.Redis.Missing == "" })
	gone := cluster.Node("weir:{api:user:9}")
	var lost []string
	for _, key := range ids(12) {
		if cluster.Node("weir:{api:"+key+"}") == gone {
			lost = append(lost, key)
		}
	}
	gone.Kill()
	text := "keys of " + gone.Addr + " are missing: dial tcp"
	f.await(t, "the missing server", func(got *frame) bool { return strings.HasPrefix(got.Redis.Missing, text) })
	other := ids(12)[slices.IndexFunc(ids(12), func(key string) bool { return !slices.Contains(lost, key) })]
	book(t, api, other, 1)
	got := f.await(t, "a call of another server", func(got *frame) bool {
		return len(got.Busy) > 0 && got.Busy[0].Key == other && got.Busy[0].Limits[0].Used == 6
	})
	if got.Redis.Error != "" || got.Redis.Keys != 12-len(lost) || len(got.Busy) != 12-len(lost) || got.Redis.Latency <= 0 {
		t.Errorf("without %q: %s", lost, encode(got))
	}
	for range 10 { // The first reading may ask any server for a round trip.
		first := newDashboard(t, Config{Client: cluster.Client(redisstore.ConfigureCluster), Interval: time.Minute})
		if got := stateOf(t, first); got.Redis.Error != "" || got.Redis.Keys != 12-len(lost) || !strings.HasPrefix(got.Redis.Missing, text) {
			t.Errorf("the first reading: %s", encode(got))
		}
	}
	gone.Restart()
	f.await(t, "its return", func(got *frame) bool { return got.Redis.Error == "" && got.Redis.Missing == "" })
	cluster.Await()
	page, _ := f.dash.hub.join()
	defer f.dash.hub.leave(page)
	gone.Stop()
	defer gone.Cont()
	text = "keys of " + gone.Addr + " are missing: "
	f.await(t, "the silent server", func(got *frame) bool { return strings.HasPrefix(got.Redis.Missing, text) })
	for range 100 {
		if got := f.state(t); got.Redis.Error != "" || !strings.HasPrefix(got.Redis.Missing, text) {
			t.Fatalf("the page no longer says that one server is silent: %s", encode(got))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestAPatientClient has a client with long timeouts over a silent server.
func TestAPatientClient(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := newDashboard(t, Config{Client: server.Client(func(o *redis.Options) { o.ReadTimeout = 3 * time.Second })})
	f := &fleet{server: server, dash: d}
	f.state(t)
	server.Stop()
	defer server.Cont()
	began := time.Now()
	got := f.await(t, "the silence", func(got *frame) bool { return got.Redis.Error != "" })
	if got.Redis.Error != errSilent.Error() || time.Since(began) > 2500*time.Millisecond {
		t.Errorf("after %v: %+v", time.Since(began), got.Redis)
	}
}

func TestRows(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Config{})
	slow := newLimiter(t, f.client, "slow", weir.PerHour(10), nil)
	for i, key := range ids(2 * maxRows) {
		book(t, slow, key, 1+i%10)
	}
	got := f.await(t, "all keys", func(got *frame) bool { return got.Redis.Keys == 2*maxRows })
	if len(got.Busy) != maxRows || got.Busy[0].Limits[0].Used != 10 || got.Busy[maxRows-1].Limits[0].Used < 5 {
		t.Errorf("%d rows", len(got.Busy))
	}
	few := newDashboard(t, Config{Client: f.client, MaxKeys: 10})
	if r := stateOf(t, few).Redis; r.Keys != 10 || !r.More {
		t.Errorf("with MaxKeys: %+v", r)
	}
}

// TestLeastACL reads with the commands in docs/dashboard.md alone.
func TestLeastACL(t *testing.T) {
	t.Parallel()
	f := newFleet(t, Config{})
	windows := newLimiter(t, f.client, "windows", perMinute.By(weir.SlidingWindow), nil)
	book(t, windows, "user:1", 30)
	commands := []any{"+time", "+scan", "+getrange", "+lrange", "+zcard", "+zrange", "+ping"}
	args := append([]any{"ACL", "SETUSER", "page", "on", ">secret", "resetkeys", "~weir:*", "resetchannels", "-@all"}, commands...)
	must(t, f.client.Do(t.Context(), args...).Err())
	client := f.server.Client(func(o *redis.Options) { o.Username, o.Password = "page", "secret" })
	if r := stateOf(t, newDashboard(t, Config{Client: client})).Redis; r.Error != "" || r.WaitingKeys != 1 || r.Unreadable != 0 {
		t.Errorf("%+v", r)
	}
	must(t, f.client.Do(t.Context(), "ACL", "SETUSER", "page", "-scan").Err())
	if r := stateOf(t, newDashboard(t, Config{Client: client})).Redis; !strings.Contains(r.Error, "NOPERM") {
		t.Errorf("without SCAN: %+v", r)
	}
}
