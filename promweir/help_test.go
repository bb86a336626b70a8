package promweir_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/promweir"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/weirtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const ms = time.Millisecond

// world is a limiter on a local store, with a Collector.
type world struct {
	*promweir.Collector
	local *localstore.Store
	store *weirtest.Store // the local one, scripted
	l     *weir.Limiter
}

func newWorld(t testing.TB, configure ...func(*weir.Config)) *world {
	t.Helper()
	local, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Collector: promweir.New(), local: local, store: weirtest.NewStore(local)}
	w.with(t, configure...)
	return w
}

// with makes the limiter anew.
func (w *world) with(t testing.TB, configure ...func(*weir.Config)) {
	t.Helper()
	cfg := weir.Config{Store: w.local, Name: "api", Limits: []weir.Limit{weir.PerSecond(1).WithBurst(2)}, Hook: w.Observe}
	for _, f := range configure {
		f(&cfg)
	}
	w.l = nil // Its name is free then.
	var err error
	if w.l, err = weir.New(cfg); err != nil {
		t.Fatal(err)
	}
}

// asked puts the limiter over a weirtest.Store, so that calls of the store are timed.
func (w *world) asked(cfg *weir.Config) { cfg.Store = w.store }

// answer sends a request over a Transport to an upstream with this response.
func (w *world) answer(t *testing.T, status int, header http.Header) {
	t.Helper()
	tr, err := weir.NewTransport(weir.TransportConfig{
		Limiter: w.l, Key: weir.KeyStatic("key"),
		Base: roundTrip(func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: header, Body: http.NoBody, Request: req}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://api.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	time.Sleep(100 * ms) // for the brake
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// series returns a scrape, one line for each series. A histogram is its count and its
// sum.
func series(t testing.TB, c prometheus.Collector) (lines []string) {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(c); err != nil {
		t.Fatal(err)
	}
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			name := f.GetName() + "{" + strings.Join(labels, ",") + "}"
			switch h := m.GetHistogram(); {
			case h != nil:
				lines = append(lines, fmt.Sprint(name, " ", h.GetSampleCount(), " of ", h.GetSampleSum()))
			default:
				lines = append(lines, fmt.Sprint(name, " ", m.GetCounter().GetValue()+m.GetGauge().GetValue()))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

var background = context.Background()
