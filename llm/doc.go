// Package llm keeps a fleet within the budgets of an LLM provider: requests, input
// tokens and output tokens per minute, by model, over one shared store.
//
//	transport, err := llm.NewTransport(store, llm.Config{
//		Provider: llm.Anthropic,
//		Models: map[string]llm.Limits{
//			"claude-sonnet-4": {RPM: 50, ITPM: 30_000, OTPM: 8_000, Bucket: true},
//		},
//	})
//	client := &http.Client{Transport: transport}
//
// The client is any provider's SDK's, or a program's own. Each request books an
// estimate before it leaves, and its response corrects that: see [Transport].
//
// [ReadRequest] and [ReadUsage] serve programs that have a [weir.Transport] of their
// own: as its Key, Cost and Settle.
package llm
