package main

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store/redisstore"
	"github.com/goweir/weir/weirtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// TestProgram runs the program twice, as two processes would. Redis counts the real costs
// of both.
func TestProgram(t *testing.T) {
	server := redistest.Start(t)
	url := "redis://" + server.Addr
	t.Setenv("REDIS_URL", url)
	out, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	provider, err := weirtest.NewLLM(weirtest.LLMConfig{Used: func([]byte, int64, int64) (in, out int64) { return 20, 40 }})
	if err != nil {
		t.Fatal(err)
	}
	transport, stdout := http.DefaultTransport, os.Stdout
	http.DefaultTransport, os.Stdout = provider.Transport(), out
	defer func() { http.DefaultTransport, os.Stdout = transport, stdout }()
	main()
	main()

	text, err := os.ReadFile(out.Name())
	if err != nil || out.Close() != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), `"type":"message_stop"`); n != 2 || provider.Counts().OpenBodies > 0 {
		t.Errorf("%d answers, %+v:\n%s", n, provider.Counts(), text)
	}
	store, err := redisstore.Open(url, redisstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	limit := weir.PerMinute(8_000).WithBurst(8_000 - 134)
	output, err := weir.New(weir.Config{Name: "anthropic claude-sonnet-4 otpm", Store: store, Limits: []weir.Limit{limit}})
	if err != nil {
		t.Fatal(err)
	}
	// 133 tokens return per second. Settlements may still be on their way.
	var used int64
	for range 100 {
		d, err := output.Peek(t.Context(), "claude-sonnet-4")
		if err != nil {
			t.Fatal(err)
		}
		if used = limit.Burst - d.Remaining; used <= 80 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if used > 80 {
		t.Errorf("%d tokens are counted, want 80 or less", used)
	}
}
