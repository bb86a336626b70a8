package weir_test

import (
	"net/http"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/localstore"
)

// answering is a base that answers at once, always with the same response.
type answering http.Response

func (a *answering) RoundTrip(*http.Request) (*http.Response, error) { return (*http.Response)(a), nil }

// BenchmarkTransportLocal is of requests that need not wait, over a base that does
// nothing: what a Transport costs is what it takes more than that.
func BenchmarkTransportLocal(b *testing.B) {
	silent := http.Header{
		"Content-Type": {"application/json"}, "Content-Length": {"512"}, "Date": {"Mon, 02 Jan 2006 15:04:05 GMT"},
		"Cache-Control": {"no-store"}, "Vary": {"Accept-Encoding"}, "X-Request-Id": {"0123456789abcdef"},
	}
	for _, bb := range []struct {
		name   string
		header http.Header
	}{{"no headers", http.Header{}}, {"none of limits", silent}} {
		base := &answering{StatusCode: http.StatusOK, Body: http.NoBody, Header: bb.header}
		b.Run("base/"+bb.name, func(b *testing.B) { roundTrips(b, base) })
		b.Run("over/"+bb.name, func(b *testing.B) {
			store, err := localstore.New(localstore.Config{})
			if err != nil {
				b.Fatal(err)
			}
			l := newLimiter(b, store, func(c *weir.Config) { c.Limits = []weir.Limit{weir.PerSecond(1).WithBurst(1e9)} })
			t, err := weir.NewTransport(weir.TransportConfig{Limiter: l, Base: base})
			if err != nil {
				b.Fatal(err)
			}
			roundTrips(b, t)
		})
	}
}

func roundTrips(b *testing.B, t http.RoundTripper) {
	req, err := http.NewRequest(http.MethodGet, "https://api.example.com/things/7", http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := t.RoundTrip(req); err != nil {
			b.Fatal(err)
		}
	}
}
