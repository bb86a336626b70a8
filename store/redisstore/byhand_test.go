package redisstore

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore/internal/script"
)

// TestOneDecisionByHand: the store sends the call that docs/redis.md explains. The server
// returns the value and the reply of that page.
func TestOneDecisionByHand(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	_, page, _ := strings.Cut(string(text), "## One decision by hand\n")
	page, _, _ = strings.Cut(page, "\n## ")
	contains := func(want string) {
		t.Helper()
		if !strings.Contains(page, want) {
			t.Errorf("the page does not contain %q", want)
		}
	}
	const (
		key    = "weir:{api:user:1}"
		before = "1g25/5s=1800000|1795551921224187"
		now    = int64(1795551921728911)
	)
	contains(before)
	contains(fmt.Sprint(now))
	ctx := context.Background()
	client := redistest.Start(t).Client()
	s := newStore(t, client)
	s.now = func() int64 { return now }
	set := func() {
		if err := client.Set(ctx, key, before, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}

	req := charge("user:1", 1, store.Per(25, 5*time.Second))
	req.Charges[0].Scope = "api"
	args := script.AllowArgs(1, func(int) *script.Key { return &s.keysOf(&req)[0] }, `""`)
	page = strings.ReplaceAll(page, "  ", " ")
	contains("EVALSHA <SHA-1 of allow> " + strings.TrimSpace(fmt.Sprintln(args[2:]...)))

	set()
	args[4] = now
	reply, err := client.Eval(ctx, script.Allow.Body, []string{key}, args[4:]...).Slice()
	if err != nil || len(reply) != 5 {
		t.Fatal(reply, err)
	}
	for _, n := range reply {
		contains(fmt.Sprintf("`%d`", n))
	}
	contains("\n" + client.Get(ctx, key).Val() + "\n")
	left := client.PTTL(ctx, key).Val()
	if left <= 0 || left > 1497*time.Millisecond {
		t.Errorf("the key lives for %v, want 1497 ms", left)
	}

	set()
	d := take(t, s, req)
	contains(fmt.Sprintf("`ResetAfter` = TAT − now = %v s", d.ResetAfter.Seconds()))
	contains(fmt.Sprintf("= %d.", d.Remaining))
}
