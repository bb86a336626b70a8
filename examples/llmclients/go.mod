module github.com/goweir/weir/examples/llmclients

go 1.26.0

replace github.com/goweir/weir => ../..

require (
	github.com/anthropics/anthropic-sdk-go v1.4.0
	github.com/goweir/weir v0.0.0-00010101000000-000000000000
	github.com/openai/openai-go/v3 v3.0.0
	github.com/tmc/langchaingo v0.1.14
)

require (
	github.com/dlclark/regexp2 v1.10.0 // indirect
	github.com/dunglas/httpsfv v1.1.2 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/pkoukk/tiktoken-go v0.1.6 // indirect
	github.com/tidwall/gjson v1.17.1 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.1 // indirect
	github.com/tidwall/sjson v1.2.5 // indirect
)
