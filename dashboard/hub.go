package dashboard

import (
	"context"
	"encoding/json"
	"sync"
	"time"
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

// poll makes a frame each Interval until ctx ends.
func (d *Dashboard) poll(ctx context.Context, send func(message)) {
	tick := time.NewTicker(d.cfg.Interval)
	defer tick.Stop()
	if d.reader != nil {
		defer d.reader.watch().Stop()
	}
	for last := int64(0); ; {
		var v view
		if d.reader != nil {
			v = d.reader.next(ctx, d.cfg.Interval)
		}
		if ctx.Err() != nil {
			return
		}
		f := d.frame(v, time.Now())
		hook, read := f.Process != nil, f.Redis != nil
		f.Points = d.counts.since(last, hook, read)
		if n := len(f.Points.Time); n > 0 {
			last = f.Points.Time[n-1] + 1
		}
		send(message{next: encode(f), whole: sync.OnceValue(func() []byte {
			whole := *f
			whole.Points = d.counts.since(0, hook, read)
			return encode(&whole)
		})})
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// encode writes a frame as JSON in one line. It escapes <, > and &, so the JSON may stand
// in a page.
func encode(f *frame) []byte {
	data, err := json.Marshal(f)
	if err != nil {
		panic("dashboard: " + err.Error()) // Frames are made of numbers and texts.
	}
	return data
}
