package middleware_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/httpcases"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store"
)

// full is a store that refuses everything.
type full struct{}

func (full) Take(_ context.Context, req store.Request) (store.Decision, error) {
	d := store.Decision{Reason: weir.ReasonLimited, Limit: req.Charges[0].Limit, RetryAfter: time.Minute}
	for range req.Charges {
		d.Charges = append(d.Charges, store.ChargeState{RetryAfter: time.Minute, ResetAfter: time.Hour})
	}
	return d, nil
}

// TestPolicyIsTrue checks that a client which takes q each w seconds is never refused,
// and that t is never above w; of a sliding counter, that t is never above twice w.
func TestPolicyIsTrue(t *testing.T) {
	t.Parallel()
	for _, l := range []weir.Limit{
		weir.PerMinute(2), weir.PerMinute(2).WithBurst(7), weir.PerMinute(2).By(weir.SlidingWindow),
		weir.PerMinute(2).By(weir.SlidingCounter), weir.PerMinute(2).By(weir.FixedWindow), weir.PerMinute(2).By(weir.AlignedWindow),
	} {
		synctest.Test(t, func(t *testing.T) {
			limit, err := middleware.New(middleware.Config{Limiter: on(t, newLocal(t), "api", l), Key: weir.KeyStatic("all")})
			if err != nil {
				t.Fatal(err)
			}
			h := limit(http.NotFoundHandler())
			time.Sleep(59 * time.Second) // aligned windows begin with the minute
			for range 4 {
				var policy, state string
				var q, w, r, reset int64
				for n := int64(0); n == 0 || n < q; n++ {
					resp := serve(h)
					policy, state = resp.Header().Get("RateLimit-Policy"), resp.Header().Get("RateLimit")
					_, err := fmt.Sscanf(policy+state, strconv.Quote(l.Policy())+";q=%d;w=%d"+strconv.Quote(l.Policy())+";r=%d;t=%d", &q, &w, &r, &reset)
					if err != nil {
						t.Fatalf("%s %s: %v", policy, state, err)
					}
					if resp.Code == http.StatusTooManyRequests && l.Algorithm != weir.SlidingCounter {
						t.Errorf("%v: refused under %s", l.Algorithm, policy)
					}
					if reset > w && l.Algorithm != weir.SlidingCounter || reset > 2*w {
						t.Errorf("%v: %s under %s", l.Algorithm, state, policy)
					}
				}
				time.Sleep(time.Duration(w) * time.Second)
			}
		})
	}
}

// FuzzHeaders checks that the fields parse by RFC 9651, and the body as JSON, and that
// both have the names.
func FuzzHeaders(f *testing.F) {
	f.Add("plain", `quote"d`, int64(10), int64(time.Second), int64(0))
	f.Add(`back\slash`, ``, int64(store.MaxUnits), int64(time.Hour), int64(0))
	f.Add(`"`, `\`, int64(1), int64(time.Microsecond), int64(5))
	f.Add("", "b", int64(1), int64(10*time.Microsecond), int64(0))
	f.Add(`a, b;q=1`, ` `, int64(7), int64(50*365*24*time.Hour), int64(7))
	f.Fuzz(func(t *testing.T, one, two string, rate, period, burst int64) {
		limits := []weir.Limit{
			{Name: one, Rate: rate, Period: time.Duration(period), Burst: burst},
			{Name: two, Rate: rate, Period: time.Duration(period), Algorithm: weir.FixedWindow},
		}
		for _, l := range limits {
			if l.Validate() != nil {
				t.Skip()
			}
		}
		if limits[0].Policy() == limits[1].Policy() {
			t.Skip()
		}
		limit, err := middleware.New(middleware.Config{
			Limiter: httpcases.NewLimiter(t, full{}, limits...), Key: weir.KeyStatic("all"),
		})
		if err != nil {
			t.Fatal(err)
		}
		w := serve(limit(http.NotFoundHandler()))
		names := []string{limits[0].Policy(), limits[1].Policy()}

		for _, field := range []string{"RateLimit-Policy", "RateLimit"} {
			items, err := parseList(w.Header().Get(field))
			if err != nil || len(items) != 2 {
				t.Fatalf("%s: %q: %d items, %v", field, w.Header().Get(field), len(items), err)
			}
			for i, item := range items {
				if item.name != names[i] {
					t.Errorf("%s: name %q, want %q", field, item.name, names[i])
				}
				checkParams(t, field, item.params, limits[i])
			}
		}
		var body struct {
			Violated []string `json:"violated-policies"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatalf("body: %v: %s", err, w.Body)
		}
		if fmt.Sprintf("%q", body.Violated) != fmt.Sprintf("%q", names) {
			t.Errorf("violated policies %q, want %q", body.Violated, names)
		}
	})
}

// TestPartitionKeys checks that the partition keys of limiters with different names or
// secrets have nothing in common.
func TestPartitionKeys(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, tt := range []struct{ limiter, secret, key string }{
		{"b", "0123456789abcdef", "ann"}, {"b", "0123456789abcdef", "bob"}, {"a", "0123456789abcdef", "ann"},
		{"b", "fedcba9876543210", "ann"}, {"a", "0123456789abcdef", ""}, {"aa", "0123456789abcdef", "nn"},
	} {
		g := guard(t, middleware.Config{
			Limiter: named(t, tt.limiter), Key: weir.KeyStatic(tt.key + "."), PartitionSecret: []byte(tt.secret),
		})
		w := httptest.NewRecorder()
		g.Check(w, request(t.Context()))
		_, pk, _ := strings.Cut(w.Header().Get("RateLimit"), ";pk=")
		if _, policy, _ := strings.Cut(w.Header().Get("RateLimit-Policy"), ";pk="); policy != pk || len(pk) != 14 {
			t.Errorf("%+v: %q and %q", tt, pk, policy)
		}
		if other := seen[pk]; other != "" {
			t.Errorf("%+v and %s have %s in common", tt, other, pk)
		}
		seen[pk] = fmt.Sprintf("%+v", tt)
	}
}

// checkParams checks that a limit grants the q units at once, and q units in w seconds,
// that clients read.
func checkParams(t *testing.T, field string, params map[string]int64, l weir.Limit) {
	t.Helper()
	if field == "RateLimit" {
		if params["r"] != 0 || params["t"] != 60 || len(params) != 2 {
			t.Errorf("%s: %v", field, params)
		}
		return
	}
	q, w := params["q"], params["w"]
	if q < 1 || q > l.Max() {
		t.Errorf("q=%d of %+v", q, l)
	}
	granted := float64(l.Rate) / l.Period.Seconds()
	if w > 0 && float64(q)/float64(w) > granted*(1+1e-9) {
		t.Errorf("q=%d;w=%d is more than %+v grants", q, w, l)
	}
	if w == 0 && float64(q)/granted > 1+1e-9 {
		t.Errorf("no w, though %+v takes a second or more", l)
	}
}

type item struct {
	name   string
	params map[string]int64
}

// parseList is a strict parser of lists of strings with integer parameters
// (RFC 9651, section 4.2).
func parseList(s string) ([]item, error) {
	var items []item
	for {
		var it item
		var err error
		if it.name, s, err = parseString(s); err != nil {
			return nil, err
		}
		it.params = map[string]int64{}
		for strings.HasPrefix(s, ";") {
			key, rest, ok := strings.Cut(s[1:], "=")
			n := 0
			for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
				n++
			}
			if !ok || len(key) != 1 || key[0] < 'a' || key[0] > 'z' || n < 1 || n > 15 {
				return nil, fmt.Errorf("parameter at %q", s)
			}
			var v int64
			for _, c := range rest[:n] {
				v = v*10 + int64(c-'0')
			}
			it.params[key], s = v, rest[n:]
		}
		items = append(items, it)
		if s == "" {
			return items, nil
		}
		rest, ok := strings.CutPrefix(s, ", ")
		if !ok {
			return nil, fmt.Errorf("separator at %q", s)
		}
		s = rest
	}
}

func parseString(s string) (string, string, error) {
	if !strings.HasPrefix(s, `"`) {
		return "", s, fmt.Errorf("string at %q", s)
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:], nil
		case c == '\\':
			if i++; i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", s, fmt.Errorf("escape at %q", s)
			}
			b.WriteByte(s[i])
		case c < 0x20 || c > 0x7e:
			return "", s, fmt.Errorf("byte %#x", c)
		default:
			b.WriteByte(c)
		}
	}
	return "", s, io.ErrUnexpectedEOF
}

// TestLevelsOfOneName checks that clients read the limits of two levels apart, also if they
// have one name.
func TestLevelsOfOneName(t *testing.T) {
	t.Parallel()
	store := newLocal(t)
	var refusing string
	limit, err := middleware.New(middleware.Config{
		Limiter: on(t, store, "user", weir.PerDay(4).WithName("day")), Key: weir.KeyStatic("ann"),
		Levels: []middleware.Level{{Limiter: on(t, store, "team", weir.PerDay(1).WithName("day")), Key: weir.KeyStatic("blue")}},
		OnLimited: func(_ http.ResponseWriter, _ *http.Request, d weir.Decision) {
			refusing = d.Scope + " " + d.Limit.Policy()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	h := limit(http.NotFoundHandler())
	w := serve(h)
	if got, want := w.Header().Get("RateLimit-Policy"), `"day";q=4;w=86400, "team:day";q=1;w=86400`; got != want {
		t.Errorf("RateLimit-Policy: %s, want %s", got, want)
	}
	if got, want := w.Header().Get("RateLimit"), `"day";r=3;t=21600, "team:day";r=0;t=86400`; got != want {
		t.Errorf("RateLimit: %s, want %s", got, want)
	}
	if serve(h); refusing != "team team:day" {
		t.Errorf("refused by %s", refusing)
	}
}

// TestSingleRemainingIsTrue checks, on random limits of two mounts, that the one number of
// the X and draft 6 styles is the number of units that the next requests can take.
func TestSingleRemainingIsTrue(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 0))
			store, h := newLocal(t), http.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			limit := func() weir.Limit {
				return weir.Per(1+rng.Int64N(200), time.Duration(1+rng.Int64N(100))*time.Second).By(weir.Algorithm(rng.IntN(5)))
			}
			style, name := middleware.HeadersX, "X-RateLimit-Remaining"
			if seed%2 == 0 {
				style, name = middleware.HeadersDraft6, "RateLimit-Remaining"
			}
			for _, mount := range []string{"inner", "outer"} {
				m, err := middleware.New(middleware.Config{
					Limiter: on(t, store, mount, limit().WithName("a"), limit().WithName("b")), Key: weir.KeyStatic("ann"), Headers: style,
					Levels: []middleware.Level{{Limiter: on(t, store, mount+" team", limit()), Key: weir.KeyStatic("blue")}},
				})
				if err != nil {
					t.Fatal(err)
				}
				h = m(h)
			}
			for range 10 {
				time.Sleep(time.Duration(rng.Int64N(20_000)) * time.Millisecond)
				w := serve(h)
				if w.Code != http.StatusOK {
					continue
				}
				remaining, err := strconv.Atoi(w.Header().Get(name))
				if err != nil {
					t.Fatal(err)
				}
				for n := range remaining {
					if serve(h).Code != http.StatusOK {
						t.Fatalf("seed %d: %d of %d units were taken: %v", seed, n, remaining, w.Header())
					}
				}
				if serve(h).Code == http.StatusOK {
					t.Fatalf("seed %d: more than %d units were taken: %v", seed, remaining, w.Header())
				}
			}
		})
	}
}
