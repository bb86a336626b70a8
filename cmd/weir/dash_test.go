package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestDash(t *testing.T) {
	t.Parallel()
	url, _ := started(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, to := io.Pipe()
	ended := make(chan result, 1)
	go func() {
		var errs bytes.Buffer
		code := run(ctx, []string{"dash", "--redis", url, "--listen", "127.0.0.1:0", "--show-keys"}, strings.NewReader(""), to, &errs)
		_ = to.Close()
		ended <- result{code: code, errs: errs.String()}
	}()
	page, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	page = strings.TrimSpace(page)
	for path, want := range map[string]string{"": "<title>weir", "state": `"user:1"`} {
		resp, err := http.Get(page + path)
		must(t, err)
		body, err := io.ReadAll(resp.Body)
		must(t, err)
		must(t, resp.Body.Close())
		if resp.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s: %s without %s: %.200s", path, resp.Status, want, body)
		}
	}
	cancel()
	if r := <-ended; r.code != 0 || r.errs != "" {
		t.Errorf("code %d, %q, want 0 after Ctrl-C", r.code, r.errs)
	}
}

func TestDashRefuses(t *testing.T) {
	t.Parallel()
	url, _ := started(t)
	for _, test := range []struct {
		name, url, listen string
		code              int
		want              string
	}{
		{"an address of the network", url, "0.0.0.0:8377", exitUsage, "--public"},
		{"all addresses", url, ":8377", exitUsage, "--public"},
		{"no port", url, "127.0.0.1", exitUsage, "want a loopback address with a port"},
		{"an unknown port", url, "127.0.0.1:99999", exitUsage, `--listen "127.0.0.1:99999": `},
		{"an address in use", url, strings.TrimSuffix(strings.TrimPrefix(url, "redis://"), patience), exitUsage, "address already in use: name another address"},
		{"no Redis", "redis://127.0.0.1:1", "127.0.0.1:0", exitAway, "Redis up?"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := runOn(t.Context(), test.url, "dash", "--listen", test.listen)
			if r.code != test.code || r.out != "" || !strings.Contains(r.errs, test.want) || strings.Count(r.errs, "\n") != 1 {
				t.Errorf("%+v, want code %d and one line with %q", r, test.code, test.want)
			}
		})
	}
}
