package weir

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
)

// SettleFunc says what a request really cost (see [TransportConfig]). It is
// called when the response has arrived, with end nil, and if the cost is not
// known then, once more when the body has ended.
type SettleFunc func(resp *http.Response, end *BodyEnd) (cost int64, known bool)

// BodyEnd is what is known of a response's body when it has been read to its
// end or was closed. The response's Trailer is set when it was read to its end.
type BodyEnd struct {
	Bytes int64  // that were read
	Tail  []byte // the last of them, up to 4 KiB; not to be kept
	Whole bool   // it was read to its end
}

// mostTail is how much of the end of a body is kept for a SettleFunc.
const mostTail = 4 << 10

// conclude sees to what an attempt took when its outcome is there: leases end
// and real costs are settled, now or when the response's body has ended.
func (a *admission) conclude(req *http.Request, resp *http.Response, err error) {
	for b := range a.each {
		b.conclude(req, resp, err)
	}
}

func (b *booking) conclude(req *http.Request, resp *http.Response, err error) {
	switch {
	case b.lease == nil && b.settle == nil: // as most often
	case err != nil:
		b.lease.Release()
		if b.settle != nil && neverSent(err) {
			b.settleTo(req.Context(), 0)
		}
	default:
		keepInFlight(resp, b.lease)
		b.settleBy(req.Context(), resp)
	}
}

// inFlight reports whether an attempt is in flight still.
func (a *admission) inFlight() bool {
	for b := range a.each {
		if b.lease.counts() {
			return true
		}
	}
	return false
}

// abandon gives back what an attempt holds that panicked or is to be replaced.
func (a *admission) abandon() {
	for b := range a.each {
		b.lease.Release()
	}
}

// neverSent reports whether an error is of a request that did not get as far as a
// connection: to the upstream, to a proxy, or from a SOCKS proxy to the upstream. An
// HTTP proxy that can't reach the upstream answers, and what net/http makes of that
// can't be told from others.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect" || op.Op == "socks connect")
}

// settleBy settles what the response says, or sees to it at the body's end.
func (b *booking) settleBy(ctx context.Context, resp *http.Response) {
	if b.settle == nil {
		return
	}
	if cost, known := b.settle(resp, nil); known {
		b.settleTo(ctx, cost)
		return
	}
	if resp.Body == nil || resp.Body == http.NoBody {
		b.settleEnd(ctx, resp, &BodyEnd{Whole: true})
		return
	}
	s := &settlingBody{ReadCloser: resp.Body}
	at := *b // The response may outlive the attempt.
	s.ended = func(end *BodyEnd) { at.settleEnd(ctx, resp, end) }
	if w, ok := resp.Body.(io.Writer); ok {
		resp.Body = switchedBody{s, w}
		return
	}
	resp.Body = s
}

func (b *booking) settleEnd(ctx context.Context, resp *http.Response, end *BodyEnd) {
	if cost, known := b.settle(resp, end); known {
		b.settleTo(ctx, cost)
	}
}

// settleTo settles the real cost. That it failed only the Hook is told; the
// estimate stays booked then, as it does for a cost that can't be.
func (b *booking) settleTo(ctx context.Context, cost int64) {
	r := b.limiter.taken(b.key, b.cost, &b.grant)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), heedTimeout)
	defer cancel()
	_ = r.Settle(ctx, cost)
}

// settlingBody is a body at whose end something is settled, once.
type settlingBody struct {
	io.ReadCloser
	mu    sync.Mutex
	end   BodyEnd
	ended func(*BodyEnd) // nil once called
}

func (s *settlingBody) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	s.mu.Lock()
	if s.ended != nil { // What was told of does not change any more.
		s.end.Bytes += int64(n)
		s.end.Tail = tail(s.end.Tail, p[:n])
	}
	s.mu.Unlock()
	if err != nil {
		s.finish(err == io.EOF)
	}
	return n, err
}

func (s *settlingBody) Close() error {
	err := s.ReadCloser.Close()
	s.finish(false)
	return err
}

func (s *settlingBody) finish(whole bool) {
	s.mu.Lock()
	ended := s.ended
	if s.ended = nil; ended != nil {
		s.end.Whole = whole
	}
	s.mu.Unlock()
	if ended != nil {
		ended(&s.end)
	}
}

// tail returns the last bytes of both.
func tail(old, more []byte) []byte {
	if len(more) >= mostTail {
		return append(old[:0], more[len(more)-mostTail:]...)
	}
	if over := len(old) + len(more) - mostTail; over > 0 {
		old = append(old[:0], old[over:]...)
	}
	return append(old, more...)
}
