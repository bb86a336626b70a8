// Command llm asks a model once. Processes that share a Redis share the model's budgets.
//
//	REDIS_URL=redis://localhost:6379 ANTHROPIC_API_KEY=… go run ./docs/llm
package main

import (
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/goweir/weir/llm"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/redisstore"
)

func main() {
	redis := must(redisstore.Open(os.Getenv("REDIS_URL"), redisstore.Config{}))
	defer redis.Close()
	store := must(fallback.New(fallback.Config{Primary: redis, Replicas: 3})) // in an outage each of 3 processes has a third
	client := &http.Client{Transport: must(llm.NewTransport(store, llm.Config{
		Provider: llm.Anthropic,
		Models: map[string]llm.Limits{
			"claude-sonnet-4": {RPM: 50, ITPM: 30_000, OTPM: 8_000, Bucket: true},
		},
	}))}
	body := `{"model":"claude-sonnet-4-5","max_tokens":300,"stream":true,"messages":[{"role":"user","content":"Name a river."}]}`
	req := must(http.NewRequest(http.MethodPost, "https://api.anthropic.com/v1/messages", strings.NewReader(body)))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	req.Header.Set("X-Api-Key", os.Getenv("ANTHROPIC_API_KEY"))
	resp := must(client.Do(req)) // waits until all three budgets have room
	resp.Write(os.Stdout)        // closes the body, which returns unused tokens
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
