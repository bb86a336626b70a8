package dashboard

import (
	"context"
	"sync"
)

// hub passes frames to the open streams, and runs a poller while there are any.
type hub struct {
	poll func(ctx context.Context, send func(message)) // returns soon after ctx has ended

	mu      sync.Mutex
	streams map[*stream]struct{}
	stop    context.CancelFunc // stops the poller; nil: none runs
	last    *message           // of the running poller
	closed  bool
}

// message is a frame as JSON: next with the points since the frame before, whole with all
// points.
type message struct {
	next  []byte
	whole func() []byte
}

// stream is a queue of messages for one reader. A slow reader's stream is closed, and all
// streams when the hub closes.
type stream struct {
	messages chan message
	ended    chan struct{}
	once     sync.Once
}

func (s *stream) end() { s.once.Do(func() { close(s.ended) }) }

// queued is the maximum number of messages for a slow reader.
const queued = 4

// join opens a stream, or reports false after close. The first stream starts the poller;
// later ones get the last message at once.
func (h *hub) join() (*stream, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.poll == nil { // New did not make the Dashboard.
		return nil, false
	}
	s := &stream{messages: make(chan message, queued), ended: make(chan struct{})}
	if h.streams == nil {
		h.streams = map[*stream]struct{}{}
	}
	h.streams[s] = struct{}{}
	if h.last != nil {
		s.messages <- *h.last
	}
	if h.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		h.stop = stop
		go h.poll(ctx, func(m message) { h.send(ctx, m) })
	}
	return s, true
}

// leave closes a stream. The last one stops the poller.
func (h *hub) leave(s *stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.end()
	delete(h.streams, s)
	h.idle()
}

// send sends a message to all streams, unless the poller was stopped. It never waits.
func (h *hub) send(ctx context.Context, m message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	h.last = &m
	for s := range h.streams {
		select {
		case s.messages <- m:
		default:
			s.end()
			delete(h.streams, s)
		}
	}
	h.idle()
}

// idle stops the poller when no stream is left. The caller holds mu.
func (h *hub) idle() {
	if len(h.streams) == 0 && h.stop != nil {
		h.stop()
		h.stop, h.last = nil, nil
	}
}

// close ends all streams, and refuses new ones.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for s := range h.streams {
		s.end()
	}
	clear(h.streams)
	h.idle()
}
