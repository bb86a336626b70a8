package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store/redisstore"
	"github.com/redis/go-redis/v9"
)

// result is the outcome of a run.
type result struct {
	code      int
	out, errs string
}

func runOn(ctx context.Context, url string, args ...string) result {
	var out, errs bytes.Buffer
	args = append([]string{args[0], "--redis", url}, args[1:]...)
	c := run(ctx, args, strings.NewReader(""), &out, &errs)
	return result{c, out.String(), errs.String()}
}

// TestWhereTheURLIsFrom: the error of a wrong URL names its place. It is not parallel, as it sets
// the environment.
func TestWhereTheURLIsFrom(t *testing.T) {
	t.Setenv("WEIR_REDIS", "http://environment")
	for name, args := range map[string][]string{
		"WEIR_REDIS: want redis://": {"keys"}, "--redis: want redis://": {"keys", "--redis", "http://flag"},
		"--prefix: want ": {"keys", "--redis", "redis://localhost", "--prefix", "{}"},
	} {
		var out, errs bytes.Buffer
		if c := run(t.Context(), args, strings.NewReader(""), &out, &errs); c != exitUsage || !strings.Contains(errs.String(), name) {
			t.Errorf("%v: %d: %s, want %q", args, c, &errs, name)
		}
	}
}

// patience has options of a client that waits for a busy machine.
const patience = "?dial_timeout=10s&read_timeout=10s&pool_timeout=10s"

// started starts a server with keys. Of api, user:1 has used 8 of 25 units, and user:2
// all. Of stripe, live has three waiting calls.
func started(t *testing.T) (url string, client *redis.Client) {
	t.Helper()
	server := redistest.Start(t)
	url = "redis://" + server.Addr + patience
	s, err := redisstore.Open(url, redisstore.Config{})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	api, err := weir.New(weir.Config{Store: s, Name: "api", Limits: []weir.Limit{weir.Per(25, time.Hour)}})
	must(t, err)
	for key, n := range map[string]int64{"user:1": 8, "user:2": 25} {
		_, err := api.AllowN(t.Context(), key, n)
		must(t, err)
	}
	stripe, err := weir.New(weir.Config{Store: s, Name: "stripe", Limits: []weir.Limit{weir.Per(60, time.Hour).WithBurst(1)}})
	must(t, err)
	for range 4 {
		_, err := stripe.Reserve(t.Context(), "live")
		must(t, err)
	}
	return url, server.Client()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestNoneOfSome: a search that a bound ended does not know that there are no keys.
func TestNoneOfSome(t *testing.T) {
	t.Parallel()
	url, client := started(t)
	for i := range 2000 {
		must(t, client.Set(t.Context(), fmt.Sprint("weir:{other:", i, "}"), "x", time.Hour).Err())
	}
	const more = "There may be more keys: --max-keys and --max-scan end the search.\n"
	if got := runOn(t.Context(), url, "keys", "--limiter", "nobody", "--max-scan", "500"); got.code != 0 || got.out != "The search found no such keys under weir:.\n"+more {
		t.Errorf("%d %s%s", got.code, got.out, got.errs)
	}
	if got := runOn(t.Context(), url, "keys", "--limiter", "nobody"); got.out != "There are no such keys under weir:.\n" {
		t.Errorf("%d %s%s", got.code, got.out, got.errs)
	}
}

func TestLook(t *testing.T) {
	t.Parallel()
	url, _ := started(t)
	for _, test := range []struct {
		name string
		args []string
		code int
		want []string // in the output; with ! in standard error
	}{
		{"keys", []string{"keys"}, 0, []string{"USED  UNITS  LIMIT", " 32%  8/25   25/1h", "api:user:1\n", "3 3m", "stripe:live\n"}},
		{"keys by use", []string{"keys", "--sort", "use", "--first", "1"}, 0, []string{"100%", "2 more: --first 0 prints all"}},
		{"keys of a limiter", []string{"keys", "--limiter", "stripe"}, 0, []string{"stripe:live"}},
		{"no such keys", []string{"keys", "--contains", "nobody"}, 0, []string{"There are no such keys under weir:."}},
		{"no keys of a limiter", []string{"keys", "--limiter", "nobody"}, 0, []string{"There are no such keys under weir:."}},
		{"no keys", []string{"keys", "--prefix", "other:"}, 0, []string{"There are no keys under other:."}},
		{"some keys", []string{"keys", "--max-keys", "2"}, 0, []string{"There may be more keys"}},
		{"a doctor of some keys", []string{"doctor", "--max-keys", "2"}, 0, []string{"No findings", "There may be more keys"}},
		{"explain", []string{"explain", "api:user:1"}, 0, []string{"stored as weir:{api:user:1} on 127.0.0.1:", "8 of 25 units are used. All are free again in 19m", "No call has booked a slot ahead.", "A call of 1 unit leaves at once."}},
		{"explain by its name in Redis", []string{"explain", "weir:{api:user:1}"}, 0, []string{"8 of 25 units"}},
		{"explain a queue", []string{"explain", "stripe:live"}, 0, []string{"3 calls wait", "refused, as others wait before it"}},
		{"explain no state", []string{"explain", "api:new"}, 0, []string{"No state is stored under this name: all units are free, unless plainstore counts the key. weir keys lists the names."}},
		{"peek", []string{"peek", "api:user:1"}, 0, []string{"api:user:1: allowed", "17 of 25 remaining"}},
		{"peek refused", []string{"peek", "api:user:2"}, 1, []string{"refused (limited), retry after 2m"}},
		{"one dash", []string{"keys", "-sort=use"}, 0, []string{"api:user:2"}},
		{"a dash in a value", []string{"keys", "--contains", "-a"}, 0, []string{"There are no such keys"}},
		{"JSON", []string{"explain", "--json", "api:user:1"}, 0, []string{`{"key":"api:user:1","limiter":"api"`}},
		{"a wrong key", []string{"explain", "api"}, 2, []string{`!weir: key "api": want LIMITER:KEY`}},
		{"a wrong name", []string{"peek", "weir:{api:user:1}:log"}, 2, []string{"!want LIMITER:KEY"}},
		{"a wrong order", []string{"keys", "--sort", "size"}, 2, []string{`!weir: --sort "size": want name, use, refusal or queue`}},
		{"a wrong number", []string{"keys", "--first", "-1"}, 2, []string{"!--first"}},
		{"no bound", []string{"keys", "--max-keys", "0"}, 2, []string{"!--max-keys"}},
		{"a command that is nearly known", []string{"kyes"}, 2, []string{`!weir: unknown command "kyes" for "weir": did you mean keys? See weir --help`}},
		{"an unknown command", []string{"nosuch"}, 2, []string{`!weir: unknown command "nosuch" for "weir": see weir --help`}},
		{"no key", []string{"explain"}, 2, []string{"!weir: want weir explain KEY, got 0 arguments: see weir explain --help"}},
		{"too many keys", []string{"peek", "a:b", "c:d"}, 2, []string{"!weir: want weir peek KEY, got 2 arguments: see weir peek --help"}},
		{"no duration", []string{"pause", "api:user:1"}, 2, []string{"!weir: want weir pause KEY DURATION, got 1 argument: see weir pause --help"}},
		{"a key that looks like a flag", []string{"explain", "-dash:key"}, 2, []string{"!unknown shorthand flag", "!: see weir explain --help, and put -- before a KEY that starts with -"}},
		{"a key behind two dashes", []string{"explain", "--", "-dash:key"}, 0, []string{"stored as weir:{-dash:key}"}},
		{"a key where none belongs", []string{"keys", "api:user:1"}, 2, []string{"!weir: want weir keys, got 1 argument: see weir keys --help"}},
		{"no number", []string{"keys", "--first", "x"}, 2, []string{"!: see weir keys --help"}},
		{"no terminal", []string{"top"}, 2, []string{"!use weir keys"}},
		{"a short interval", []string{"top", "--interval", "1ms"}, 2, []string{"!--interval"}},
		{"a wrong prefix", []string{"keys", "--prefix", "{"}, 2, []string{"!weir: --prefix: want"}},
		{"an unknown flag", []string{"keys", "--size"}, 2, []string{"!unknown flag: --size: see weir keys --help"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := runOn(t.Context(), url, test.args...)
			if got.code != test.code {
				t.Errorf("exit code %d, want %d", got.code, test.code)
			}
			for _, want := range test.want {
				text := got.out
				if errors, ok := strings.CutPrefix(want, "!"); ok {
					text, want = got.errs, errors
				}
				if !strings.Contains(text, want) {
					t.Errorf("no %q in\n%s\n%s", want, got.out, got.errs)
				}
			}
			if strings.Count(got.errs, "\n") > 1 {
				t.Errorf("more than one line: %s", got.errs)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	url, _ := started(t)
	for _, args := range [][]string{{"keys", "--json"}, {"keys", "--sort", "use", "--json"}} {
		got := runOn(t.Context(), url, args...)
		var list struct {
			Keys []struct {
				Key    string
				Limits []struct{ Used, Max int64 }
				Ahead  struct{ Calls int64 }
				Next   struct{ Allowed bool }
			}
			Found int
		}
		if err := json.Unmarshal([]byte(got.out), &list); err != nil || len(list.Keys) != 3 || list.Found != 3 {
			t.Errorf("%v: %v: %s", args, err, got.out)
		}
		for _, k := range list.Keys {
			if k.Key == "api:user:1" && (k.Limits[0].Used != 8 || k.Limits[0].Max != 25 || !k.Next.Allowed) || k.Key == "stripe:live" && k.Ahead.Calls != 3 {
				t.Errorf("%+v", k)
			}
		}
	}
}

// TestCompletion: a shell completes keys.
func TestCompletion(t *testing.T) {
	t.Parallel()
	url, _ := started(t)
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"__complete", "explain", "--redis", url, "api:"}, nil, &out, &errs); code != 0 || !strings.HasPrefix(out.String(), "api:user:1\napi:user:2\n:") {
		t.Errorf("%d: %s%s", code, &out, &errs)
	}
}

// TestPauseResumeReset changes a key for which a call waits in another process.
func TestPauseResumeReset(t *testing.T) {
	t.Parallel()
	url, client := started(t)
	do := func(code int, want string, args ...string) {
		t.Helper()
		if got := runOn(t.Context(), url, args...); got.code != code || !strings.Contains(got.out+got.errs, want) {
			t.Errorf("%v: exit code %d: %s%s", args, got.code, got.out, got.errs)
		}
	}
	do(0, "api:user:1 is paused for 10m, until ", "pause", "api:user:1", "10m")
	do(1, "refused (paused), retry after 10m", "peek", "api:user:1")
	do(0, "It was paused for longer already", "pause", "api:user:1", "1m")
	do(0, "3 calls wait, and leave from then on", "pause", "stripe:live", "1h")
	do(0, "api:user:1 runs again. A call of 1 unit leaves at once.", "resume", "api:user:1")
	do(0, "was neither paused nor slower", "resume", "api:user:1")
	do(0, "api:user:2 is reset: all its units are free.", "reset", "api:user:2")
	do(0, "allowed", "peek", "api:user:2")
	do(0, "api:new had no state", "reset", "api:new")
	must(t, client.ZAdd(t.Context(), "weir:{api:held}:held", redis.Z{Score: float64(time.Now().Add(time.Hour).UnixMicro()), Member: "lease"}).Err())
	do(0, "1 call is in flight", "explain", "api:held")
	do(0, "api:held is reset", "reset", "api:held")
	do(2, "no limits of api:other are stored: name them, as --limit 25/5s", "pause", "api:other", "10m")
	do(0, "api:other is paused for 10m", "pause", "api:other", "10m", "--limit", "25/5s,outbound")
	do(0, "until "+time.Now().Add(50*24*time.Hour).UTC().Format("2006-01-"), "pause", "api:other", "1200h", "--limit", "25/5s")
	do(2, "--limit", "pause", "api:other", "10m", "--limit", "25")
	for _, duration := range []string{"soon", "10", "9999999h"} { // The last is over the range of Go.
		do(2, `duration "`+duration+`": want more than 0, at most 12.5 years, with a unit, as 90s or 10m`, "pause", "api:user:1", duration)
	}
	do(2, "at most 12.5 years", "pause", "api:user:1", "999999h")
	for _, args := range [][]string{{"pause", "api:", "1m", "--limit", "1/s"}, {"resume", "api:"}, {"reset", "api:"}, {"reset", "weir:{api:}"}} {
		do(2, "no key: the key is empty\n", args...)
	}
	do(2, "want more than 0", "pause", "api:user:1", "0s")
	do(2, "the name of the limiter is unknown", "reset", "#"+strings.Repeat("0a", 20))
	do(2, "Config.Name", "reset", "a b"+strings.Repeat("c", 70)+":k")
	must(t, client.Set(t.Context(), "weir:{api:planted}", "hello", time.Minute).Err())
	do(1, "weir reset KEY clears the key", "peek", "api:planted")
	do(1, "weir reset KEY clears the key", "pause", "api:planted", "1m")
	do(1, "weir reset KEY clears the key", "pause", "api:planted", "1m", "--limit", "25/5s")
	do(0, "is reset", "reset", "api:planted")
	do(0, `"brake":{"pause_s":`, "pause", "api:user:2", "1m", "--json", "--limit", "25/1h")

	must(t, client.Set(t.Context(), "weir:{api:alike}", fmt.Sprintf("1g7/60s=1000000;f7/60s=%d.1|%[1]d", time.Now().UnixMicro()), time.Minute).Err())
	do(0, "api:alike is paused", "pause", "api:alike", "1m")

	s, err := redisstore.Open(url, redisstore.Config{})
	must(t, err)
	defer s.Close()
	l, err := weir.New(weir.Config{Store: s, Name: "other", Limits: []weir.Limit{weir.Per(1000, time.Second)}})
	must(t, err)
	do(0, "paused", "pause", "other:key", "1h", "--limit", "1000/s")
	left := make(chan error, 1)
	go func() { left <- l.Wait(t.Context(), "key") }()
	for client.PubSubNumSub(t.Context(), "weir:brakes").Val()["weir:brakes"] == 0 {
		time.Sleep(time.Millisecond)
	}
	do(0, "runs again", "resume", "other:key")
	select {
	case err := <-left:
		must(t, err)
	case <-time.After(20 * time.Second):
		t.Error("the call still waits")
	}
}

// TestBench measures, and leaves no key.
func TestBench(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	url := "redis://" + server.Addr + patience
	got := runOn(t.Context(), url, "bench", "--duration", "30ms", "--callers", "4", "--keys", "3")
	if got.code != 0 || !strings.Contains(got.out, "PING") || !strings.Contains(got.out, "1 caller ") || !strings.Contains(got.out, "4 callers") {
		t.Errorf("%d: %s%s", got.code, got.out, got.errs)
	}
	var rows struct {
		Measurements []struct {
			Calls     int
			PerSecond float64 `json:"per_second"`
			P50       float64 `json:"p50_s"`
			P99       float64 `json:"p99_s"`
		}
	}
	got = runOn(t.Context(), url, "bench", "--duration", "30ms", "--callers", "1", "--json")
	if err := json.Unmarshal([]byte(got.out), &rows); err != nil || len(rows.Measurements) != 2 || rows.Measurements[1].Calls == 0 || rows.Measurements[1].P99 < rows.Measurements[1].P50 {
		t.Errorf("%v: %s", err, got.out)
	}
	if n := server.Client().DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys are left", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if got := runOn(ctx, url, "bench", "--duration", "1m"); got.code != 1 || got.errs != "weir: interrupted\n" {
		t.Errorf("interrupted: %d: %s%s", got.code, got.out, got.errs)
	}
	if n := server.Client().DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys are left after an interruption", n)
	}
	for _, args := range [][]string{{"--callers", "0"}, {"--keys", "0"}, {"--duration", "0"}, {"--duration", "1h"}} {
		if got := runOn(t.Context(), url, append([]string{"bench"}, args...)...); got.code != 2 {
			t.Errorf("%v: exit code %d", args, got.code)
		}
	}
}

// TestAway: each command says in one line that Redis is away. No message shows a password.
func TestAway(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	must(t, server.Client().Do(t.Context(), "ACL", "SETUSER", "few", "on", ">s3cret", "~*", "&*", "+ping", "+info").Err())
	denied := "redis://few:s3cret@" + server.Addr
	gone := redistest.Start(t)
	gone.Kill()
	for _, args := range [][]string{
		{"keys"}, {"explain", "a:b"}, {"peek", "a:b"}, {"pause", "a:b", "1m", "--limit", "1/s"}, {"resume", "a:b"}, {"reset", "a:b"}, {"doctor"}, {"bench"},
	} {
		for name, test := range map[string]struct {
			url, want string
		}{
			"gone":    {"redis://:s3cret@" + gone.Addr, "doctor"},
			"denied":  {denied, "docs/command.md"},
			"refused": {"redis://few:wr0ng@" + server.Addr, "doctor"},
			"no URL":  {"s3cret", "--redis"},
		} {
			got := runOn(t.Context(), test.url, args...)
			code := 3
			if name == "no URL" {
				code = 2
			}
			doctor := args[0] == "doctor" && name != "no URL"
			if doctor && name != "gone" {
				code = 1
			}
			if got.code != code || !doctor && (!strings.Contains(got.errs, test.want) || strings.Count(got.errs, "\n") != 1) {
				t.Errorf("%v, %s: exit code %d, want %d: %s%s", args, name, got.code, code, got.out, got.errs)
			}
			if text := got.out + got.errs; strings.Contains(text, "s3cret") || strings.Contains(text, "wr0ng") {
				t.Errorf("%v, %s: a password in %s", args, name, text)
			}
		}
	}
}

// keysOn makes 12 keys on a cluster, and returns its URL.
func keysOn(t *testing.T, cluster *redistest.Cluster) (url string) {
	t.Helper()
	url = "redis://" + cluster.Addrs[0] + patience + "&addr=" + cluster.Addrs[1]
	s, err := redisstore.Open(url, redisstore.Config{})
	must(t, err)
	defer s.Close()
	l, err := weir.New(weir.Config{Store: s, Name: "api", Limits: []weir.Limit{weir.Per(5, time.Hour)}})
	must(t, err)
	for i := range 12 {
		_, err := l.Allow(t.Context(), fmt.Sprint("user:", i))
		must(t, err)
	}
	return url
}

// TestCluster: the commands work on a cluster.
func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	url := keysOn(t, cluster)
	if got := runOn(t.Context(), url, "keys"); got.code != 0 || strings.Count(got.out, "\n") != 13 || got.errs != "" {
		t.Errorf("%d: %s%s", got.code, got.out, got.errs)
	}
	one := "redis://" + cluster.Addrs[0]
	hint := "weir: " + cluster.Addrs[0] + " is one master of a cluster, and keys of the others are missing: name the address once more as addr in the URL\n"
	for _, args := range [][]string{{"keys"}, {"keys", "--json"}} {
		if got := runOn(t.Context(), one, args...); got.code != 0 || !strings.Contains(got.out, "api:user:") || got.errs != hint {
			t.Errorf("%v: %d: %s%s", args, got.code, got.out, got.errs)
		}
	}
	for i := range 9 { // Other masters have most of these keys.
		key := fmt.Sprint("api:user:", i)
		for _, args := range [][]string{{"explain", key}, {"explain", key, "--json"}, {"peek", key}} {
			got := runOn(t.Context(), one, args...)
			if got.code == 0 && got.errs == "" {
				continue
			}
			if got.code != 3 || got.out != "" || !strings.HasPrefix(got.errs, "weir: inspect: MOVED ") || !strings.HasSuffix(got.errs, ": weir doctor says what is wrong\n") {
				t.Errorf("%v: %d: %s%s", args, got.code, got.out, got.errs)
			}
		}
	}
	if got := runOn(t.Context(), url, "pause", "api:user:3", "1m"); got.code != 0 {
		t.Errorf("%d: %s%s", got.code, got.out, got.errs)
	}
	if got := runOn(t.Context(), url, "doctor"); got.code != 0 {
		t.Errorf("%d: %s%s", got.code, got.out, got.errs)
	}
	if got := runOn(t.Context(), url, "bench", "--duration", "20ms", "--keys", "7"); got.code != 0 {
		t.Errorf("%d: %s%s", got.code, got.out, got.errs)
	}
}

// TestOneServerAway: without one of its servers, a cluster shows the keys of the others,
// and the command fails.
func TestOneServerAway(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, "--cluster-require-full-coverage", "no")
	url := keysOn(t, cluster)
	gone := cluster.Nodes[2]
	gone.Kill()
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"keys"}, "api:user:"},
		{[]string{"keys", "--json"}, `"cut":true`},
		{[]string{"keys", "--sort", "use"}, "api:user:"},
	} {
		got := runOn(t.Context(), url, test.args...)
		if got.code != 3 || !strings.Contains(got.out, test.want) || !strings.HasPrefix(got.errs, "weir: keys of "+gone.Addr+" are missing: ") || strings.Count(got.errs, "\n") != 1 {
			t.Errorf("%v: exit code %d: %s%s", test.args, got.code, got.out, got.errs)
		}
	}
}

// TestCounters has keys of plainstore alone: a listing says that it leaves them out.
func TestCounters(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	url, client := "redis://"+server.Addr+patience, server.Client()
	for _, key := range []string{"weir:{exports:a}:0", "weir:{exports:b}:0", "weir:{imports:a}:0"} {
		must(t, client.Set(t.Context(), key, 3, time.Minute).Err())
	}
	for want, args := range map[string][]string{
		"There are no keys under weir:.\n3 counters of plainstore are not listed.\n":      {"keys"},
		"There are no such keys under weir:.\n1 counter of plainstore is not listed.\n":   {"keys", "--limiter", "imports"},
		"There are no such keys under weir:.\n2 counters of plainstore are not listed.\n": {"keys", "--contains", "a"},
		"There are no such keys under weir:.\n":                                           {"keys", "--limiter", "nobody"},
	} {
		if got := runOn(t.Context(), url, args...); got.code != 0 || got.out != want {
			t.Errorf("%v: %d: %q, want %q", args, got.code, got.out, want)
		}
	}
}

// TestLongLogs: a listing reads the last part of a long log, and says so. weir explain reads all.
func TestLongLogs(t *testing.T) {
	t.Parallel()
	url := "redis://" + redistest.Start(t).Addr + patience
	s, err := redisstore.Open(url, redisstore.Config{})
	must(t, err)
	defer s.Close()
	l, err := weir.New(weir.Config{Store: s, Name: "log", Limits: []weir.Limit{weir.Per(1000, time.Hour).By(weir.SlidingWindow)}})
	must(t, err)
	for range 900 {
		_, err := l.Allow(t.Context(), "long")
		must(t, err)
	}
	for command, want := range map[string]string{"keys": "900/1000  1000/1h  -        now   long log  log:long", "explain log:long": ": 900 of 1000 units are used."} {
		got := runOn(t.Context(), url, strings.Fields(command)...)
		if long := strings.Contains(got.out, "long log"); got.code != 0 || !strings.Contains(got.out, want) || long != (command == "keys") {
			t.Errorf("%s: %d: %s%s", command, got.code, got.out, got.errs)
		}
	}
}
