package inspect

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store/redisstore"
	"github.com/redis/go-redis/v9"
)

// hostile are names that only another program makes.
var hostile = []string{
	"weir:{api:\x1b]0;owned\x07}", "weir:{api:a\nb}", "weir:{api:\u202ebb}", "weir:{api:\xff\xfe}", "weir:{api:b}:\x1b[2J", "weir:{api:b}:rx\u202e", "weir:{", "weir:{}", "weir:{x}",
	"weir:{#" + strings.Repeat("z", 40) + "}", "weir:{api:<script>}\n:log", "weir:{api:b}:log:log",
}

// plant writes what another program may write, and returns the number of keys that are
// named as weir's and hold something else.
func plant(t *testing.T, c *redis.Client) (foreign int) {
	t.Helper()
	ctx := t.Context()
	for _, name := range hostile {
		must(t, c.Set(ctx, name, "x", 0).Err())
	}
	now := time.Now().UnixMicro()
	for i, value := range []string{
		"", "1", "1|", "hello", "1g7/60s=0|NaN", "1g7/60s=-1|1", "1g7/60s=1e9|1", "1g99999999999999999999/1s=0|1", "9|1", "\x00\xff", "1g7/60s=0|" + strconv.FormatInt(1<<62, 10),
		"1" + strings.Repeat("|", 1<<16) + "1", fmt.Sprintf("1w7/60s=0.0|%d|l0.3.5.4.0.0.0", now),
	} {
		must(t, c.Set(ctx, fmt.Sprintf("weir:{api:<b>%d}", i), value, time.Hour).Err())
		foreign++
	}
	must(t, c.HSet(ctx, "weir:{api:hash}", "a", "b").Err())
	must(t, c.SAdd(ctx, "weir:{api:set}", "a").Err())
	must(t, c.Set(ctx, "weir:{api:leases}:held", "x", time.Hour).Err())
	return foreign + 3
}

// TestHostileKeys: keys of another program are findings with texts that suit a terminal.
func TestHostileKeys(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client(patient, redisstore.Configure)
	n := plant(t, c)
	i := newInspector(t, c, "")
	l, err := i.List(t.Context(), Query{})
	must(t, err)
	if len(l.Keys) != n {
		t.Errorf("%d keys, want %d", len(l.Keys), n)
	}
	for j := range l.Keys {
		k := &l.Keys[j]
		if !errors.Is(k.Err, redisstore.ErrState) {
			t.Errorf("%s: %v", k.Stored, k.Err)
		}
		checkTexts(t, k)
	}
	s := i.Survey(1000)
	for range 2 {
		keys, _, err := s.Read(t.Context())
		must(t, err)
		if len(keys) != n-1 { // It takes the empty value for none.
			t.Errorf("a survey of %d keys, want %d", len(keys), n-1)
		}
	}
	found, _ := i.Faults(t.Context(), Query{})
	for _, f := range found {
		if f.Level == redisstore.Unknown || !isPrintable(f.What) {
			t.Errorf("found %q", f.What)
		}
	}
}

// checkTexts checks the texts about a key.
func checkTexts(t *testing.T, k *Key) {
	t.Helper()
	data, err := json.Marshal(k)
	if err != nil || !json.Valid(data) {
		t.Errorf("%s: %v", data, err)
	}
	for _, line := range append(k.Explain(), k.Text(), k.Stored) {
		if !isPrintable(line) {
			t.Errorf("%q", line)
		}
	}
}

func isPrintable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar })
}

// TestLargeValues: a value is read up to a bound, whatever it holds.
func TestLargeValues(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := server.Client(patient, redisstore.Configure)
	const keys, size = 20, 4 << 20
	for i := range keys {
		must(t, c.SetRange(t.Context(), fmt.Sprint("weir:{api:", i, "}"), size, "x").Err())
	}
	i := newInspector(t, c, "")
	s := i.Survey(100)
	for name, read := range map[string]func() (int, error){
		"list":   func() (int, error) { l, err := i.List(t.Context(), Query{}); return len(l.Keys), err },
		"survey": func() (int, error) { all, _, err := s.Read(t.Context()); return len(all), err },
	} {
		before := sent(t, server)
		n, err := read()
		must(t, err)
		if got := sent(t, server) - before; n != keys || got > keys*maxState*2 {
			t.Errorf("%s: %d keys, %d bytes", name, n, got)
		}
	}
}

// sent returns the bytes that a server has sent.
func sent(t *testing.T, server *redistest.Server) int {
	t.Helper()
	n, err := strconv.Atoi(server.Info("stats")["total_net_output_bytes"])
	must(t, err)
	return n
}

// answer is an error that a server answers with.
type answer string

func (a answer) Error() string { return string(a) }
func (a answer) RedisError()   {}

// TestUnreadIsNotForeign: no finding advises to reset an unread key.
func TestUnreadIsNotForeign(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"MOVED 7 127.0.0.1:7000": "unread", "NOPERM no permissions": "unread", "ERR a\x1b[2J": "unread",
		"WRONGTYPE Operation against a key": "state",
	} {
		var f faults
		f.look(&Key{Stored: "weir:{a:b}", Err: stateError(answer(text))})
		if found := f.findings(); len(found) != 1 || found[0].Name != want {
			t.Errorf("%s: %v", text, found)
		}
	}
}
