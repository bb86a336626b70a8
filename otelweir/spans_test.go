package otelweir_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/goweir/weir"
	"github.com/goweir/weir/otelweir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/weirtest"
)

// attributes returns attributes as text, sorted.
func attributes(list []attribute.KeyValue) string {
	var texts []string
	for _, a := range list {
		texts = append(texts, string(a.Key)+"="+a.Value.Emit())
	}
	slices.Sort(texts)
	return "{" + strings.Join(texts, ",") + "}"
}

// TestSpans: the caller's span gets a call's last decision and its wait, and no other
// span is made.
func TestSpans(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		cfg  otelweir.Config
		act  func(ctx context.Context, w *world) error
		want string // the span's attributes and events
	}{
		{"no call", otelweir.Config{}, func(context.Context, *world) error { return nil }, "{}"},
		{"admitted", otelweir.Config{}, func(ctx context.Context, w *world) error {
			_, err := w.l.Allow(ctx, "key")
			return err
		}, "{weir.degraded=false,weir.limiter=api,weir.result=allowed}"},
		{"refused without the store", otelweir.Config{}, func(ctx context.Context, w *world) error {
			w.store.Next(weirtest.Decide(store.Decision{Degraded: true, Reason: store.ReasonLimited, Limit: store.Per(1, time.Second), RetryAfter: time.Second}))
			_, err := w.l.Allow(ctx, "key")
			return err
		}, "{weir.degraded=true,weir.limiter=api,weir.result=limited}"},
		{"a wait", otelweir.Config{}, func(ctx context.Context, w *world) error {
			return errors.Join(w.l.Wait(ctx, "key"), w.l.Wait(ctx, "key"), w.l.Wait(ctx, "key"))
		}, "{weir.degraded=false,weir.limiter=api,weir.result=allowed} weir.wait{weir.limiter=api,weir.result=allowed,weir.wait.seconds=1}"},
		{"NoSpans", otelweir.Config{NoSpans: true}, func(ctx context.Context, w *world) error {
			return errors.Join(w.l.Wait(ctx, "key"), w.l.Wait(ctx, "key"), w.l.Wait(ctx, "key"))
		}, "{}"},
		{"an event of another kind", otelweir.Config{}, func(ctx context.Context, w *world) error {
			w.Observe(ctx, weir.Event{Kind: weir.EventLeaseLost, Scope: "api"})
			return nil
		}, "{}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w, recorder := newWorld(t, tt.cfg), tracetest.NewSpanRecorder()
				provider := trace.NewTracerProvider(trace.WithSpanProcessor(recorder))
				ctx, span := provider.Tracer("test").Start(t.Context(), "call")
				must(t, tt.act(ctx, w))
				span.End()
				spans := recorder.Ended()
				if len(spans) != 1 {
					t.Fatalf("%d spans, want the caller's", len(spans))
				}
				got := attributes(spans[0].Attributes())
				for _, e := range spans[0].Events() {
					got += fmt.Sprint(" ", e.Name, attributes(e.Attributes))
				}
				if got != tt.want {
					t.Errorf("the span has %s, want %s", got, tt.want)
				}
			})
		})
	}
}
