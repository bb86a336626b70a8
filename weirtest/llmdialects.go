package weirtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// maxPrompt is the maximum length of a request's body.
const maxPrompt = 16 << 20

// prompt is a request, with its estimates.
type prompt struct {
	Model         string
	Stream        bool
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	MaxTokens     int64 `json:"max_tokens"`
	MaxCompletion int64 `json:"max_completion_tokens"`
	MaxOutput     int64 `json:"max_output_tokens"`
	body          []byte
	in, out       int64
}

func readPrompt(r *http.Request) (p prompt) {
	p.body, _ = io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(p.body))
	_ = json.Unmarshal(p.body, &p)
	p.in = int64(len(p.body)+3) / 4
	if p.out = max(p.MaxTokens, p.MaxCompletion, p.MaxOutput); p.out == 0 {
		p.out = 1024
	}
	return p
}

// dialect is the form of answers at a path.
type dialect struct {
	whole  func(p prompt, in, out int64) string
	events func(p prompt, in, out int64) (begin, part, end string)
}

var dialects = map[string]dialect{
	"/chat/completions": {chat, chatEvents},
	"/responses":        {response, responseEvents},
	"/messages":         {messages, messagesEvents},
}

func chatUsage(in, out int64) string {
	return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, in, out, in+out)
}

func chat(p prompt, in, out int64) string {
	return fmt.Sprintf(`{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":%q,"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}],"usage":%s}`,
		p.Model, chatUsage(in, out))
}

// chatEvents tells usage only if the request asks for it, as OpenAI does.
func chatEvents(p prompt, in, out int64) (begin, part, end string) {
	chunk := func(choices, usage string) string {
		return fmt.Sprintf("data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":%q,\"choices\":%s%s}\n\n", p.Model, choices, usage)
	}
	none, last := "", ""
	if p.StreamOptions.IncludeUsage {
		none, last = `,"usage":null`, chunk("[]", `,"usage":`+chatUsage(in, out))
	}
	return chunk(`[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]`, none),
		chunk(`[{"index":0,"delta":{"content":"word "},"finish_reason":null}]`, none),
		chunk(`[{"index":0,"delta":{},"finish_reason":"stop"}]`, none) + last + "data: [DONE]\n\n"
}

func response(p prompt, in, out int64) string {
	return fmt.Sprintf(`{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":%q,"output":[{"type":"message","id":"msg_1","status":"completed","role":"assistant","content":[{"type":"output_text","text":"ok","annotations":[]}]}],"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":0},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":%d},"metadata":{}}`,
		p.Model, in, out, in+out)
}

func responseEvents(p prompt, in, out int64) (begin, part, end string) {
	return fmt.Sprintf("event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\",\"model\":%q,\"usage\":null}}\n\n", p.Model),
		"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"word \"}\n\n",
		fmt.Sprintf("event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":%s}\n\n", response(p, in, out))
}

func messages(p prompt, in, out int64) string {
	return fmt.Sprintf(`{"id":"msg_1","type":"message","role":"assistant","model":%q,"content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":%d,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":%d}}`,
		p.Model, in, out)
}

// messagesEvents tells the input first and the output last, as Anthropic does.
func messagesEvents(p prompt, in, out int64) (begin, part, end string) {
	return fmt.Sprintf("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":%q,\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":%d,\"output_tokens\":1}}}\n\n"+
			"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\nevent: ping\ndata: {\"type\":\"ping\"}\n\n", p.Model, in),
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"word \"}}\n\n",
		fmt.Sprintf("event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":%d}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n", out)
}
