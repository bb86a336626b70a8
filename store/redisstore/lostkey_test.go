package redisstore

import (
	"errors"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// A call finds out about a lost state in one round trip.
func TestLossIsFoundInOneRoundTrip(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newStore(t, server.Client())
	for _, l := range every(10, time.Hour) {
		req := charge(l.Algorithm.String(), 3, l)
		req.Seen = make([]store.Seen, 1)
		take(t, s, req)
		if err := server.Client().FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		commands := server.CommandsDuring(func() {
			if _, err := s.Take(t.Context(), req); !errors.Is(err, store.ErrLost) {
				t.Errorf("%v: %v", l.Algorithm, err)
			}
			st := s.Start(t.Context(), s, &req)
			<-st.Done()
			if _, done, err := st.Decision(); !done || !errors.Is(err, store.ErrLost) {
				t.Errorf("%v: %v, %v", l.Algorithm, done, err)
			}
		})
		if commands["evalsha"] != 2 {
			t.Errorf("%v: two calls took %v", l.Algorithm, commands)
		}
	}
}
