package llm_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/llm"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/weirtest"
)

// model returns a store, and the transport of a provider.
func model() (weir.Store, http.RoundTripper) {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	provider, err := weirtest.NewLLM(weirtest.LLMConfig{
		Used: func([]byte, int64, int64) (in, out int64) { return 40, 120 },
	})
	if err != nil {
		log.Fatal(err)
	}
	return store, provider.Transport()
}

// chat sends a message, and prints the outcome.
func chat(client *http.Client, body string) {
	resp, err := client.Post("https://llm.example/v1/chat/completions", "application/json", strings.NewReader(body))
	var limited *weir.LimitedError
	switch {
	case errors.As(err, &limited):
		fmt.Printf("%s refuses %d units of %s\n", limited.Scope, limited.Cost, limited.Key)
	case err != nil:
		fmt.Println(err)
	default:
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		fmt.Println(resp.Status)
	}
}

// Models share the budgets of the longest beginning of their names. The error names
// the budget that refuses.
func ExampleTransport() {
	store, base := model()
	transport, err := llm.NewTransport(store, llm.Config{
		Provider: llm.OpenAI,
		Limits:   llm.Limits{RPM: 60, TPM: 10_000}, // of each other model
		Models: map[string]llm.Limits{
			"gpt-5":      {RPM: 500, TPM: 30_000},
			"gpt-5-mini": {RPM: 1000, TPM: 1_000},
		},
		Refuse: true, // instead of waiting
		Base:   base,
	})
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: transport}
	chat(client, `{"model":"gpt-5-2026-01-01","max_tokens":900}`)
	chat(client, `{"model":"gpt-5-mini","max_tokens":900}`) // costs 160 in the end
	chat(client, `{"model":"gpt-5-mini","max_tokens":900}`)
	// Output:
	// 200 OK
	// 200 OK
	// openai gpt-5-mini tpm refuses 910 units of gpt-5-mini
}

// A call takes at most the output tokens that are left, and returns unused ones. The
// Transport counts the rest.
func ExampleReadUsage() {
	store, base := model()
	transport, err := llm.NewTransport(store, llm.Config{
		Provider: llm.OpenAI, Limits: llm.Limits{RPM: 60, ITPM: 30_000}, Base: base,
	})
	if err != nil {
		log.Fatal(err)
	}
	output, err := weir.New(weir.Config{
		Name: "openai output", Store: store, Limits: []weir.Limit{weir.Outbound(1000, time.Minute)},
	})
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: transport}
	for range 3 {
		if err := capped(context.Background(), client, output); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// max_tokens 800: used 120
	// max_tokens 800: used 120
	// max_tokens 760: used 120
}

// capped sends a request whose max_tokens are 200 to 800, as the budget allows.
func capped(ctx context.Context, client *http.Client, output *weir.Limiter) error {
	booked, d, err := output.ReserveAtMost(ctx, "gpt-5", 200, 800)
	if err != nil {
		return err
	}
	if booked == nil {
		return fmt.Errorf("less than 200 tokens are left, try again in %v", d.RetryAfter)
	}
	body := fmt.Sprintf(`{"model":"gpt-5","max_tokens":%d,"messages":[]}`, booked.Cost())
	resp, err := client.Post("https://llm.example/v1/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return errors.Join(err, booked.Cancel(ctx))
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err // Perhaps the model has run: the units stay booked.
	}
	end := &weir.BodyEnd{Bytes: int64(len(answer)), Head: answer, Whole: true}
	if usage, ok := llm.ReadUsage(llm.OpenAI, resp, end); ok && usage.Output >= 0 {
		fmt.Printf("max_tokens %d: used %d\n", booked.Cost(), usage.Output)
		return booked.Settle(ctx, usage.Output)
	}
	return nil
}
