package limitfile_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/limitfile"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// open opens a file with this content, read by Reload alone.
func open(t *testing.T, content string) (f *limitfile.File, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "limits.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := limitfile.Open(limitfile.Config{Path: path, Interval: -1, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f, path
}

// serve mounts a middleware whose limits are a file's.
func serve(t *testing.T, store weir.Store, f *limitfile.File) http.Handler {
	t.Helper()
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: []weir.Limit{weir.PerSecond(1)}})
	if err != nil {
		t.Fatal(err)
	}
	user := weir.KeyHeader("X-User")
	limit, err := middleware.New(middleware.Config{
		Limiter: limiter, Key: user, Limits: f.Limits(user, weir.KeyHeader("X-Plan")), OnStoreFailure: middleware.FailClosed,
	})
	if err != nil {
		t.Fatal(err)
	}
	return limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
}

func request(user, plan string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.Header.Set("X-User", user)
	if plan != "" {
		r.Header.Set("X-Plan", plan)
	}
	return r
}

func TestAChangedFileHoldsFromTheNextRequestOn(t *testing.T) {
	t.Parallel()
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	const first = "default: free\nplans: {free: [1/d], pro: [3/d]}\n"
	f, path := open(t, first)
	h := serve(t, store, f)
	const one, three, five = `"1-in-1d";q=1;w=86400`, `"3-in-1d";q=3;w=86400`, `"5-in-1d";q=5;w=86400`
	for _, step := range []struct {
		content, reload string // written before the request, and the error of Reload
		user, plan      string
		status          int
		policy          string
	}{
		{user: "ann", status: 200, policy: one},
		{user: "ann", status: 429, policy: one},
		{user: "bob", plan: "pro", status: 200, policy: three},
		{user: "bob", plan: "pro", status: 200, policy: three},
		{user: "bob", plan: "pro", status: 200, policy: three},
		{user: "cid", plan: "gone", status: 200, policy: one},
		// A key of its own, from the next request on.
		{content: first + "keys: {dan: [5/d]}\n", user: "dan", plan: "pro", status: 200, policy: five},
		{user: "eve", plan: "pro", status: 200, policy: three},
		// A mistake changes nothing.
		{content: "default: free\nplans: {free: [9/d, 0/d]}\n", reload: ":2:21: plans.free[1]: want", user: "dan", status: 200, policy: five},
		{user: "fay", status: 200, policy: one},
		// All users have another plan, and used units carry over.
		{content: "default: all\nplans: {all: [5/d]}\n", user: "dan", status: 200, policy: five},
		{user: "bob", plan: "pro", status: 429, policy: five},
		{user: "gil", plan: "pro", status: 200, policy: five},
	} {
		if step.content != "" {
			if err := os.WriteFile(path, []byte(step.content), 0o600); err != nil {
				t.Fatal(err)
			}
			err := f.Reload()
			if (err != nil) != (step.reload != "") || err != nil && !strings.Contains(err.Error(), path+step.reload) {
				t.Errorf("Reload() = %v", err)
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, request(step.user, step.plan))
		if got := w.Header().Get("RateLimit-Policy"); w.Code != step.status || got != step.policy {
			t.Errorf("%+v: %d %s", step, w.Code, got)
		}
	}
}

func TestWhoIsUnknownHasTheDefaultPlan(t *testing.T) {
	t.Parallel()
	f, _ := open(t, "default: free\nplans: {free: [1/s], pro: [2/s]}\nkeys: {ann: [3/s]}\n")
	fails := errors.New("the database is away")
	is := weir.KeyStatic
	failing := func(err error) weir.KeyFunc { return func(*http.Request) (string, error) { return "pro", err } }
	asked := func(*http.Request) (string, error) {
		t.Error("the plan of a key with limits of its own was asked for")
		return "", nil
	}
	for name, c := range map[string]struct {
		key, plan weir.KeyFunc
		rate      int64
		err       error
	}{
		"no functions":          {nil, nil, 1, nil},
		"no key function":       {nil, is("pro"), 2, nil},
		"no plan function":      {is("bob"), nil, 1, nil},
		"no key":                {failing(weir.ErrNoKey), is("pro"), 2, nil},
		"no plan":               {is("bob"), failing(weir.ErrNoKey), 1, nil},
		"an empty plan":         {is("bob"), is(""), 1, nil},
		"an unknown plan":       {is("bob"), is("gold"), 1, nil},
		"a key of the file":     {is("ann"), asked, 3, nil},
		"a plan that fails":     {is("bob"), failing(fails), 0, fails},
		"a key that fails":      {failing(fails), is("pro"), 0, fails},
		"a key that is unclear": {failing(weir.ErrMalformedKey), is("pro"), 2, nil},
		"a key that is no key":  {failing(weir.ErrMalformedKey), is("pro"), 2, nil},
		"a plan stated twice":   {is("bob"), failing(weir.ErrMalformedKey), 1, nil},
		"a plan that is none":   {is("bob"), failing(weir.ErrMalformedKey), 1, nil},
	} {
		limits, err := f.Limits(c.key, c.plan)(request("", ""))
		if !errors.Is(err, c.err) || c.err == nil && (len(limits) != 1 || limits[0].Rate != c.rate) || c.err != nil && limits != nil {
			t.Errorf("%s: %v, %v", name, limits, err)
		}
	}
}

// TestWhoStatesAKeyTwiceIsLimited checks that a request which states its key twice is
// limited under the shared key of OnNoKey.
func TestWhoStatesAKeyTwiceIsLimited(t *testing.T) {
	t.Parallel()
	f, _ := open(t, "default: free\nplans: {free: [1/d], pro: [3/d]}\n")
	user := weir.KeyHeader("X-User")
	for name, plan := range map[string]weir.KeyFunc{"no plan function": nil, "a plan of the user": user} {
		store, err := localstore.New(localstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: []weir.Limit{weir.PerSecond(1)}})
		if err != nil {
			t.Fatal(err)
		}
		limit, err := middleware.New(middleware.Config{
			Limiter: limiter, Key: user, Limits: f.Limits(user, plan),
			OnNoKey: func(*http.Request, error) middleware.NoKey { return middleware.NoKey{Key: "nobody"} },
		})
		if err != nil {
			t.Fatal(err)
		}
		h := limit(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		for _, want := range []int{200, 429} {
			r, w := request("ann", ""), httptest.NewRecorder()
			r.Header.Add("X-User", "bob")
			if h.ServeHTTP(w, r); w.Code != want {
				t.Errorf("%s: %d, want %d", name, w.Code, want)
			}
		}
	}
}

// always is a store that keeps nothing.
type always struct{}

func (always) Take(_ context.Context, req store.Request) (store.Decision, error) {
	l := req.Charges[0].Limit
	return store.Decision{Allowed: true, Limit: l, Remaining: l.Max() - 1, ResetAfter: time.Second}, nil
}

// Not parallel, since it measures the heap.
func TestNothingIsKeptOfAUserOutsideTheStore(t *testing.T) {
	const users, plans = 10_000, 5
	content := "default: plan0\nplans:\n"
	for i := range plans {
		content += fmt.Sprintf("  plan%d: [%d/s]\n", i, i+1)
	}
	f, _ := open(t, content)
	h := serve(t, always{}, f)
	heap := func() int64 {
		for range 3 { // pools are empty after the second
			runtime.GC()
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	ask := func(from int) {
		for i := range users {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, request(fmt.Sprintf("user-%d", from+i), fmt.Sprintf("plan%d", i%plans)))
			if want := fmt.Sprintf(`"%d-in-1s";q=%[1]d;w=1`, i%plans+1); w.Code != http.StatusOK || w.Header().Get("RateLimit-Policy") != want {
				t.Fatalf("user %d: %d %v", i, w.Code, w.Header())
			}
		}
	}
	ask(0)
	before := heap()
	ask(users)
	if grown := heap() - before; grown > 4*users {
		t.Errorf("%d bytes are kept of %d users", grown, users)
	}
	runtime.KeepAlive(h)
}

func TestALookupAllocatesNothing(t *testing.T) {
	f, _ := open(t, whole)
	r := request("acme", "free")
	limits := f.Limits(weir.KeyHeader("X-User"), weir.KeyHeader("X-Plan"))
	for name, lookup := range map[string]func(){
		"a key":     func() { f.For("acme", "free") },
		"a plan":    func() { f.For("ann", "pro") },
		"a default": func() { f.For("ann", "?") },
		"a request": func() { _, _ = limits(r) },
	} {
		if n := testing.AllocsPerRun(100, lookup); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkFor(b *testing.B) {
	set, err := limitfile.Parse("limits.yaml", []byte(whole))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			set.For("ann", "pro")
		}
	})
}

// TestUnknownPlanIsLogged checks that a plan that the file lacks is logged, once for each
// content of the file. Requests without a plan are no mistake.
func TestUnknownPlanIsLogged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "limits.yaml")
	write := func(content string) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("default: free\nplans: {free: [1/s], pro: [2/s]}\nkeys: {ann: [3/s]}\n")
	var log strings.Builder
	f, err := limitfile.Open(limitfile.Config{Path: path, Interval: -1, Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	limits := f.Limits(weir.KeyHeader("X-User"), weir.KeyHeader("X-Plan"))
	ask := func(user, plan string) {
		if l, err := limits(request(user, plan)); err != nil || len(l) != 1 {
			t.Errorf("%v, %v", l, err)
		}
	}
	ask("ann", "Pro") // has limits of its own
	ask("bob", "pro")
	ask("bob", "")
	if log.Len() > 0 {
		t.Errorf("logged %s", log.String())
	}
	ask("bob", "Pro")
	ask("bob", "PRO")
	const line = `level=WARN msg="limitfile: the file lacks a request's plan, and the default plan holds" file=`
	if got := log.String(); strings.Count(got, line) != 1 || strings.Count(got, "\n") != 1 || !strings.Contains(got, " plan=Pro\n") {
		t.Errorf("logged %s", got)
	}
	write("default: free\nplans: {free: [1/s]}\n")
	if err := f.Reload(); err != nil {
		t.Fatal(err)
	}
	ask("bob", "pro")
	if got := log.String(); strings.Count(got, line) != 2 || !strings.HasSuffix(got, " plan=pro\n") {
		t.Errorf("logged %s", got)
	}

	var zero limitfile.File
	if l, err := zero.Limits(nil, weir.KeyStatic("pro"))(request("", "")); l != nil || err != nil {
		t.Errorf("a zero File: %v, %v", l, err)
	}
}
