package combine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/goweir/weir/store/redisstore/internal/combine"
)

// call is a call of the tests. The server doubles its number.
type call struct{ number, double int }

type (
	config = combine.Config[string, call]
	queue  = combine.Queue[string, call]
	group  = combine.Group[string, call]
)

var errServer = errors.New("server failed")

// server is a fake server under synctest. It answers a batch when the test says so.
type server struct {
	t     *testing.T
	mu    sync.Mutex
	trips []*trip
}

// trip is a round trip.
type trip struct {
	batch string // as "a:1,2 b:3"
	ctx   context.Context
	reply chan func() error
}

func newServer(t *testing.T) *server { return &server{t: t} }

// queue returns a queue in front of the server.
func (s *server) queue(c config) *queue {
	c.Send = s.send
	return combine.New(c)
}

func (s *server) send(ctx context.Context, batch []group) error {
	t := &trip{batch: text(batch), ctx: ctx, reply: make(chan func() error)}
	s.mu.Lock()
	s.trips = append(s.trips, t)
	s.mu.Unlock()
	reply := <-t.reply
	if err := reply(); err != nil {
		return err
	}
	for _, g := range batch {
		for _, c := range g.Calls {
			c.double = 2 * c.number
		}
	}
	return nil
}

func text(batch []group) string {
	var groups []string
	for _, g := range batch {
		var numbers []string
		for _, c := range g.Calls {
			numbers = append(numbers, fmt.Sprint(c.number))
		}
		groups = append(groups, g.Key+":"+strings.Join(numbers, ","))
	}
	return strings.Join(groups, " ")
}

// want waits until nothing moves, and checks all batches sent so far.
func (s *server) want(batches ...string) {
	s.t.Helper()
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var got []string
	for _, t := range s.trips {
		got = append(got, t.batch)
	}
	if !slices.Equal(got, batches) {
		s.t.Fatalf("sent %q, want %q", got, batches)
	}
}

// answer makes the i-th round trip return.
func (s *server) answer(i int) { s.replyTo(i, func() error { return nil }) }

func (s *server) replyTo(i int, reply func() error) {
	synctest.Wait()
	s.mu.Lock()
	t := s.trips[i]
	s.mu.Unlock()
	t.reply <- reply
	synctest.Wait()
}

// ctx returns the context of the i-th round trip.
func (s *server) ctx(i int) context.Context {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trips[i].ctx
}

// caller is a goroutine in Do.
type caller struct {
	t      *testing.T
	number int
	result call
	sent   bool
	err    error
	panics any
	over   bool
}

// do calls Do on a goroutine of its own, and returns when that waits.
func do(t *testing.T, ctx context.Context, q *queue, key string, number int) *caller {
	c := &caller{t: t, number: number}
	go func() {
		defer func() { c.panics, c.over = recover(), true }()
		c.result, c.sent, c.err = q.Do(ctx, key, call{number: number})
	}()
	synctest.Wait()
	return c
}

func (c *caller) wantResult() {
	c.t.Helper()
	synctest.Wait()
	if !c.over || c.panics != nil || c.err != nil || !c.sent || c.result != (call{c.number, 2 * c.number}) {
		c.t.Fatalf("call %d: got %+v, want its result", c.number, *c)
	}
}

func (c *caller) wantError(err error, sent bool) {
	c.t.Helper()
	synctest.Wait()
	if !c.over || c.panics != nil || !errors.Is(c.err, err) || c.sent != sent {
		c.t.Fatalf("call %d: got %+v, want error %v, sent %t", c.number, *c, err, sent)
	}
}

func (c *caller) wantWaiting() {
	c.t.Helper()
	synctest.Wait()
	if c.over {
		c.t.Fatalf("call %d: got %+v, want it to wait", c.number, *c)
	}
}
