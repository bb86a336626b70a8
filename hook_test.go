package weir_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/weirtest"
)

// toldHook keeps its events.
type toldHook struct {
	mu   sync.Mutex
	told []weir.Event
}

func (h *toldHook) Observe(_ context.Context, e weir.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = append(h.told, e)
}

// of returns the events of a kind.
func (h *toldHook) of(kind weir.EventKind) []weir.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(h.told), func(e weir.Event) bool { return e.Kind != kind })
}

// wantWait fails the test unless the Hook got exactly one wait, which ended after
// that time with that error and reason.
func (h *toldHook) wantWait(t *testing.T, wait time.Duration, err error, reason weir.Reason) {
	t.Helper()
	waits := h.of(weir.EventWait)
	if len(waits) != 1 {
		t.Fatalf("the hook got %d waits, want one: %+v", len(waits), waits)
	}
	if e := waits[0]; e.Took != wait || !errors.Is(e.Err, err) || (e.Err == nil) != (err == nil) || e.Decision.Reason != reason || e.Key != "key" || e.Cost != 1 {
		t.Errorf("the hook got %+v, want a wait of %v that ended with %v (%v)", e, wait, err, reason)
	}
}

// TestEventWaitOfMovedSlots: a wait whose slot a brake moves has one EventWait, also
// when the call books again.
func TestEventWaitOfMovedSlots(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		limit  weir.Limit
		pause  time.Duration // before the call
		after  func(ctx context.Context, l *weir.Limiter, s *weirtest.Store) error
		wait   time.Duration
		err    error
		reason weir.Reason
	}{
		"refused": {weir.PerSecond(1), 0, func(ctx context.Context, l *weir.Limiter, _ *weirtest.Store) error {
			return l.Pause(ctx, "key", time.Hour)
		}, 2 * time.Second, weir.ErrLimited, weir.ReasonPaused},
		"admitted": {weir.PerSecond(10).By(weir.SlidingWindow), 10 * time.Second, func(ctx context.Context, l *weir.Limiter, _ *weirtest.Store) error {
			return l.Resume(ctx, "key")
		}, 2 * time.Second, nil, weir.ReasonAllowed},
		"reset": {weir.PerSecond(10), 10 * time.Second, func(ctx context.Context, l *weir.Limiter, _ *weirtest.Store) error {
			return l.Reset(ctx, "key")
		}, 10 * time.Second, nil, weir.ReasonAllowed},
		"the store fails": {weir.PerSecond(1), 0, func(ctx context.Context, l *weir.Limiter, s *weirtest.Store) error {
			s.Next(weirtest.Fail(errors.New("down")))
			return l.Pause(ctx, "key", time.Hour)
		}, 2 * time.Second, weir.ErrStore, weir.ReasonAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, h := weirtest.NewStore(localStore(t)), new(toldHook)
				l := onLocal(t, weir.Config{Store: store, Limits: []weir.Limit{test.limit}, Hook: h.Observe})
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
				defer cancel()
				if test.pause > 0 {
					if err := l.Pause(ctx, "key", test.pause); err != nil {
						t.Fatal(err)
					}
				} else {
					for range 5 {
						if _, err := l.Reserve(ctx, "key"); err != nil {
							t.Fatal(err)
						}
					}
				}
				done := make(chan error)
				go func() { done <- l.Wait(ctx, "key") }()
				time.Sleep(2 * time.Second)
				if err := test.after(ctx, l, store); err != nil {
					t.Fatal(err)
				}
				if err := <-done; !errors.Is(err, test.err) {
					t.Errorf("ended with %v, want %v", err, test.err)
				}
				h.wantWait(t, test.wait, test.err, test.reason)
			})
		})
	}
}

// TestEventWaitInBackground: background calls that waited, in the line or for units,
// have an EventWait. A call that is admitted at once has none.
func TestEventWaitInBackground(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := new(toldHook)
		l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(1)}, Hook: h.Observe, MaxWait: 2500 * ms})
		n := newLine(l)
		leaving, cancel := context.WithCancel(t.Context())
		for i := range 5 {
			ctx := t.Context()
			if i == 3 {
				ctx = leaving
			}
			n.join(weir.InBackground(ctx), i, "key")
		}
		time.Sleep(500 * ms)
		cancel()
		n.wg.Wait()
		var got []string
		for _, e := range h.of(weir.EventWait) {
			got = append(got, fmt.Sprint(e.Took, " ", e.Decision.Reason, " ", e.Err != nil))
		}
		if want := []string{"500ms limited true", "1s allowed false", "2s allowed false", "2s limited true"}; !slices.Equal(got, want) {
			t.Errorf("the hook got waits %v, want %v", got, want)
		}
	})
}

// TestEventWaitOfTheFirstInBackground: the call is refused after it has waited for its
// turn.
func TestEventWaitOfTheFirstInBackground(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := new(toldHook)
		l := onLocal(t, weir.Config{Limits: []weir.Limit{weir.PerSecond(1)}, Hook: h.Observe})
		ctx := weir.InBackground(t.Context())
		if err := l.Wait(ctx, "key"); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() { done <- l.WaitMax(ctx, "key", 1, 1500*ms) }()
		time.Sleep(500 * ms)
		if err := l.Pause(ctx, "key", time.Minute); err != nil {
			t.Fatal(err)
		}
		if err := <-done; !errors.Is(err, weir.ErrLimited) {
			t.Errorf("ended with %v", err)
		}
		h.wantWait(t, time.Second, weir.ErrLimited, weir.ReasonPaused)
		if err := l.WaitMax(ctx, "key", 1, time.Second); !errors.Is(err, weir.ErrLimited) || len(h.of(weir.EventWait)) != 1 {
			t.Errorf("refused at once: %v, the hook got %+v", err, h.of(weir.EventWait))
		}
	})
}

// TestFailureOfTheLastLook: the store fails when a call looks at its key
// before it leaves. The Hook gets the failure, and the granted slot holds.
func TestFailureOfTheLastLook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := new(toldHook)
		l := onLocal(t, weir.Config{
			Store:  newAskedAgain(t, func(context.Context) error { return errors.New("down") }),
			Limits: []weir.Limit{weir.PerSecond(1)}, Hook: h.Observe,
		})
		for range 2 {
			if err := l.Wait(t.Context(), "key"); err != nil {
				t.Fatal(err)
			}
		}
		failed := slices.DeleteFunc(h.of(weir.EventStoreCall), func(e weir.Event) bool { return e.Err == nil })
		if len(failed) != 1 || !errors.Is(failed[0].Err, weir.ErrStore) || failed[0].Key != "key" || failed[0].Cost != 1 {
			t.Errorf("the hook got %+v, want one failure of the store", failed)
		}
		h.wantWait(t, time.Second, nil, weir.ReasonAllowed)
	})
}

// enums are the texts of the exported types with iota values, in the order of values.
var enums = map[string]struct {
	value func(n uint8) fmt.Stringer
	texts string
}{
	"weir.EventKind":          {func(n uint8) fmt.Stringer { return weir.EventKind(n) }, "unknown decision wait lease_lost wait_begin store_call refusal budget paused slowed lifted settled fallback"},
	"store.Algorithm":         {func(n uint8) fmt.Stringer { return store.Algorithm(n) }, "gcra sliding_window sliding_counter fixed_window aligned_window"},
	"store.Source":            {func(n uint8) fmt.Stringer { return store.Source(n) }, "store deny_cache lease fallback limiter"},
	"store.Reason":            {func(n uint8) fmt.Stringer { return store.Reason(n) }, "allowed limited never_fits too_many_waiters paused in_flight"},
	"fallback.Policy":         {func(n uint8) fmt.Stringer { return fallback.Policy(n) }, "local open closed local_then_closed"},
	"fallback.State":          {func(n uint8) fmt.Stringer { return fallback.State(n) }, "closed open half_open"},
	"middleware.HeaderStyle":  {func(n uint8) fmt.Stringer { return middleware.HeaderStyle(n) }, "draft11 x x_epoch draft6 none"},
	"middleware.StoreFailure": {func(n uint8) fmt.Stringer { return middleware.StoreFailure(n) }, "open closed"},
	"weirtest.RetryAfterForm": {func(n uint8) fmt.Stringer { return weirtest.RetryAfterForm(n) }, "seconds none fraction millis date"},
	"weirtest.Refusal":        {func(n uint8) fmt.Stringer { return weirtest.Refusal(n) }, "admitted limit in_flight command"},
}

func TestEnumsHaveTexts(t *testing.T) {
	t.Parallel()
	for name, enum := range enums {
		texts := strings.Fields(enum.texts)
		for n, want := range texts {
			if got := enum.value(uint8(n)).String(); got != want {
				t.Errorf("%s(%d) is %q, want %q", name, n, got, want)
			}
		}
		n := uint8(len(texts))
		if got := enum.value(n).String(); got != "unknown" && got != fmt.Sprintf("algorithm(%d)", n) {
			t.Errorf("%s(%d) is %q, want no text of a value", name, n, got)
		}
	}
}

// TestEnumsAreKnown: enums has every exported type with iota values in the source.
func TestEnumsAreKnown(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, dir := range []string{".", "store", "store/*", "middleware", "upstream", "retry", "weirtest", "limitfile", "adapters/*"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range enumsOf(file) {
				found[name] = true
			}
		}
	}
	got, want := slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(enums))
	if !slices.Equal(got, want) {
		t.Errorf("the source has %v, the table above %v", got, want)
	}
}

// enumsOf returns the exported types of a file's groups of numbered constants.
func enumsOf(file *ast.File) (names []string) {
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		first := group.Specs[0].(*ast.ValueSpec)
		of, ok := first.Type.(*ast.Ident)
		if !ok || !of.IsExported() || len(group.Specs) == 1 {
			continue
		}
		if _, literal := first.Values[0].(*ast.BasicLit); !literal { // A text needs no other.
			names = append(names, file.Name.Name+"."+of.Name)
		}
	}
	return names
}

// TestAHookThatPanics costs no call, no slot and no lease, whichever event it is.
func TestAHookThatPanics(t *testing.T) {
	for kind := weir.EventDecision; kind <= weir.EventFallback; kind++ {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				logged := newWarnings(t)
				weir.ForgetPanics()
				hook := func(_ context.Context, e weir.Event) {
					if e.Kind == kind {
						panic("a fault of the hook")
					}
				}
				s := weirtest.NewStore(localStore(t))
				l := onLocal(t, weir.Config{Store: s, Limits: []weir.Limit{weir.PerSecond(1)}, Hook: hook})
				for range 3 {
					if err := l.Wait(t.Context(), "key"); err != nil {
						t.Error(err)
					}
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
				if err := l.Wait(ctx, "key"); err == nil {
					t.Error("no error at the deadline")
				}
				cancel()
				ctx, cancel = context.WithCancel(t.Context())
				time.AfterFunc(10*time.Millisecond, cancel)
				if err := l.Wait(ctx, "key"); !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				if err := l.Pause(t.Context(), "other", time.Second); err != nil {
					t.Error(err)
				}
				if err := l.Resume(t.Context(), "other"); err != nil {
					t.Error(err)
				}
				r, err := l.Reserve(t.Context(), "third")
				if err == nil {
					err = r.Settle(t.Context(), 0)
				}
				if err != nil {
					t.Error(err)
				}
				s.Next(weirtest.Fail(errors.New("down")))
				if _, err := l.Allow(t.Context(), "key"); !errors.Is(err, weir.ErrStore) {
					t.Error(err)
				}
				time.Sleep(time.Second)
				if d, err := l.Allow(t.Context(), "key"); err != nil || !d.Allowed {
					t.Errorf("the cancelled slot is lost: %+v, %v", d, err)
				}
				flights := onLocal(t, weir.Config{Store: s, Name: "flights", Limits: []weir.Limit{weir.PerSecond(100)}, InFlight: 1, Hook: hook})
				for range 3 {
					lease, err := flights.Acquire(t.Context(), "key")
					if err != nil {
						t.Fatal(err)
					}
					lease.Release()
				}
				synctest.Wait()
				if n, _ := l.Stats(); n != 0 {
					t.Errorf("%d calls wait", n)
				}
				fires := kind != weir.EventLeaseLost && kind != weir.EventRefusal && kind != weir.EventBudget && kind != weir.EventSlowed && kind != weir.EventFallback
				if n := logged.count("a fault of the hook"); fires && (n == 0 || !strings.Contains(logged.String(), "event="+kind.String())) {
					t.Errorf("logged %d times: %s", n, logged)
				}
			})
		})
	}
}
