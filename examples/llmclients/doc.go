// Package llmclients shows three clients of LLM providers over a Transport of package
// llm, each with a whole answer and a stream. Tests run them.
//
//	client          its own retries                                  here
//	openai-go       2, of 408, 409, 429, 5xx and failed requests     off
//	anthropic-sdk   2, of the same                                   off
//	langchaingo     none                                             none
//
// A client with retries also tries again after a refusal by weir. No attempt before its
// RetryAfter can succeed. Each attempt passes the Transport, so retries never exceed a
// budget. Package retry around the Transport tries again only where that helps.
//
// go.mod names early releases of the official clients, which compile in seconds. The
// code is the same for openai-go v3.98.0 and anthropic-sdk-go v1.84.0.
package llmclients
