package dashboard

import (
	"bytes"
	"encoding/json"
	"image/png"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/long"
)

// within is the maximum time until the page shows a change: 2 s on a machine without
// other work.
func within() time.Duration {
	if long.Race {
		return 8 * time.Second
	}
	return 4 * time.Second
}

// TestPage opens the page in a browser.
func TestPage(t *testing.T) {
	t.Parallel()
	b := startBrowser(t)
	for name, test := range map[string]func(*testing.T, *browser){
		"a fleet": testFleetInBrowser, "changes": testChangesInBrowser, "saved": testSavedInBrowser, "samples": testSamplesInBrowser,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, b)
		})
	}
}

// textOf returns an expression for the text of an element.
func textOf(id string) string { return `document.getElementById("` + id + `").innerText` }

func has(id, text string) string { return textOf(id) + `.includes("` + text + `")` }

func testFleetInBrowser(t *testing.T, b *browser) {
	f := newFleet(t, Config{ShowKeys: true})
	here := newLimiter(t, f.client, "here", perMinute, f.dash.Observe)
	slow := newLimiter(t, f.client, "slow", weir.PerHour(10), nil)
	server := httptest.NewServer(f.dash)
	defer server.Close()
	defer f.dash.Close()
	p := b.open(t, server.URL+"/below/a/prefix/", 1200)
	p.await("that it is live", has("status", "Live"))
	p.await("no keys", has("busy", "No key is in use"))

	shows := func(want, expression string, change func()) {
		t.Helper()
		change()
		took := p.await(want, expression)
		t.Logf("it shows %s after %v", want, took.Round(time.Millisecond))
		if took > within() {
			t.Error("that is too late")
		}
	}
	shows("a queue", has("waiting", "queue")+` && Number(document.querySelector("#waiting td:nth-child(3)").innerText) > 10`, func() { book(t, slow, "queue", 60) })
	shows("a pause", has("slowed", "❚❚ paused")+" && document.title.startsWith('1 pause')", func() { must(t, f.limiter.Pause(t.Context(), "provider", time.Minute)) })

	const html = `<img src=x onerror="document.title='!'"><script>document.title="!"</script>`
	book(t, slow, html, 10)
	p.await("a key with HTML", `[...document.querySelectorAll("#busy .name")].some(td => td.textContent === `+quote(html)+`)`)
	if p.eval(`document.querySelectorAll("main img, main script, main b:not(.key b)").length`) != 0. || p.eval("document.title") == "!" {
		t.Error("the key became HTML")
	}

	for range 5 {
		_, err := here.Allow(t.Context(), "user:1")
		must(t, err)
	}
	p.await("its limiter", has("limiters", "here"))
	p.await("the charts", `document.querySelectorAll("canvas").length === 3`)
	p.noErrors()

	shows("the outage", has("alerts", "Redis is away")+" && "+has("tiles", "away"), f.server.Kill)
	f.server.Restart()
	p.await("the return", "!"+has("alerts", "Redis is away"))

	// A page of another site would get no stream. A hidden page needs none.
	streams := func(want int) {
		t.Helper()
		deadline := time.Now().Add(5 * time.Second)
		for {
			f.dash.hub.mu.Lock()
			n := len(f.dash.hub.streams)
			f.dash.hub.mu.Unlock()
			if n == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d streams are open, want %d", n, want)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	hide := func(hidden string) {
		p.eval(`Object.defineProperty(document, "hidden", { value: ` + hidden + `, configurable: true }); document.dispatchEvent(new Event("visibilitychange"))`)
	}
	streams(1)
	hide("true")
	streams(0)
	hide("false")
	streams(1)
	p.noErrors()

	server.CloseClientConnections()
	p.await("the loss", has("status", "Trying again"))
	p.await("the next stream", has("status", "Live"))
	f.dash.Close()
	p.await("the end", has("status", "Trying again"))
	p.forget()
}

func testChangesInBrowser(t *testing.T, b *browser) {
	f := newFleet(t, Config{AllowChanges: true, Interval: minInterval})
	server := httptest.NewServer(f.dash)
	defer server.Close()
	defer f.dash.Close()
	slow := newLimiter(t, f.client, "slow", weir.PerHour(10), nil)
	book(t, slow, "user:1", 5)
	p := b.open(t, server.URL+"/", 1200)
	p.await("the key", has("busy", "abc3a47b8a"))
	click := func(selector string) { p.eval(`document.querySelector("` + selector + `").click()`) }

	// The focus stays on a button while rows come and go.
	p.eval(`document.querySelector("#busy button").focus()`)
	book(t, slow, "user:2", 10)
	p.await("another key before it", `document.querySelectorAll("#busy tbody tr").length === 2`)
	if got := p.eval(`document.activeElement.getAttribute("aria-label")`); got != "pause slow abc3a47b8a" {
		t.Errorf("the focus is on %v", got)
	}
	p.eval(`document.activeElement.click()`)
	p.await("a question", `document.getElementById("ask").open && `+has("ask-title", "Pause slow abc3a47b8a?"))
	click("#ask-yes")
	p.await("the pause", `!document.getElementById("ask").open && `+has("slowed", "❚❚ paused"))
	if d, err := slow.Allow(t.Context(), "user:1"); err != nil || d.Reason != weir.ReasonPaused {
		t.Errorf("after the pause: %+v %v", d, err)
	}
	click("#slowed button")
	click("#ask-yes")
	p.await("its end", has("slowed", "No key is paused"))
	click("#busy tr:nth-child(2) button:nth-child(2)")
	p.await("a question", has("ask-title", "Reset"))
	p.eval(`document.getElementById("ask-seconds").value = -1`)
	click("#ask-yes")
	p.await("one key", `document.querySelectorAll("#busy tbody tr").length === 1`)
	p.eval(`document.querySelector("#busy button").click()`)
	click("#ask-yes")
	p.await("an error", has("ask-error", "seconds: want 0.001"))
	click("#ask-no")
	if p.eval(`document.getElementById("ask").open`) != false {
		t.Error("Cancel leaves the question open")
	}
	p.forget() // The browser logs the refused change.

	p.eval(`document.getElementById("hold").click()`)
	p.await("that it is frozen", has("status", "Frozen at"))
	book(t, slow, "user:3", 1)
	time.Sleep(3 * minInterval)
	if p.eval(`document.querySelectorAll("#busy tbody tr").length`) != 1. {
		t.Error("a frozen page changes")
	}
	p.eval(`document.getElementById("hold").click()`)
	p.await("the new key", `document.querySelectorAll("#busy tbody tr").length === 2`)
	p.noErrors()
}

func testSavedInBrowser(t *testing.T, b *browser) {
	f := newFleet(t, Config{ShowKeys: true, AllowChanges: true})
	book(t, f.limiter, "</script><b>bold</b>", 40)
	w := httptest.NewRecorder()
	f.dash.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/save", nil))
	path := filepath.Join(t.TempDir(), "saved.html")
	must(t, os.WriteFile(path, w.Body.Bytes(), 0o600))
	p := b.open(t, "file://"+path, 1200)
	p.await("when it was saved", has("status", "Saved at"))
	p.await("the key", has("waiting", "</script><b>bold</b>"))
	if p.eval(`document.querySelectorAll("td button").length`) != 0. || p.eval(`document.getElementById("save").offsetParent === null`) != true {
		t.Error("a saved page has buttons")
	}
	p.noErrors()
}

// testSamplesInBrowser looks for parts that don't fit. With -write it also writes
// pictures.
func testSamplesInBrowser(t *testing.T, b *browser) {
	dir := t.TempDir()
	document := assemble()
	for name, f := range samples() {
		path := filepath.Join(dir, name+".html")
		must(t, os.WriteFile(path, document.with(encode(f)), 0o600))
		for _, width := range []int{360, 800, 1280} {
			p := b.open(t, "file://"+path, width)
			p.await("when it was saved", has("status", "Saved at"))
			if got := p.eval(`document.documentElement.scrollWidth - innerWidth`); got != 0. {
				t.Errorf("%s, %d wide: the page is %v wider", name, width, got)
			}
			if got := p.eval(`[...document.querySelectorAll("#tiles .value, h1, h2, th, button")].filter(e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth).map(e => e.textContent).join()`); got != "" {
				t.Errorf("%s, %d wide: these are cut off: %v", name, width, got)
			}
			if got := p.eval(`[...document.querySelectorAll(".scroll")].filter(e => e.scrollWidth > e.clientWidth).map(e => e.parentElement.id).join()`); got != "" {
				t.Errorf("%s, %d wide: these tables are wider: %v", name, width, got)
			}
			if got := p.eval(`[...document.querySelectorAll("table, [role=region], [role=img], dialog")].filter(e => !e.getAttribute("aria-label") && !e.getAttribute("aria-labelledby") && e.offsetParent).length`); got != 0. {
				t.Errorf("%s, %d wide: %v parts have no name", name, width, got)
			}
			if got := p.eval(has("alerts", "The keys of 10.0.0.4:6379 are missing")); got != (name == "part") {
				t.Errorf("%s, %d wide: it names a missing server: %v", name, width, got)
			}
			if *write != "" {
				for _, scheme := range []string{"light", "dark"} {
					p.picture(scheme, filepath.Join(*write, name+"-"+map[int]string{360: "phone", 800: "tablet", 1280: "desk"}[width]+"-"+scheme+".png"), 0)
				}
				if name == "full" && width == 1280 {
					p.documented(*write)
				}
			}
			p.noErrors()
		}
	}
}

// picture writes a picture of the page, in full height or in part.
func (p *page) picture(scheme, path string, height float64) {
	p.t.Helper()
	p.do("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}})
	p.eval(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`)
	options := map[string]any{"captureBeyondViewport": true, "format": "png"}
	if height > 0 {
		options["clip"] = map[string]any{"x": 0, "y": 0, "width": p.eval("innerWidth"), "height": height, "scale": 1}
	}
	var shot struct{ Data []byte }
	must(p.t, json.Unmarshal(p.do("Page.captureScreenshot", options), &shot))
	// Go's encoder makes smaller files.
	picture, err := png.Decode(bytes.NewReader(shot.Data))
	must(p.t, err)
	var small bytes.Buffer
	must(p.t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, picture))
	must(p.t, os.WriteFile(path, small.Bytes(), 0o600))
}

// documented writes the pictures of docs/dashboard.md: the page as it looks live.
func (p *page) documented(dir string) {
	p.eval(`document.querySelector(".tools").hidden = false; document.getElementById("status").textContent = "Live"; document.getElementById("status").className = "live"`)
	for _, scheme := range []string{"light", "dark"} {
		p.picture(scheme, filepath.Join(dir, "dashboard-"+scheme+".png"), 850)
	}
}

func quote(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}
