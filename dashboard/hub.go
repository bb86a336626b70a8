package dashboard

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

// hub passes frames to the open streams, and runs a poller while there are any.
type hub struct {
	poll func(ctx context.Context, send func(*frame)) // returns soon after ctx has ended

	mu      sync.Mutex
	streams map[stream]struct{}
	stop    context.CancelFunc // stops the poller; nil: none runs
	last    *frame             // of the running poller
	closed  bool
}

// stream holds the newest frame for one reader. It is closed when the hub closes.
type stream chan *frame

// join opens a stream, or reports false after close. The first stream starts the poller;
// later ones get the last frame at once.
func (h *hub) join() (stream, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.poll == nil { // New did not make the Dashboard.
		return nil, false
	}
	s := make(stream, 1)
	if h.streams == nil {
		h.streams = map[stream]struct{}{}
	}
	h.streams[s] = struct{}{}
	if h.last != nil {
		s <- h.last
	}
	if h.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		h.stop = stop
		go h.poll(ctx, func(f *frame) { h.send(ctx, f) })
	}
	return s, true
}

// leave closes a stream. The last one stops the poller.
func (h *hub) leave(s stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.streams, s)
	h.idle()
}

// send sends a frame to all streams, unless the poller was stopped. It never waits: a slow
// reader misses frames.
func (h *hub) send(ctx context.Context, f *frame) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	h.last = f
	for s := range h.streams {
		select {
		case <-s:
		default:
		}
		s <- f
	}
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
		close(s)
	}
	clear(h.streams)
	h.idle()
}

// poll makes a frame each Interval until ctx ends.
func (d *Dashboard) poll(ctx context.Context, send func(*frame)) {
	tick := time.Tick(d.cfg.Interval)
	if d.reader != nil {
		defer d.reader.watch().Stop()
	}
	for {
		var v view
		if d.reader != nil {
			v = d.reader.next(ctx, d.cfg.Interval)
		}
		if ctx.Err() != nil {
			return
		}
		send(d.frame(v, time.Now()))
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
	}
}

// encodeSince encodes a frame with the points from a second on. It returns the second after
// the last point.
func (d *Dashboard) encodeSince(f *frame, from int64) (data []byte, next int64) {
	f = new(*f)
	f.Points = d.counts.since(from, f.Process != nil, f.Redis != nil)
	if n := len(f.Points.Time); n > 0 {
		from = f.Points.Time[n-1] + 1
	}
	return encode(f), from
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
