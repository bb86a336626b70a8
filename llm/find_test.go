package llm_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/llm"
)

// ended is the end of a body, as a Transport keeps it.
func ended(body string, whole bool) *weir.BodyEnd {
	return &weir.BodyEnd{
		Bytes: int64(len(body)), Head: []byte(body[:min(len(body), 4096)]), Tail: []byte(body[max(0, len(body)-4096):]), Whole: whole,
	}
}

const (
	chatStream = `data: {"choices":[{"delta":{"content":"hi"}}],"usage":null}` + "\n\n" +
		`data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":34,"total_tokens":46,"prompt_tokens_details":{"cached_tokens":2}}}` + "\n\ndata: [DONE]\n\n"
	messagesStart = "event: message_start\n" + `data: {"type":"message_start","message":{"usage":{"input_tokens":10,"cache_creation_input_tokens":3,"cache_read_input_tokens":7,"output_tokens":1}}}` + "\n\n"
	messagesEnd   = "event: message_delta\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":34}}` + "\n\nevent: message_stop\n" + `data: {"type":"message_stop"}` + "\n\n"
	geminiPart    = `{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":5,"totalTokenCount":17}}`
	geminiLast    = `{"candidates":[{"content":{},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":30,"thoughtsTokenCount":4,"cachedContentTokenCount":2,"totalTokenCount":46},"modelVersion":"g"}`
)

// delta is n bytes of a stream's text.
func delta(n int) string {
	return strings.Repeat("event: content_block_delta\n"+`data: {"type":"content_block_delta","delta":{"text":"say \"usage\":{\"input_tokens\":1}"}}`+"\n\n", n/100+1)
}

func TestReadUsage(t *testing.T) {
	t.Parallel()
	none, cached := llm.Usage{Input: -1, Output: -1}, llm.Usage{Input: 10, Cached: 2, Output: 34}
	anthropic := llm.Usage{Input: 13, Cached: 7, Output: 34}
	completed := `data: {"type":"response.completed","response":{"output":[{"text":"` + strings.Repeat("x", 9000) + `"}],"usage":{"input_tokens":12,"input_tokens_details":{"cached_tokens":2},"output_tokens":34},"metadata":{"a":"}"}}}` + "\n\n"
	for name, test := range map[string]struct {
		provider llm.Provider
		kind     string
		body     string
		broken   bool
		want     llm.Usage
	}{
		"chat":                                     {llm.OpenAI, "application/json", `{"choices":[{}],"usage":{"prompt_tokens":12,"prompt_tokens_details":{"cached_tokens":2},"completion_tokens":34}}`, false, cached},
		"chat, long answer":                        {llm.OpenAI, "application/json", `{"choices":[{"text":"` + strings.Repeat("\\\"", 9000) + `"}],"usage":{"prompt_tokens":12,"prompt_tokens_details":{"cached_tokens":2},"completion_tokens":34}}`, false, cached},
		"chat, long answer, closed at its end":     {llm.OpenAI, "application/json", `{"choices":[{"text":"` + strings.Repeat("x", 9000) + `"}],"usage":{"prompt_tokens":12,"prompt_tokens_details":{"cached_tokens":2},"completion_tokens":34},"service_tier":"default"}`, true, cached},
		"chat, usage before a long answer":         {llm.OpenAI, "application/json", `{"usage":{"prompt_tokens":12,"prompt_tokens_details":{"cached_tokens":2},"completion_tokens":34},"choices":[{"text":"` + strings.Repeat("x", 9000) + `"}]}`, true, cached},
		"chat, cut":                                {llm.OpenAI, "application/json", `{"choices":[{"text":"abc`, true, none},
		"chat stream":                              {llm.OpenAI, "text/event-stream", chatStream, false, cached},
		"chat stream, closed at [DONE]":            {llm.OpenAI, "text/event-stream", chatStream, true, cached},
		"chat stream, CRLF and comments":           {llm.OpenAI, "text/event-stream", ": hello\r\n\r\n" + strings.ReplaceAll(chatStream, "\n", "\r\n"), false, cached},
		"chat stream, CR":                          {llm.OpenAI, "text/event-stream", strings.ReplaceAll(chatStream, "\n", "\r"), false, cached},
		"chat stream, no space":                    {llm.OpenAI, "text/event-stream", strings.ReplaceAll(chatStream, "data: ", "data:"), false, cached},
		"chat stream, data in two lines":           {llm.OpenAI, "text/event-stream", strings.Replace(chatStream, `[],"usage"`, "[],\ndata: \"usage\"", 1), false, cached},
		"chat stream, no last empty line":          {llm.OpenAI, "text/event-stream", strings.TrimSuffix(chatStream, "\n\ndata: [DONE]\n\n"), false, cached},
		"chat stream without usage":                {llm.OpenAI, "text/event-stream", "data: {\"choices\":[{}]}\n\ndata: [DONE]\n\n", false, none},
		"chat stream, usage twice":                 {llm.OpenAI, "text/event-stream", strings.Replace(chatStream, `"usage":null`, `"usage":{"prompt_tokens":1,"completion_tokens":1}`, 1), false, cached},
		"chat stream, broken, usage twice":         {llm.OpenAI, "text/event-stream", `data: {"choices":[{}],"usage":{"prompt_tokens":12,"completion_tokens":1}}` + "\n\n", true, llm.Usage{Input: 12, Output: -1}},
		"response":                                 {llm.OpenAI, "application/json", `{"output":[],"usage":{"input_tokens":12,"input_tokens_details":{"cached_tokens":2},"output_tokens":34}}`, false, cached},
		"response stream, huge last event":         {llm.OpenAI, "text/event-stream", "data: {\"type\":\"response.created\",\"response\":{\"usage\":null}}\n\n" + completed, true, cached},
		"embedding":                                {llm.OpenAI, "application/json", `{"data":[],"usage":{"prompt_tokens":12,"total_tokens":12}}`, false, llm.Usage{Input: 12}},
		"messages":                                 {llm.Anthropic, "application/json", `{"content":[{"input":{"usage":{"input_tokens":99,"output_tokens":99}}}],"usage":{"input_tokens":10,"cache_creation_input_tokens":3,"cache_read_input_tokens":7,"output_tokens":34}}`, false, anthropic},
		"messages, a usage in a tool's input, cut": {llm.Anthropic, "application/json", `{"content":[{"input":{"usage":{"input_tokens":99,"output_tokens":99}}`, true, none},
		"messages, long, a usage in a tool's":      {llm.Anthropic, "application/json", `{"content":[{"text":"` + strings.Repeat("x", 9000) + `","input":{"usage":{"input_tokens":99,"output_tokens":99}}}]}`, false, none},
		"messages, long, a usage in a tool's, cut": {llm.Anthropic, "application/json", `{"content":[{"text":"` + strings.Repeat("x", 9000) + `"},{"input":{"usage":{"input_tokens":99,"output_tokens":99}},"name":"a"`, true, none},
		"messages stream":                          {llm.Anthropic, "text/event-stream", messagesStart + delta(1) + messagesEnd, false, anthropic},
		"messages stream, long":                    {llm.Anthropic, "text/event-stream; charset=utf-8", messagesStart + delta(100_000) + messagesEnd, false, anthropic},
		"messages stream, broken":                  {llm.Anthropic, "text/event-stream", messagesStart + delta(100_000), true, llm.Usage{Input: 13, Cached: 7, Output: -1}},
		"messages stream, ends too early":          {llm.Anthropic, "text/event-stream", messagesStart + delta(1), false, llm.Usage{Input: 13, Cached: 7, Output: -1}},
		"messages stream, an error":                {llm.Anthropic, "text/event-stream", "event: error\ndata: {\"type\":\"error\",\"error\":{}}\n\n", false, none},
		"generateContent":                          {llm.Gemini, "application/json", geminiLast, false, cached},
		"generateContent stream":                   {llm.Gemini, "text/event-stream", "data: " + geminiPart + "\r\n\r\ndata: " + geminiLast + "\r\n\r\n", false, cached},
		"generateContent array":                    {llm.Gemini, "application/json", "[" + geminiPart + "\n,\r\n" + geminiLast + "]", false, cached},
		"generateContent array, long":              {llm.Gemini, "application/json", "[" + strings.Repeat(geminiPart+",\n", 100) + geminiLast + "\n]", false, cached},
		"converse":                                 {llm.Bedrock, "application/json", `{"metrics":{},"output":{},"usage":{"inputTokens":10,"cacheWriteInputTokens":3,"cacheReadInputTokens":7,"outputTokens":34}}`, false, anthropic},
		"converse stream":                          {llm.Bedrock, "application/vnd.amazon.eventstream", "\x00\x00\x01\"{" + strings.Repeat("\x00\xff", 5000) + `{"metrics":{"latencyMs":1},"usage":{"inputTokens":10,"cacheWriteInputTokens":3,"cacheReadInputTokens":7,"outputTokens":34}}` + "\"{[\x07", false, anthropic},
		"numbers that can't be":                    {llm.OpenAI, "application/json", `{"usage":{"prompt_tokens":-1,"completion_tokens":1e300}}`, false, none},
		"a wrong output beside a total":            {llm.OpenAI, "application/json", `{"usage":{"prompt_tokens":12,"completion_tokens":-5,"total_tokens":7}}`, false, llm.Usage{Input: 12, Output: -1}},
		"text for usage":                           {llm.OpenAI, "application/json", `{"usage":"12"}`, false, none},
		"usage of an unknown shape":                {llm.OpenAI, "application/json", `{"usage":{"tokens":{"in":12}}}`, false, none},
		"an array of numbers":                      {llm.OpenAI, "application/json", `[1,2]`, false, none},
		"null":                                     {llm.OpenAI, "application/json", `null`, false, none},
		"text for numbers":                         {llm.OpenAI, "application/json", `{"usage":{"prompt_tokens":"12","completion_tokens":"34"}}`, false, none},
		"garbage":                                  {llm.OpenAI, "", "\x00\"usage\":{\\", false, none},
		"empty":                                    {llm.OpenAI, "", "", false, none},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp := &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {test.kind}}}
			got, found := llm.ReadUsage(test.provider, resp, ended(test.body, !test.broken))
			if got != test.want || found != (test.want != none) {
				t.Errorf("%+v, %v; want %+v", got, found, test.want)
			}
			resp.Header.Set("Content-Encoding", "gzip")
			if got, found := llm.ReadUsage(test.provider, resp, ended(test.body, !test.broken)); found {
				t.Errorf("%+v of a compressed body", got)
			}
		})
	}
}

func TestReadUsageOfNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		resp *http.Response
		end  *weir.BodyEnd
	}{
		"no response": {nil, ended(chatStream, true)}, "no end yet": {&http.Response{}, nil}, "neither": {}, "no headers, no bytes": {&http.Response{}, &weir.BodyEnd{}},
	} {
		if u, found := llm.ReadUsage(llm.OpenAI, test.resp, test.end); found || u != (llm.Usage{Input: -1, Output: -1}) {
			t.Errorf("%s: %+v, %v", name, u, found)
		}
	}
}

// TestReadUsageCutAnywhere: wherever a stream is cut, its counts are unknown or right.
func TestReadUsageCutAnywhere(t *testing.T) {
	t.Parallel()
	parts := func(format string, n int) (all string) {
		for i := range n {
			all += fmt.Sprintf(format, i, i+1)
		}
		return all
	}
	for name, test := range map[string]struct {
		provider llm.Provider
		kind     string
		body     func(n int) string
		want     llm.Usage
	}{
		"messages": {llm.Anthropic, "text/event-stream", func(n int) string { return messagesStart + delta(100*n) + messagesEnd }, llm.Usage{Input: 13, Cached: 7, Output: 34}},
		"chat": {llm.OpenAI, "text/event-stream", func(n int) string {
			return parts(`data: {"choices":[{"delta":{"content":"%d"}}],"usage":null,"tokens":%d}`+"\n\n", n) + chatStream
		}, llm.Usage{Input: 10, Cached: 2, Output: 34}},
		"chat, a usage in each event": {llm.OpenAI, "text/event-stream", func(n int) string {
			return parts(`data: {"choices":[{"delta":{"content":"%d"}}],"usage":{"prompt_tokens":12,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":2}}}`+"\n\n", n) + chatStream
		}, llm.Usage{Input: 10, Cached: 2, Output: 34}},
		"generateContent array": {llm.Gemini, "application/json", func(n int) string {
			return "[" + strings.Repeat(geminiPart+"\n,\r\n", n) + geminiLast + "\n]\n"
		}, llm.Usage{Input: 10, Cached: 2, Output: 34}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp := &http.Response{Header: http.Header{"Content-Type": {test.kind}}}
			for _, n := range []int{1, 40, 90} {
				body := test.body(n)
				for cut := range body {
					if cut%97 > 0 && cut > 300 && cut < len(body)-300 && body[cut-1] != '}' {
						continue
					}
					u, _ := llm.ReadUsage(test.provider, resp, ended(body[:cut], false))
					if u.Input != -1 && u.Input+u.Cached != test.want.Input+test.want.Cached || u.Output != -1 && u.Output != test.want.Output {
						t.Fatalf("%+v, cut at %d of %d", u, cut, len(body))
					}
				}
				if u, _ := llm.ReadUsage(test.provider, resp, ended(body, true)); u != test.want {
					t.Errorf("%+v of all %d bytes", u, len(body))
				}
			}
		})
	}
}

func FuzzReadUsage(f *testing.F) {
	for i, body := range []string{chatStream, messagesStart + delta(5000) + messagesEnd, "[" + geminiPart + "," + geminiLast + "]", `{"usage":{"inputTokens":1}}`, "\"usage\":{"} {
		f.Add(body, uint8(i), "text/event-stream", i%2 == 0)
		f.Add(body, uint8(i), "application/vnd.amazon.eventstream", i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, body string, provider uint8, kind string, whole bool) {
		resp := &http.Response{Header: http.Header{"Content-Type": {kind}}}
		u, found := llm.ReadUsage(llm.Provider(provider), resp, ended(body, whole))
		if u.Input < -1 || u.Cached < 0 || u.Output < -1 || found != (u.Input >= 0 || u.Output >= 0) {
			t.Error(u, found)
		}
	})
}

func TestReadRequest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path, body string
		model      string
		out        int64
	}{
		"chat":                  {"/v1/chat/completions", `{"messages":[{"content":"\"model\":\"x\""}],"model":"gpt-5","max_tokens":10}`, "gpt-5", 10},
		"reasoning":             {"/v1/chat/completions", `{"model":"o3","max_completion_tokens":70}`, "o3", 70},
		"several choices":       {"/v1/chat/completions", `{"model":"m","max_tokens":10,"n":3}`, "m", 30},
		"responses":             {"/v1/responses", `{"model":"m","max_output_tokens":20}`, "m", 20},
		"no maximum":            {"/v1/responses", `{"model":"m","max_output_tokens":null}`, "m", -1},
		"embeddings":            {"/v1/embeddings", `{"model":"e","input":"x"}`, "e", 0},
		"Azure":                 {"/openai/deployments/my-gpt/chat/completions", `{"max_tokens":5}`, "my-gpt", 5},
		"Gemini":                {"/v1beta/models/gemini-2.5-pro:streamGenerateContent", `{"generationConfig":{"maxOutputTokens":9}}`, "gemini-2.5-pro", 9},
		"Bedrock":               {"/model/anthropic.claude-v2%3A0/converse-stream", `{"inferenceConfig":{"maxTokens":8}}`, "anthropic.claude-v2:0", 8},
		"a negative":            {"/v1/messages", `{"model":"m","max_tokens":-8}`, "m", -1},
		"of another type":       {"/v1/messages", `{"max_tokens":"8","model":"m"}`, "m", -1},
		"not JSON":              {"/v1/messages", `--boundary`, "", -1},
		"a count beyond floats": {"/v1/messages", `{"max_tokens":1e400,"model":"m"}`, "m", -1},
		"a number for a model":  {"/v1/messages", `{"model":5,"max_tokens":8}`, "", 8},
		"no model":              {"/v1/messages", `{"max_tokens":8}`, "", 8},
		"an array":              {"/v1/messages", `[{"model":"m","max_tokens":8}]`, "", -1},
		"null":                  {"/v1/messages", `null`, "", -1},
		"cut JSON":              {"/v1/messages", `{"model":"m","max_tokens":8`, "", -1},
		"an immense count":      {"/v1/messages", `{"model":"m","max_tokens":1e30}`, "m", -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, _ := http.NewRequest(http.MethodPost, "https://llm.example"+test.path, strings.NewReader(test.body))
			got, err := llm.ReadRequest(req)
			if want := (llm.Request{Model: test.model, Input: int64(len(test.body)+3) / 4, MaxOutput: test.out}); got != want || err != nil {
				t.Errorf("%+v, %v; want %+v", got, err, want)
			}
		})
	}
	req, _ := http.NewRequest(http.MethodPost, "https://llm.example/", strings.NewReader("x"))
	req.GetBody = nil
	if _, err := llm.ReadRequest(req); err == nil {
		t.Error("no error for a body that can be read once")
	}
}

func FuzzReadRequest(f *testing.F) {
	f.Add("/v1/messages", `{"model":"m","max_tokens":5,"n":2}`)
	f.Add("/model/a%3Ab/converse", `{"inferenceConfig":{"maxTokens":8}}`)
	f.Fuzz(func(t *testing.T, path, body string) {
		req, err := http.NewRequest(http.MethodPost, "https://llm.example/"+path, strings.NewReader(body))
		if err != nil {
			return
		}
		r, err := llm.ReadRequest(req)
		if err != nil || r.Input < 0 || r.MaxOutput < -1 {
			t.Error(fmt.Sprintf("%+v", r), err)
		}
	})
}

// TestNestedUsages: a body with hundreds of usages, one in the other, costs a few
// milliseconds: not each is read to its end.
func TestNestedUsages(t *testing.T) {

	const n = 800
	body := []byte(strings.Repeat(`{"usage":`, n) + `{"inputTokens":3,"outputTokens":4}` + strings.Repeat("}", n))
	end := &weir.BodyEnd{Bytes: int64(len(body)), Head: body[:4096], Tail: body[len(body)-4096:], Whole: true}
	for _, kind := range []string{"application/json", "text/event-stream", "application/vnd.amazon.eventstream"} {
		resp := &http.Response{Header: http.Header{"Content-Type": {kind}}}
		if allocs := testing.AllocsPerRun(1, func() { llm.ReadUsage(llm.Bedrock, resp, end) }); allocs > 5*n {
			t.Errorf("%s: %v allocations", kind, allocs)
		}
	}
}
