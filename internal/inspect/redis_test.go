package inspect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store/redisstore"
	"github.com/redis/go-redis/v9"
)

func newInspector(t *testing.T, client redis.UniversalClient, prefix string) *Inspector {
	t.Helper()
	return New(client, cmp.Or(prefix, "weir:"))
}

func newLimiter(t *testing.T, client redis.UniversalClient, cfg weir.Config) *weir.Limiter {
	t.Helper()
	s, err := redisstore.New(redisstore.Config{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	cfg.Store = s
	l, err := weir.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fill makes keys of each kind, and returns how many.
func fill(t *testing.T, client redis.UniversalClient) int {
	ctx := t.Context()
	api := newLimiter(t, client, weir.Config{Name: "api", Limits: []weir.Limit{weir.Per(10, time.Minute), weir.Per(30, time.Hour).By(weir.SlidingWindow)}})
	for i := range 20 {
		for range i%10 + 1 {
			_, err := api.Allow(ctx, fmt.Sprint("user:", i))
			must(t, err)
		}
	}
	out := newLimiter(t, client, weir.Config{Name: "out:bound", Limits: []weir.Limit{weir.Per(2, time.Minute)}})
	for range 5 {
		r, err := out.Reserve(ctx, "queue")
		must(t, err)
		_ = r
	}
	must(t, out.Pause(ctx, "paused", time.Hour))
	flights := newLimiter(t, client, weir.Config{Name: "flights", Limits: []weir.Limit{weir.Per(1000, time.Hour)}, InFlight: 5})
	for range 3 {
		lease, err := flights.TryAcquire(ctx, "host")
		must(t, err)
		t.Cleanup(lease.Release)
	}
	_, err := api.Allow(ctx, strings.Repeat("long", 50))
	must(t, err)
	return 20 + 2 + 1 + 1
}

// testKeys reads the keys that fill makes.
func testKeys(t *testing.T, client redis.UniversalClient, servers int) {
	ctx := t.Context()
	n := fill(t, client)
	must(t, client.Set(ctx, "weir:{api:planted}", "hello", time.Minute).Err())
	must(t, client.RPush(ctx, "weir:{api:list}", "hello").Err())
	must(t, client.Set(ctx, "other", "hello", 0).Err())
	must(t, client.Set(ctx, "weir:{plain:x}:0", "3", time.Minute).Err())
	i := newInspector(t, client, "")
	l, err := i.List(ctx, Query{Step: 3})
	must(t, err)
	if len(l.Keys) != n+2 || l.Cut || l.Plain != 1 || l.At.IsZero() {
		t.Fatalf("%d keys, want %d: %+v", len(l.Keys), n+2, l)
	}
	of := map[string]int{}
	for _, k := range l.Keys {
		of[k.Server]++
		if !strings.HasPrefix(k.Key, "planted") && k.Key != "list" && (k.Err != nil || k.TTL <= 0 && k.InFlight == 0 || k.NoTTL) {
			t.Errorf("%+v", k)
		}
	}
	if len(of) != servers {
		t.Errorf("keys of the servers %v, want %d", of, servers)
	}
	find := func(text string) *Key {
		for j := range l.Keys {
			if l.Keys[j].Text() == text {
				return &l.Keys[j]
			}
		}
		t.Fatalf("no %s", text)
		return nil
	}
	if k := find("api:user:9"); len(k.Limits) != 2 || k.Limits[0].Used != 10 || k.Limits[1].Used != 10 || k.Limits[1].Remaining != 20 || k.Next.Allowed || k.Next.Limit != 0 || k.Next.Reason != "limited" {
		t.Errorf("used up: %+v", k)
	}
	if k := find("out%3Abound:queue"); k.Limiter != "out:bound" || k.Ahead.Calls != 3 || k.Ahead.Last < Span(80*time.Second) || k.Ahead.Last > Span(90*time.Second) || k.Next.Reason != "waiting" {
		t.Errorf("a queue: %+v", k)
	}
	if k := find("out%3Abound:paused"); k.Brake.Pause < Span(59*time.Minute) || k.Next.Reason != "paused" || len(k.Limits) != 0 {
		t.Errorf("paused: %+v", k)
	}
	if k := find("flights:host"); k.InFlight != 3 || k.LeaseEnds < Span(20*time.Second) || k.LeaseEnds > Span(30*time.Second) {
		t.Errorf("in flight: %+v", k)
	}
	for _, text := range []string{"api:planted", "api:list"} {
		if k := find(text); !errors.Is(k.Err, redisstore.ErrState) {
			t.Errorf("%s: %v", text, k.Err)
		}
	}
	for name, test := range map[string]struct {
		query Query
		want  int
		cut   bool
	}{
		"a limiter":     {Query{Limiter: "out:bound"}, 2, false},
		"a part":        {Query{Contains: "user:1"}, 11, false},
		"at most three": {Query{MaxKeys: 3}, 3, true},
		"few are seen":  {Query{MaxScan: 1, Step: 1, MaxKeys: 2}, -1, true},
	} {
		got, err := i.List(ctx, test.query)
		must(t, err)
		if test.want >= 0 && len(got.Keys) != test.want || got.Cut != test.cut {
			t.Errorf("%s: %d keys, %t", name, len(got.Keys), got.Cut)
		}
	}
	one, err := i.Stored(ctx, rediskey.State("weir:", "api", "user:4"))
	must(t, err)
	if one.Missing || one.Limits[0].Used != 5 {
		t.Errorf("%+v", one)
	}
	if none, err := i.Stored(ctx, rediskey.State("weir:", "api", "nobody")); err != nil || !none.Missing || !none.Next.Allowed {
		t.Errorf("%+v, %v", none, err)
	}
}

func TestSingle(t *testing.T) {
	t.Parallel()
	testKeys(t, redistest.Start(t).Client(patient, redisstore.Configure), 1)
}

func TestCluster(t *testing.T) {
	t.Parallel()
	testKeys(t, redistest.StartCluster(t).Client(patientCluster, redisstore.ConfigureCluster), 3)
}

func TestRing(t *testing.T) {
	t.Parallel()
	o := &redis.RingOptions{Addrs: map[string]string{"a": redistest.Start(t).Addr, "b": redistest.Start(t).Addr}}
	o.ReadTimeout = patience
	redisstore.ConfigureRing(o)
	ring := redis.NewRing(o)
	t.Cleanup(func() { _ = ring.Close() })
	testKeys(t, ring, 2)
}

// tearing empties the first log that is read, as another call may between the commands.
type tearing struct{ torn bool }

func (*tearing) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (*tearing) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (h *tearing) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			if log, ok := cmd.(*redis.StringSliceCmd); ok && !h.torn && log.Name() == "lrange" && len(log.Val()) > 0 {
				h.torn = true
				log.SetVal(nil)
			}
		}
		return err
	}
}

// TestTorn: a key that changed while it was read is read again, as a whole, with the commands
// that the docs name alone.
func TestTorn(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client()
	fill(t, admin)
	for user, rules := range map[string]string{
		"eyes": "%R~weir:* +scan +getrange +pttl +lrange +zcard +zrange +time", // docs/command.md
		"page": "~weir:* +time +scan +getrange +lrange +zcard +zrange +ping",   // docs/dashboard.md
	} {
		args := []any{"ACL", "SETUSER", user, "on", ">p", "resetkeys", "resetchannels", "-@all"}
		for _, rule := range strings.Fields(rules) {
			args = append(args, rule)
		}
		must(t, admin.Do(t.Context(), args...).Err())
		client := server.Client(func(o *redis.Options) { o.Username, o.Password = user, "p" })
		h := &tearing{}
		client.AddHook(h)
		i := newInspector(t, client, "")
		var keys []*Key
		if user == "eyes" {
			k, err := i.Stored(t.Context(), rediskey.State("weir:", "api", "user:4"))
			must(t, err)
			keys = append(keys, &k)
		} else {
			survey := i.Survey(100)
			survey.Add("api", "user:4")
			var err error
			keys, _, err = survey.Read(t.Context())
			must(t, err)
		}
		at := slices.IndexFunc(keys, func(k *Key) bool { return k.Key == "user:4" })
		if k := keys[at]; !h.torn || k.Err != nil || len(k.Limits) != 2 || k.Limits[1].Used != 5 || k.Behind > 0 {
			t.Errorf("%s, %t: %+v", user, h.torn, k)
		}
	}
}

// TestReadsOnly: a user who may only read sees all, and the keys stay as they are.
func TestReadsOnly(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client()
	n := fill(t, admin)
	must(t, admin.Do(t.Context(), "ACL", "SETUSER", "eyes", "on", ">p", "resetkeys", "%R~weir:*", "-@all", "+scan", "+getrange", "+pttl", "+lrange", "+zcard", "+zrange", "+time").Err())
	before := map[string]string{}
	for _, name := range admin.Keys(t.Context(), "weir:*").Val() {
		before[name] = admin.Dump(t.Context(), name).Val()
	}
	i := newInspector(t, server.Client(func(o *redis.Options) { o.Username, o.Password = "eyes", "p" }), "")
	var l Listing
	during := server.CommandsDuring(func() {
		var err error
		l, err = i.List(t.Context(), Query{})
		must(t, err)
	})
	if len(l.Keys) != n {
		t.Errorf("%d keys, want %d", len(l.Keys), n)
	}
	for _, command := range []string{"keys", "evalsha", "eval", "set", "del"} {
		if during[command] > 0 {
			t.Errorf("%s was called", command)
		}
	}
	for name, value := range before {
		if got := admin.Dump(t.Context(), name).Val(); got != value {
			t.Errorf("%s has changed", name)
		}
	}
}

// TestAgrees: the state and Peek agree, under traffic.
func TestAgrees(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client(patient, redisstore.Configure)
	i := newInspector(t, client, "")
	for a := weir.GCRA; a <= weir.AlignedWindow; a++ {
		l := newLimiter(t, client, weir.Config{Name: a.String(), Limits: []weir.Limit{weir.Per(1000, time.Hour).By(a)}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			var err error
			for ctx.Err() == nil && err == nil {
				_, err = l.AllowN(context.WithoutCancel(ctx), "key", 1)
			}
			done <- err
		}()
		for range 50 {
			before, err := l.Peek(t.Context(), "key")
			must(t, err)
			k, err := i.Stored(t.Context(), rediskey.State("weir:", a.String(), "key"))
			must(t, err)
			after, err := l.Peek(t.Context(), "key")
			must(t, err)
			if k.Err != nil || len(k.Limits) == 1 && (k.Limits[0].Remaining > before.Remaining+1 || k.Limits[0].Remaining < after.Remaining-1) {
				t.Errorf("%v: %+v, between %d and %d", a, k, before.Remaining, after.Remaining)
			}
		}
		cancel()
		must(t, <-done)
	}
}

// TestQueueOfWindows: while calls wait for the next window, no unit of the present one is
// free.
func TestQueueOfWindows(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client(patient, redisstore.Configure)
	i := newInspector(t, client, "")
	for a := weir.GCRA; a <= weir.AlignedWindow; a++ {
		l := newLimiter(t, client, weir.Config{Name: a.String(), Limits: []weir.Limit{weir.Per(10, 365*24*time.Hour).By(a)}})
		book(t, l, "key", 15)
		k, err := i.Stored(t.Context(), rediskey.State("weir:", a.String(), "key"))
		must(t, err)
		if k.Ahead.Calls == 0 || len(k.Limits) != 1 || k.Limits[0].Used != 10 {
			t.Errorf("%v: %+v", a, k)
		}
		if text := strings.Join(k.Explain(), "\n"); !strings.Contains(text, "10 of 10 units are used.") {
			t.Errorf("%v: %s", a, text)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client(patient, redisstore.Configure)
	i := newInspector(t, client, "")
	for _, name := range []string{"", "api:user", "weir:{api:user}:log", "other:{api:user}"} {
		if _, err := i.Stored(t.Context(), name); !errors.Is(err, weir.ErrConfig) {
			t.Errorf("%q: %v", name, err)
		}
	}
	blind := newInspector(t, server.Client(func(o *redis.Options) { o.Username, o.Password = "blind", "p" }), "")
	must(t, client.Do(t.Context(), "ACL", "SETUSER", "blind", "on", ">p", "~*", "+scan", "+ping").Err())
	if _, err := blind.Stored(t.Context(), rediskey.State("weir:", "api", "user")); !redis.HasErrorPrefix(err, "NOPERM") {
		t.Errorf("denied: %v", err)
	}
	server.Kill()
	if _, err := i.List(t.Context(), Query{}); err == nil {
		t.Error("a killed server has keys")
	}
}

// TestOneServerAway: without one of its servers, a cluster has the keys of the others.
func TestOneServerAway(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, "--cluster-require-full-coverage", "no")
	client := cluster.Client(patientCluster, redisstore.ConfigureCluster)
	fill(t, client)
	i := newInspector(t, client, "")
	all, err := i.List(t.Context(), Query{})
	must(t, err)
	gone := cluster.Node("weir:{api:user:9}")
	gone.Kill()
	some, err := i.List(t.Context(), Query{})
	if err == nil || !strings.HasPrefix(err.Error(), "keys of "+gone.Addr+" are missing: dial tcp") {
		t.Error(err)
	}
	var others []string
	for _, k := range all.Keys {
		if k.Server != gone.Addr {
			others = append(others, k.Stored)
		}
	}
	if names := storedNames(some.Keys); !slices.Equal(names, others) || len(others) == 0 || len(others) == len(all.Keys) {
		t.Errorf("%d of %d keys: %q, want %q", len(names), len(all.Keys), names, others)
	}
	for _, s := range cluster.Nodes {
		s.Kill()
	}
	if _, err := i.List(t.Context(), Query{}); err == nil {
		t.Error("a cluster without servers has keys")
	}
}

// TestPrefixIsNoPattern: characters of a prefix stand for themselves.
func TestPrefixIsNoPattern(t *testing.T) {
	t.Parallel()
	client := redistest.Start(t).Client()
	for _, prefix := range []string{"a*:", "ab:", "a[b]:", `a\:`} {
		must(t, client.Set(t.Context(), prefix+"{x:y}", "1g7/60s=0|1", time.Minute).Err())
	}
	for _, prefix := range []string{"a*:", "ab:", "a[b]:", `a\:`} {
		l, err := newInspector(t, client, prefix).List(t.Context(), Query{})
		must(t, err)
		if names := storedNames(l.Keys); !slices.Equal(names, []string{prefix + "{x:y}"}) {
			t.Errorf("%q: %q", prefix, names)
		}
	}
}

func storedNames(keys []Key) (names []string) {
	for _, k := range keys {
		names = append(names, k.Stored)
	}
	return names
}
