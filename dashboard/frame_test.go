package dashboard

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/internal/inspect"
	"github.com/goweir/weir/store"
)

var update = flag.Bool("update", false, "write golden files anew")

// TestFrameJSON compares the data of the page with a golden file.
func TestFrameJSON(t *testing.T) {
	t.Parallel()
	f := sampleFrame()
	for _, column := range []*[]*float64{
		&f.Points.Admitted, &f.Points.Refused, &f.Points.Waiting, &f.Points.Fleet, &f.Points.Paused, &f.Points.P50, &f.Points.P99, &f.Points.Latency,
	} {
		*column = (*column)[:2]
	}
	f.Points.Time = f.Points.Time[:2]
	f.Points.P50[0] = nil
	f.Redis.Error, f.Redis.AwayFor = "connection refused", 1200
	var got bytes.Buffer
	if err := json.Indent(&got, encode(f), "", "  "); err != nil {
		t.Fatal(err)
	}
	golden(t, "frame.json", got.Bytes())
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s differs (%v); go test -update writes it anew:\n%s", path, err, got)
	}
}

// TestFrameWithoutRows checks that empty tables are lists, not null.
func TestFrameWithoutRows(t *testing.T) {
	t.Parallel()
	d := newDashboard(t, Config{})
	data := string(encode(shown(d)))
	for _, name := range []string{"waiting", "slowed", "busy", "upstream", "fallback", "log"} {
		if !strings.Contains(data, `"`+name+`":[]`) {
			t.Errorf("%s is no empty list in %s", name, data)
		}
	}
}

// TestFrameInAPage shows a key that would end the script with the data.
func TestFrameInAPage(t *testing.T) {
	t.Parallel()
	f := emptyFrame()
	f.Busy = append(f.Busy, busyRow{keyName: namer{plain: true}.name("api", "</script><script>alert(1)</script>")})
	page := assemble()
	got := string(page.with(encode(f)))
	if n := strings.Count(got, "</script>"); n != 2 {
		t.Errorf("%d scripts end in the page, want 2", n)
	}
	if strings.Contains(got, "{{") || strings.Contains(string(page.with(nil)), `id="data"`) {
		t.Error("the page is not filled in, or has data too many")
	}
}

// TestPageIsSelfContained looks for links that a browser would fetch.
func TestPageIsSelfContained(t *testing.T) {
	t.Parallel()
	page := assemble()
	text := string(page.with(nil))
	for _, no := range []string{"src=", "@import", "url(", "<link rel=\"stylesheet", "innerHTML", "insertAdjacentHTML", "document.write", "eval("} {
		if strings.Contains(text, no) {
			t.Errorf("the page has %s", no)
		}
	}
	if n := len(text); n > 100_000 {
		t.Errorf("the page has %d bytes", n)
	}
	if !strings.Contains(text, "The MIT License (MIT)") || !strings.Contains(text, "uPlot (v1.6.32)") {
		t.Error("uPlot or its license is missing")
	}
}

// TestBusyKeys: a key is busy while its units are used or its calls are in flight.
func TestBusyKeys(t *testing.T) {
	t.Parallel()
	limit := func(used int64) []inspect.Limit {
		return []inspect.Limit{{Limit: store.Limit{Rate: 10, Period: time.Minute}, Used: used}}
	}
	read := reading{keys: []*inspect.Key{
		{Limiter: "api", Key: "unused", Limits: limit(0)},
		{Limiter: "api", Key: "none"},
		{Limiter: "github", Key: "in flight, and no state", Stored: "a", InFlight: 4},
		{Limiter: "github", Key: "in flight, and unused", Stored: "b", InFlight: 1, Limits: limit(0)},
		{Limiter: "api", Key: "used", Limits: limit(9)},
	}}
	read.index()
	rows := (&tables{names: namer{plain: true}}).busy(view{reading: &read}, read.keys)
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprint(r.Key, ": ", len(r.Limits), " limits, ", r.InFlight))
	}
	want := []string{"used: 1 limits, 0", "in flight, and no state: 0 limits, 4", "in flight, and unused: 1 limits, 1"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
