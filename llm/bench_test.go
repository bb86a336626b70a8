package llm_test

import (
	"net/http"
	"testing"

	"github.com/goweir/weir/llm"
	"github.com/goweir/weir/store/localstore"
)

// answering is a base that answers at once, always with the same response.
type answering http.Response

func (a *answering) RoundTrip(*http.Request) (*http.Response, error) { return (*http.Response)(a), nil }

// uncounted returns a base, a Transport over it, and a request that costs no tokens.
func uncounted(tb testing.TB) (base, over http.RoundTripper, req *http.Request) {
	tb.Helper()
	s, err := localstore.New(localstore.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	base = &answering{StatusCode: http.StatusOK, Body: http.NoBody, Header: http.Header{}}
	over, err = llm.NewTransport(s, llm.Config{Provider: llm.OpenAI, Limits: llm.Limits{RPM: 100, TPM: 100_000}, Base: base})
	if err != nil {
		tb.Fatal(err)
	}
	req, err = http.NewRequest(http.MethodGet, "https://llm.example/v1/models", nil)
	if err != nil {
		tb.Fatal(err)
	}
	return base, over, req
}

// TestUncountedDoesNotAllocate: a request without a body passes at no cost.
func TestUncountedDoesNotAllocate(t *testing.T) {
	_, over, req := uncounted(t)
	if n := testing.AllocsPerRun(100, func() { _, _ = over.RoundTrip(req) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkUncounted sends a request without a body: to a base, and to a Transport
// over it.
func BenchmarkUncounted(b *testing.B) {
	base, over, req := uncounted(b)
	for name, rt := range map[string]http.RoundTripper{"base": base, "over": over} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := rt.RoundTrip(req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
