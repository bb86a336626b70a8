package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// Requests are due at a steady rate and in a steady order. Each customer's go round the
// replicas.
func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 996*time.Millisecond)
		defer cancel()
		to := make(chan request)
		start := time.Now()
		go pace(ctx, 200, 3, customers(200), to)
		n, each := 0, map[string]int{}
		for r := range to {
			if want := start.Add(time.Duration(n) * 5 * time.Millisecond); !r.due.Equal(want) {
				t.Fatalf("request %d is due after %v", n, r.due.Sub(start))
			}
			n++
			each[fmt.Sprint(customers(200)[r.customer].name, " ", r.replica)]++
		}
		want := map[string]int{"free 0": 17, "free 1": 17, "free 2": 16, "max 0": 17, "max 1": 17, "max 2": 16, "pro 0": 34, "pro 1": 33, "pro 2": 33}
		if n != 200 || fmt.Sprint(each) != fmt.Sprint(want) {
			t.Errorf("%d requests: %v\nwant %v", n, each, want)
		}
	})
}

// Late senders do not change the time at which a request is due.
func TestPaceOfLateSenders(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		to := make(chan request)
		start := time.Now()
		go pace(ctx, 200, 1, customers(200), to)
		<-to
		time.Sleep(100 * time.Millisecond)
		for n := 1; n <= 20; n++ {
			if late, want := time.Since((<-to).due), time.Since(start)-time.Duration(n)*5*time.Millisecond; late != want {
				t.Errorf("request %d is %v late, want %v", n, late, want)
			}
		}
		cancel()
		synctest.Wait()
		if r, ok := <-to; ok {
			t.Errorf("after the end: %+v", r)
		}
	})
}

func TestSend(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-API-Key") != "mine" {
			t.Error("without the key")
		}
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(status)
	}))
	defer s.Close()
	for _, c := range []struct {
		status int
		lost   bool
	}{{200, false}, {429, false}, {500, false}, {503, false}, {401, true}, {404, true}, {0, true}} {
		status = c.status
		got, err := send(s.Client(), s.URL, "mine")
		if (err != nil) != c.lost || !c.lost && got != c.status {
			t.Errorf("%d: %d, %v", c.status, got, err)
		}
	}
}
