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
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store/redisstore"
	"github.com/redis/go-redis/v9"
)

func newSurvey(t *testing.T, client redis.UniversalClient, maxKeys int) *Survey {
	t.Helper()
	return newInspector(t, client, "").Survey(maxKeys)
}

// testSurvey compares a survey with a list of the same keys.
func testSurvey(t *testing.T, client redis.UniversalClient) {
	ctx := t.Context()
	fill(t, client)
	must(t, client.Set(ctx, "weir:{api:planted}", "hello", time.Minute).Err())
	must(t, client.RPush(ctx, "weir:{api:list}", "hello").Err())
	must(t, client.Set(ctx, "other", "hello", 0).Err())
	must(t, client.Set(ctx, "weir:{plain:x}:0", "3", time.Minute).Err())
	want, err := newInspector(t, client, "").List(ctx, Query{})
	must(t, err)
	s := newSurvey(t, client, 1000)
	for range 2 {
		got, more, err := s.Read(ctx)
		must(t, err)
		if more || len(got) != len(want.Keys) {
			t.Fatalf("%d keys, want %d; more: %t", len(got), len(want.Keys), more)
		}
		slices.SortFunc(got, func(a, b *Key) int { return cmp.Compare(a.Stored, b.Stored) })
		for i, k := range got {
			if text := summary(k); text != summary(&want.Keys[i]) {
				t.Errorf("got  %s\nwant %s", text, summary(&want.Keys[i]))
			}
		}
	}
}

// summary is the part of a key that does not change within moments.
func summary(k *Key) string {
	text := fmt.Sprint(k.Text(), k.Server, k.Err, k.Missing, k.Ahead.Calls, k.Brake.Pause > 0, k.Brake.Rate, k.InFlight, k.Next.Reason)
	for i := range k.Limits {
		text += fmt.Sprint(" ", Describe(&k.Limits[i].Limit), k.Limits[i].Used, k.Limits[i].Remaining)
	}
	return text
}

func TestSurveyOfOneServer(t *testing.T) {
	t.Parallel()
	testSurvey(t, redistest.Start(t).Client())
}

func TestSurveyOfACluster(t *testing.T) {
	t.Parallel()
	testSurvey(t, redistest.StartCluster(t).Client())
}

func TestSurveyOfManyKeys(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	server := redistest.Start(t)
	client := server.Client()
	keys := newLimiter(t, client, weir.Config{Name: "api", Limits: []weir.Limit{weir.Per(100, time.Hour)}})
	const n = 2*surveyKeys + 100
	fillMany(t, client, keys, n)
	s := newSurvey(t, client, n+10)
	readings := 0
	for got := 0; got < n; readings++ {
		if readings == 10 {
			t.Fatalf("%d keys after %d readings", got, readings)
		}
		found, _, err := s.Read(ctx)
		must(t, err)
		got = len(found)
	}
	// From now on each key is read within two or three readings, and a queue in the next.
	for range 3 {
		book(t, keys, "user:77", 101)
		seen := false
		for range 3 {
			found, _, err := s.Read(ctx)
			must(t, err)
			seen = seen || slices.ContainsFunc(found, func(k *Key) bool { return k.Key == "user:77" && k.Ahead.Calls != 0 })
		}
		if !seen {
			t.Error("no queue within three readings")
		}
	}
	must(t, keys.Pause(ctx, "user:78", time.Hour))
	s.Add("api", "user:78")
	found, _, err := s.Read(ctx)
	must(t, err)
	if !slices.ContainsFunc(found, func(k *Key) bool { return k.Key == "user:78" && k.Brake.Pause > 0 }) {
		t.Error("the reading after Add does not see the pause")
	}
	must(t, client.ConfigResetStat(ctx).Err())
	_, _, err = s.Read(ctx)
	must(t, err)
	if info := client.Info(ctx, "commandstats").Val(); !strings.Contains(info, fmt.Sprintf("cmdstat_getrange:calls=%d,", surveyKeys)) || strings.Contains(info, "lrange") {
		t.Errorf("a reading sent\n%s", info)
	}
}

// fillMany makes keys with one call each.
func fillMany(t *testing.T, client redis.UniversalClient, l *weir.Limiter, n int) {
	t.Helper()
	_, err := l.Allow(t.Context(), "user:77")
	must(t, err)
	value, err := client.Get(t.Context(), "weir:{api:user:77}").Result()
	must(t, err)
	pipe := client.Pipeline()
	for i := range n {
		pipe.Set(t.Context(), fmt.Sprintf("weir:{api:user:%d}", i), value, time.Hour)
	}
	_, err = pipe.Exec(t.Context())
	must(t, err)
}

func book(t *testing.T, l *weir.Limiter, key string, n int) {
	t.Helper()
	for range n {
		_, err := l.Reserve(context.Background(), key)
		must(t, err)
	}
}

func TestSurveyForgets(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	client := redistest.Start(t).Client()
	keys := newLimiter(t, client, weir.Config{Name: "api", Limits: []weir.Limit{weir.Per(2, time.Hour).By(weir.SlidingWindow)}})
	s := newSurvey(t, client, 2)
	count := func(want int, wantMore bool) {
		t.Helper()
		found, more, err := s.Read(ctx)
		must(t, err)
		if len(found) != want || more != wantMore {
			t.Errorf("%d keys, more: %t; want %d, %t", len(found), more, want, wantMore)
		}
		for _, k := range found {
			if k.Err != nil {
				t.Error(k.Err)
			}
		}
	}
	count(0, false)
	s.Add("api", "a")
	count(0, false) // It may come a moment later.
	_, err := keys.Allow(ctx, "a")
	must(t, err)
	count(1, false)
	for _, key := range []string{"b", "c"} {
		_, err := keys.Allow(ctx, key)
		must(t, err)
	}
	count(2, true)
	must(t, client.FlushAll(ctx).Err())
	count(0, false)
	count(0, false)
	if len(s.known) != 0 {
		t.Errorf("it remembers %v", s.known)
	}
	long := strings.Repeat("x", 200)
	_, err = keys.Allow(ctx, long)
	must(t, err)
	s.Add("api", long)
	found, _, err := s.Read(ctx)
	must(t, err)
	if len(found) != 1 || found[0].Key != long || found[0].Limiter != "api" {
		t.Errorf("a long key that was added: %+v", found)
	}
}

// TestAddToAFullSurvey: a key with a new brake takes the place of one without.
func TestAddToAFullSurvey(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	client := redistest.Start(t).Client()
	keys := newLimiter(t, client, weir.Config{Name: "api", Limits: []weir.Limit{weir.Per(100, time.Hour)}})
	const n = surveyTop + 10
	fillMany(t, client, keys, n)
	s := newSurvey(t, client, n)
	_, _, err := s.Read(ctx)
	must(t, err)
	for paused := 1; paused <= 5; paused++ {
		key := fmt.Sprint("paused:", paused)
		must(t, keys.Pause(ctx, key, time.Hour))
		s.Add("api", key)
		s.Add("api", "user:7") // Known already.
		found, more, err := s.Read(ctx)
		must(t, err)
		brakes := 0
		for _, k := range found {
			if k.Brake.Pause > 0 {
				brakes++
			}
		}
		if len(found) != n || brakes != paused || !more {
			t.Errorf("%d keys, %d paused, more: %t; want %d, %d, true", len(found), brakes, more, n, paused)
		}
	}
}

func TestSurveyErrors(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newSurvey(t, server.Client(), 10)
	s.Add("api", "a")
	server.Kill()
	if _, _, err := s.Read(t.Context()); err == nil {
		t.Error("no error without a server")
	}
}

// TestSurveyOfARingThatIsDown: a Ring names no server once it finds all of them down.
func TestSurveyOfARingThatIsDown(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": server.Addr}, HeartbeatFrequency: 10 * time.Millisecond, DialTimeout: 100 * time.Millisecond, MaxRetries: -1})
	t.Cleanup(func() { _ = ring.Close() })
	s := newSurvey(t, ring, 10)
	s.Add("api", "a")
	server.Kill()
	for deadline := time.Now().Add(10 * time.Second); ring.Len() > 0; {
		if time.Now().After(deadline) {
			t.Fatal("the Ring does not find its shard down")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if _, _, err := s.Read(t.Context()); !errors.Is(err, errNoServer) {
		t.Errorf("a reading: %v", err)
	}
	if _, err := s.inspector.List(t.Context(), Query{}); !errors.Is(err, errNoServer) {
		t.Errorf("a list: %v", err)
	}
}

// TestSurveyWithoutOneServer: without one of its servers, a cluster has the keys of the
// others, and reads them again.
func TestSurveyWithoutOneServer(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, "--cluster-require-full-coverage", "no")
	client := cluster.Client(patientCluster, redisstore.ConfigureCluster)
	n := fill(t, client)
	s := newSurvey(t, client, 1000)
	read := func() ([]*Key, error) {
		keys, _, err := s.Read(t.Context())
		return keys, err
	}
	all, err := read()
	must(t, err)
	gone := cluster.Node("weir:{api:user:9}")
	others := slices.DeleteFunc(slices.Clone(all), func(k *Key) bool { return k.Server == gone.Addr })
	gone.Kill()
	for range 2 {
		some, err := read()
		if err == nil || !strings.HasPrefix(err.Error(), "keys of "+gone.Addr+" are missing: dial tcp") {
			t.Error(err)
		}
		if len(all) != n || len(some) != len(others) || len(some) == 0 || len(some) == n {
			t.Errorf("%d of %d keys, want %d of %d", len(some), len(all), len(others), n)
		}
		for _, k := range some {
			if k.Server == gone.Addr || !slices.ContainsFunc(others, func(o *Key) bool { return o.Stored == k.Stored && k.At.After(o.At) }) {
				t.Errorf("%s of %s, read at %v", k.Stored, k.Server, k.At)
			}
		}
		others = some
	}
	for _, server := range cluster.Nodes {
		if server != gone {
			server.Kill()
		}
	}
	if some, err := read(); err == nil || some != nil {
		t.Errorf("a cluster without servers has %d keys: %v", len(some), err)
	}
}

// TestSurveyAfterAFailover: keys that another server has taken over stay until they are read
// there.
func TestSurveyAfterAFailover(t *testing.T) {
	t.Parallel()
	client := redistest.StartCluster(t).Client(patientCluster, redisstore.ConfigureCluster)
	n := fill(t, client)
	s := newSurvey(t, client, 1000)
	keys, _, err := s.Read(t.Context())
	must(t, err)
	for _, k := range keys {
		k.Server = "192.0.2.1:6379"
	}
	nodes, err := s.inspector.nodes(t.Context())
	must(t, err)
	if keys, _ = s.end(t.Context(), nodes); len(keys) != n {
		t.Errorf("%d keys, want %d", len(keys), n)
	}
}

// TestSeveralServersFail: the error names each server, and has the error of each.
func TestSeveralServersFail(t *testing.T) {
	one, other := errors.New("one"), errors.New("other")
	up, err := each([]node{{Addr: "a"}, {Addr: "b"}, {Addr: "c"}}, func(n node) error {
		return map[string]error{"a": one, "c": other}[n.Addr]
	})
	if len(up) != 1 || !errors.Is(err, one) || !errors.Is(err, other) || !strings.Contains(err.Error(), "keys of a are missing") || !strings.Contains(err.Error(), "keys of c are missing") {
		t.Errorf("%v are up: %v", up, err)
	}
	if _, err := each([]node{{Addr: "a"}}, func(node) error { return one }); err != one {
		t.Errorf("the only server: %v", err)
	}
}
