package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// visitor makes requests and prints the answers. After an error it makes none.
type visitor struct {
	out    io.Writer
	url    string
	client *http.Client
	err    error
}

func (v *visitor) says(text string) { fmt.Fprintf(v.out, "\n# %s\n\n", text) }

// login returns an API key, if the password is right.
func (v *visitor) login(name, password string) (apiKey string) {
	_, body := v.request("POST", "/login", name+":"+password, func(r *http.Request) { r.SetBasicAuth(name, password) })
	var answer struct {
		Key string `json:"api_key"`
	}
	_ = json.Unmarshal(body, &answer) // a refusal has none
	return answer.Key
}

// call returns the time until the next call: 0 if this one was served.
func (v *visitor) call(method, path, apiKey string) time.Duration {
	h, _ := v.request(method, path, apiKey, func(r *http.Request) { r.Header.Set("X-API-Key", apiKey) })
	seconds, _ := strconv.Atoi(h.Get("Retry-After")) // 0 without one
	return time.Duration(seconds) * time.Second
}

// shown are the headers in the output.
var shown = []string{
	"RateLimit-Policy", "RateLimit", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
	"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After",
}

func (v *visitor) request(method, path, who string, prepare func(*http.Request)) (http.Header, []byte) {
	if v.err != nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, v.url+path, http.NoBody)
	if err != nil {
		v.err = err
		return nil, nil
	}
	prepare(req)
	resp, err := v.client.Do(req)
	if err != nil {
		v.err = err
		return nil, nil
	}
	defer func() { _ = resp.Body.Close() }()
	fmt.Fprintf(v.out, "%s %s  %s\n  %s\n", method, path, who, resp.Status)
	for _, name := range shown {
		for _, value := range resp.Header.Values(name) {
			fmt.Fprintf(v.out, "  %s: %s\n", name, value)
		}
	}
	body, err := io.ReadAll(resp.Body)
	v.err = err
	fmt.Fprintf(v.out, "  %s", body)
	return resp.Header, body
}
