package httpcases

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

// Promises checks that answers keep their word, on one to three random limits of every
// algorithm and random costs. The stores are those of RunOn.
//
//	a client sleeps for                       then
//	the Retry-After of a refusal              it is served
//	the decision's RetryAfter                 it is served
//	a microsecond less                        it is refused
//	nothing, and takes RateLimit's remaining  it gets exactly these units
func Promises(t *testing.T, open func(testing.TB) weir.Store) {
	const bubbles, sets = 20, 50
	for seed := range uint64(bubbles) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPromises(t, seed, open(t), middleware.HeadersDraft11)
				for n := range sets {
					p.draw(fmt.Sprint("user", n))
					p.remaining()
					p.waiting()
				}
			})
		})
	}
}

// promises is a client whose limits are drawn anew from time to time.
type promises struct {
	*testing.T
	rng    *rand.Rand
	h      http.Handler
	user   string
	limits []weir.Limit
	max    int64         // what all limits admit at once
	last   weir.Decision // about the last request
}

func newPromises(t *testing.T, seed uint64, store weir.Store, style middleware.HeaderStyle) *promises {
	p := &promises{T: t, rng: rand.New(rand.NewPCG(seed, 5))}
	l, err := weir.New(weir.Config{
		Name: "api", Store: store, Limits: []weir.Limit{weir.PerSecond(1)},
		Hook: func(_ context.Context, e weir.Event) {
			if e.Kind == weir.EventDecision {
				p.last = e.Decision
			}
		},
	})
	must(t, err)
	cfg := middleware.Config{
		Limiter: l, Key: weir.KeyHeader("X-User"), Headers: style,
		Limits: func(*http.Request) ([]weir.Limit, error) { return p.limits, nil },
	}
	costHeader(&cfg)
	mounted, err := middleware.New(cfg)
	must(t, err)
	p.h = mounted(http.HandlerFunc(handler))
	return p
}

// draw makes p another user with other limits.
func (p *promises) draw(user string) {
	p.user, p.limits, p.max = user, nil, math.MaxInt64
	for n := 1 + p.rng.IntN(3); len(p.limits) < n; {
		l := weir.Limit{
			Name: string(rune('a' + len(p.limits))), Algorithm: weir.Algorithm(p.rng.IntN(5)),
			Rate:   logUniform(p.rng, 1_000_000),
			Period: time.Duration(logUniform(p.rng, 365*24*3600*1_000_000)) * time.Microsecond,
		}
		if l.Algorithm == weir.GCRA && p.rng.IntN(2) == 0 {
			l.Burst = logUniform(p.rng, 100_000)
		}
		if l.Algorithm == weir.SlidingWindow {
			l.Rate = 1 + l.Rate%100 // Each of its units may be an entry of a log.
		}
		if l.Validate() == nil {
			p.limits, p.max = append(p.limits, l), min(p.max, l.Max())
		}
	}
	p.sleep(p.limits[0].Period)
}

// logUniform draws from 1 to most, every order of magnitude alike.
func logUniform(rng *rand.Rand, most int64) int64 {
	return min(int64(math.Exp(rng.Float64()*math.Log(float64(most)))), most)
}

// sleep sleeps for less than d.
func (p *promises) sleep(d time.Duration) {
	time.Sleep(time.Duration(p.rng.Int64N(int64(d/time.Microsecond))) * time.Microsecond)
}

func (p *promises) send(cost int64) *httptest.ResponseRecorder {
	p.Helper()
	w := httptest.NewRecorder()
	p.h.ServeHTTP(w, request{header: http.Header{"X-User": {p.user}, "X-Cost": {strconv.FormatInt(cost, 10)}}}.build(p.T))
	if w.Code != http.StatusOK && w.Code != http.StatusTooManyRequests {
		p.Fatalf("%+v: status %d: %s", p.limits, w.Code, w.Body)
	}
	return w
}

// remaining takes exactly the units that a response says remain.
func (p *promises) remaining() {
	p.Helper()
	w := p.send(1 + p.rng.Int64N(p.max))
	for range p.rng.IntN(4) {
		p.sleep(p.limits[0].Period)
		w = p.send(1 + p.rng.Int64N(p.max))
	}
	left := int64(math.MaxInt64)
	for _, state := range strings.Split(w.Header().Get("RateLimit"), ", ") {
		_, r, _ := strings.Cut(state, ";r=")
		r, _, _ = strings.Cut(r, ";")
		n, err := strconv.ParseInt(r, 10, 64)
		if err != nil {
			p.Fatalf("RateLimit: %q", w.Header().Get("RateLimit"))
		}
		left = min(left, n)
	}
	for sent := 0; left > 0; sent++ {
		n := int64(1)
		if sent >= 5 {
			n = 1 + p.rng.Int64N(left)
		}
		left -= n
		if w := p.send(n); w.Code != http.StatusOK {
			p.Fatalf("%+v: refused %d of what remained: %v", p.limits, n, w.Header())
		}
	}
	if w := p.send(1); w.Code == http.StatusOK {
		p.Fatalf("%+v: served when nothing remained: %v", p.limits, w.Header())
	}
}

// waiting is refused, and waits for the time of the refusal.
func (p *promises) waiting() {
	p.Helper()
	for range 3 {
		cost := 1 + p.rng.Int64N(p.max)
		w := p.send(cost)
		for w.Code == http.StatusOK {
			w = p.send(cost)
		}
		refused := p.last
		header, err := strconv.ParseInt(w.Header().Get("Retry-After"), 10, 64)
		if err != nil || header < 1 || time.Duration(header)*time.Second < refused.RetryAfter {
			p.Fatalf("%+v: Retry-After %q of %v", p.limits, w.Header().Get("Retry-After"), refused.RetryAfter)
		}
		if p.rng.IntN(2) == 0 {
			time.Sleep(time.Duration(header) * time.Second)
		} else {
			time.Sleep(refused.RetryAfter - time.Microsecond)
			if w := p.send(cost); w.Code == http.StatusOK {
				p.Fatalf("%+v, cost %d: served 1µs before RetryAfter of %+v", p.limits, cost, refused)
			}
			time.Sleep(time.Microsecond)
		}
		if w := p.send(cost); w.Code != http.StatusOK {
			p.Fatalf("%+v, cost %d: refused again after Retry-After of %+v: %v", p.limits, cost, refused, w.Header())
		}
		p.sleep(p.limits[0].Period)
	}
}

// Identical checks that two stores give the same answers, to the byte, to the same
// requests at the same instants, in every style of headers. The stores are those of
// RunOn.
func Identical(t *testing.T, open, other func(testing.TB) weir.Store) {
	const bubbles, requests = 50, 100
	for seed := range uint64(bubbles) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				style := middleware.HeaderStyle(seed % 5)
				one, two := newPromises(t, seed, open(t), style), newPromises(t, seed, other(t), style)
				for n := range requests {
					if n%20 == 0 {
						one.draw(fmt.Sprint("user", n))
						two.user, two.limits, two.max = one.user, one.limits, one.max
					}
					if one.rng.IntN(3) == 0 {
						one.sleep(one.limits[0].Period)
					}
					cost := one.rng.Int64N(one.max/int64(1+one.rng.IntN(9)) + 2)
					a, b := one.send(cost), two.send(cost)
					if a.Code != b.Code || !maps.EqualFunc(a.Header(), b.Header(), equalValues) || a.Body.String() != b.Body.String() {
						t.Fatalf("%+v, cost %d: %d %v %s and %d %v %s", one.limits, cost, a.Code, a.Header(), a.Body, b.Code, b.Header(), b.Body)
					}
				}
			})
		})
	}
}

func equalValues(a, b []string) bool { return strings.Join(a, "\n") == strings.Join(b, "\n") }
