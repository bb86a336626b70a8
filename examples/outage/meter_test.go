package main

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/goweir/weir"
)

func TestMeter(t *testing.T) {
	t.Parallel()
	m := newMeter(2, 2)
	m.answered(0, http.StatusOK, nil, 3*time.Millisecond)
	m.answered(0, http.StatusTooManyRequests, nil, time.Millisecond)
	m.answered(1, http.StatusServiceUnavailable, nil, 2*time.Millisecond)
	m.answered(1, 0, errors.New("reset"), 9*time.Millisecond)
	m.answered(1, 0, errors.New("refused"), 4*time.Millisecond)
	m.hook(0)(t.Context(), weir.Event{Kind: weir.EventDecision})
	m.hook(1)(t.Context(), weir.Event{Kind: weir.EventDecision, Decision: weir.Decision{Degraded: true}})
	m.hook(1)(t.Context(), weir.Event{Kind: weir.EventStoreCall, Err: new(weir.StoreError)})
	m.hook(1)(t.Context(), weir.Event{Kind: weir.EventWait})

	s := m.read()
	if want := (counts{requests: 5, failed: 1, lost: 2, byRedis: 1, locally: 1, undecided: 1}); s.counts != want || m.total != want {
		t.Errorf("counts %+v and %+v, want %+v", s.counts, m.total, want)
	}
	if s.p50 != 3*time.Millisecond || s.p99 != 9*time.Millisecond {
		t.Errorf("p50 %v, p99 %v", s.p50, s.p99)
	}
	first := []served{{requests: 2, admitted: 1, refused: 1}, {requests: 3}}
	if s.customers[0] != first[0] || s.customers[1] != first[1] {
		t.Errorf("served %+v, want %+v", s.customers, first)
	}
	if m.loss == nil || m.loss.Error() != "reset" {
		t.Errorf("the first loss is %v", m.loss)
	}

	m.answered(0, http.StatusOK, nil, time.Millisecond)
	if got, want := m.summary(), "6 requests, 2 of them lost, 1 answered with a 5xx"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	second := m.read()
	if second.requests != 1 || second.p99 != time.Millisecond || second.customers[0].admitted != 2 || m.total.requests != 6 {
		t.Errorf("the next second is %+v, in all %+v", second, m.total)
	}
	if s.customers[0] != first[0] {
		t.Errorf("the second before became %+v", s.customers)
	}
}

// An outage counts once per replica that sees it, however long it lasts.
func TestOutagesSeen(t *testing.T) {
	t.Parallel()
	m := newMeter(0, 2)
	local := weir.Event{Kind: weir.EventDecision, Decision: weir.Decision{Degraded: true}}
	for second, c := range []struct {
		local []int // the replicas that decide locally
		want  int
	}{{nil, 0}, {[]int{0}, 1}, {[]int{0, 1}, 2}, {[]int{0, 1, 1}, 2}, {nil, 2}, {[]int{1}, 3}} {
		for i := range 2 {
			m.hook(i)(t.Context(), weir.Event{Kind: weir.EventDecision})
		}
		for _, i := range c.local {
			m.hook(i)(t.Context(), local)
		}
		if got := m.read().outages; got != c.want {
			t.Errorf("second %d: %d outages, want %d", second, got, c.want)
		}
	}
	for range 3 {
		m.opened(0)
	}
	if got := m.read().outages; got != 5 {
		t.Errorf("a replica opened three times within its outage of several seconds, and there are %d outages, want 3 of it and 2 of the other", got)
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	var hundred []time.Duration
	for i := range 100 {
		hundred = append(hundred, time.Duration(i+1))
	}
	for _, c := range []struct {
		name   string
		sorted []time.Duration
		p      int
		want   time.Duration
	}{
		{"of none", nil, 99, 0},
		{"of one", hundred[:1], 50, 1},
		{"median of two", hundred[:2], 50, 1},
		{"99 of two", hundred[:2], 99, 2},
		{"50 of a hundred", hundred, 50, 50},
		{"99 of a hundred", hundred, 99, 99},
		{"all of a hundred", hundred, 100, 100},
	} {
		if got := percentile(c.sorted, c.p); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
