package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/llm"
)

const workers = 4

// load is one kind of calls.
type load struct {
	name       string
	background bool
	callers    int // of each worker
	pause      time.Duration
	maxTokens  int
	prompt     string
}

var loads = []load{
	{"interactive", false, 1, 400 * time.Millisecond, 60, "Name a river."},
	{"batch", true, 3, 0, 400, strings.Repeat("Summarize this. ", 100)},
}

// newClient returns the client of one worker. Clients with one name on one store share
// the budgets.
func newClient(store weir.Store, name string, base http.RoundTripper) (*http.Client, error) {
	transport, err := llm.NewTransport(store, llm.Config{
		Provider: llm.Anthropic,
		Name:     name,
		Models:   map[string]llm.Limits{model: limits},
		Reserve:  10, // percent that batch calls leave to interactive calls
		Base:     leaving{base},
	})
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: transport}, nil
}

// play makes all workers send calls for a time. Then waiting calls give up, and calls
// that have left get their answers.
func play(ctx context.Context, store weir.Store, name, url string, base http.RoundTripper, length time.Duration) (*result, error) {
	r := &result{kinds: make([]kind, len(loads)), length: length}
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	var all sync.WaitGroup
	for range workers {
		client, err := newClient(store, name, base)
		if err != nil {
			return nil, err
		}
		for i, l := range loads {
			for range l.callers {
				all.Go(func() {
					if err := l.send(ctx, client, url, r, i); err != nil {
						r.fail(err)
						cancel()
					}
				})
			}
		}
	}
	all.Wait()
	return r, errors.Join(r.failed...)
}

// send sends one call after another until ctx ends.
func (l *load) send(ctx context.Context, client *http.Client, url string, r *result, kind int) error {
	if l.background {
		ctx = weir.InBackground(ctx) // gives way to other calls
	}
	for ctx.Err() == nil {
		o, err := l.call(ctx, client, url)
		if err != nil && ctx.Err() == nil {
			return err
		}
		r.add(kind, o)
		select {
		case <-time.After(l.pause):
		case <-ctx.Done():
		}
	}
	return nil
}

// outcome is the end of one call.
type outcome struct {
	wait   time.Duration
	status int // 0: the call was not sent
	usage  llm.Usage
}

// call makes a call and reads its answer.
func (l *load) call(ctx context.Context, client *http.Client, url string) (o outcome, err error) {
	start := time.Now()
	var left time.Time
	ctx = context.WithValue(ctx, leftKey{}, &left)
	body := fmt.Sprintf(`{"model":%q,"max_tokens":%d,"stream":true,"messages":[{"role":"user","content":%q}]}`, model, l.maxTokens, l.prompt)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/messages", strings.NewReader(body))
	if err != nil {
		return o, err
	}
	resp, err := client.Do(req)
	if err != nil {
		o.wait = time.Since(start)
		return o, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	o.wait, o.status = left.Sub(start), resp.StatusCode
	o.usage, _ = llm.ReadUsage(llm.Anthropic, resp, &weir.BodyEnd{Bytes: int64(len(answer)), Head: answer, Whole: true})
	return o, err
}

type leftKey struct{}

// leaving notes the departure of a call. After it the call may outlast the run.
type leaving struct{ base http.RoundTripper }

func (l leaving) RoundTrip(req *http.Request) (*http.Response, error) {
	*req.Context().Value(leftKey{}).(*time.Time) = time.Now()
	return l.base.RoundTrip(req.WithContext(context.WithoutCancel(req.Context())))
}
