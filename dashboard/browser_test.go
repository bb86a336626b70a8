package dashboard

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// browser is a headless Chromium. It takes commands of the DevTools protocol over a pipe.
type browser struct {
	cmd  *exec.Cmd
	to   *os.File
	gone chan struct{} // closed after its last message

	mu      sync.Mutex
	number  int
	answers map[int]chan answer
	errors  map[string][]string // of pages, by session
}

type answer struct {
	ID     int             `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`

	Session string `json:"sessionId"`
}

// chromium returns the browser's path. Without one it skips the test, or fails it if
// WEIR_REQUIRE_CHROMIUM is set.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("WEIR_REQUIRE_CHROMIUM") != "" {
		t.Fatal("there is no chromium on PATH, and WEIR_REQUIRE_CHROMIUM is set")
	}
	t.Skip("there is no chromium on PATH: nothing tries the page in a browser")
	return ""
}

func startBrowser(t *testing.T) *browser {
	t.Helper()
	path := chromium(t)
	in, to, err := os.Pipe()
	must(t, err)
	from, out, err := os.Pipe()
	must(t, err)
	b := &browser{to: to, gone: make(chan struct{}), answers: map[int]chan answer{}, errors: map[string][]string{}}
	b.cmd = exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--hide-scrollbars", "--user-data-dir="+t.TempDir(), "--remote-debugging-pipe", "about:blank")
	b.cmd.ExtraFiles = []*os.File{in, out} // They are 3 and 4 there.
	must(t, b.cmd.Start())
	_, _ = in.Close(), out.Close()
	go b.listen(from)
	t.Cleanup(func() {
		_, _ = b.call("", "Browser.close", nil)
		stop := time.AfterFunc(5*time.Second, func() { _ = b.cmd.Process.Kill() })
		<-b.gone
		_ = b.cmd.Wait()
		stop.Stop()
		_ = to.Close()
	})
	return b
}

// listen reads messages. Each ends with a zero byte.
func (b *browser) listen(from *os.File) {
	defer close(b.gone)
	defer from.Close()
	for r := bufio.NewReader(from); ; {
		text, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var a answer
		if json.Unmarshal(text[:len(text)-1], &a) != nil {
			continue
		}
		b.mu.Lock()
		switch a.Method {
		case "":
			b.answers[a.ID] <- a
			delete(b.answers, a.ID)
		case "Runtime.exceptionThrown", "Log.entryAdded":
			b.errors[a.Session] = append(b.errors[a.Session], string(a.Params))
		}
		b.mu.Unlock()
	}
}

// call sends a command to a page, or to the browser itself, and returns the result.
func (b *browser) call(session, method string, params any) (json.RawMessage, error) {
	b.mu.Lock()
	b.number++
	id, result := b.number, make(chan answer, 1)
	b.answers[id] = result
	b.mu.Unlock()
	text, err := json.Marshal(struct {
		ID      int    `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
		Session string `json:"sessionId,omitempty"`
	}{id, method, params, session})
	if err != nil {
		return nil, err
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		return nil, err
	}
	select {
	case a := <-result:
		if a.Error != nil {
			return nil, errors.New(a.Error.Message)
		}
		return a.Result, nil
	case <-b.gone:
		return nil, errors.New("the browser has gone")
	case <-time.After(20 * time.Second):
		return nil, fmt.Errorf("%s: no answer", method)
	}
}

// page is an open page.
type page struct {
	t       *testing.T
	browser *browser
	session string
}

// open opens a page of some width. Its errors fail the test.
func (b *browser) open(t *testing.T, url string, width int) *page {
	t.Helper()
	p := &page{t, b, ""}
	var target struct{ TargetID, SessionID string }
	must(t, json.Unmarshal(p.do("Target.createTarget", map[string]any{"url": "about:blank", "newWindow": true}), &target))
	must(t, json.Unmarshal(p.do("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}), &target))
	p.session = target.SessionID
	p.do("Runtime.enable", nil)
	p.do("Log.enable", nil)
	p.do("Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}) // Without it, a picture of one page hides the others.
	p.do("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
	p.do("Page.navigate", map[string]any{"url": url})
	p.await("the page", `document.readyState === "complete" && !!document.getElementById("status")`)
	t.Cleanup(func() { _, _ = b.call("", "Target.closeTarget", map[string]any{"targetId": target.TargetID}) })
	return p
}

// do sends a command to the page.
func (p *page) do(method string, params any) json.RawMessage {
	p.t.Helper()
	result, err := p.browser.call(p.session, method, params)
	if err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
	return result
}

// eval returns the value of an expression.
func (p *page) eval(expression string) any {
	p.t.Helper()
	var got struct {
		Result           struct{ Value any }
		ExceptionDetails json.RawMessage
	}
	must(p.t, json.Unmarshal(p.do("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}), &got))
	if got.ExceptionDetails != nil {
		p.t.Fatalf("%s: %s", expression, got.ExceptionDetails)
	}
	return got.Result.Value
}

// await waits until an expression is true, and returns the time.
func (p *page) await(want, expression string) time.Duration {
	p.t.Helper()
	began := time.Now()
	for p.eval(expression) != true {
		if time.Since(began) > 10*time.Second {
			p.t.Fatalf("the page does not show %s: %s\n%v", want, expression, p.eval("document.body.innerText"))
		}
		time.Sleep(20 * time.Millisecond)
	}
	return time.Since(began)
}

// noErrors fails the test if the page had an error since the last call.
func (p *page) noErrors() {
	p.t.Helper()
	for _, e := range p.forget() {
		p.t.Errorf("in the browser: %s", e)
	}
}

// forget drops the errors of the page, and returns them.
func (p *page) forget() []string {
	p.browser.mu.Lock()
	defer p.browser.mu.Unlock()
	errors := p.browser.errors[p.session]
	delete(p.browser.errors, p.session)
	return errors
}
