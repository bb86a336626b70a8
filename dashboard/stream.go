package dashboard

import (
	"fmt"
	"net/http"
	"time"
)

const (
	// beatEvery is the maximum silence on a stream: proxies close silent connections, and
	// so does the page.
	beatEvery = 10 * time.Second
	// writeTimeout ends a stream whose browser reads nothing.
	writeTimeout = 10 * time.Second
)

// events answers with server-sent events. A browser connects again after a second.
//
//	whole   the first frame, with all points
//	frame   each later frame, with the points since the one before
//	beat    in silence
func (d *Dashboard) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would keep events back.
	if r.Method == http.MethodHead {
		return
	}
	s, ok := d.hub.join()
	if !ok {
		http.Error(w, "the dashboard is closed", http.StatusServiceUnavailable)
		return
	}
	defer d.hub.leave(s)
	out := http.NewResponseController(w)
	write := func(event string, data []byte) error {
		_ = out.SetWriteDeadline(time.Now().Add(writeTimeout)) // Without support, the server's timeout applies.
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, data); err != nil {
			return err
		}
		return out.Flush()
	}
	if err := out.Flush(); err != nil {
		http.Error(w, "a handler around the dashboard keeps it from flushing: "+err.Error(), http.StatusInternalServerError)
		return
	}
	if _, err := w.Write([]byte("retry: 1000\n\n")); err != nil {
		return
	}
	beat := time.NewTicker(beatEvery)
	defer beat.Stop()
	for event, from := "whole", int64(0); ; {
		var err error
		select {
		case <-r.Context().Done():
			return
		case <-beat.C:
			err = write("beat", []byte("{}"))
		case f, open := <-s:
			if !open {
				return
			}
			var data []byte
			data, from = d.encodeSince(f, from)
			err, event = write(event, data), "frame"
			beat.Reset(beatEvery)
		}
		if err != nil {
			return
		}
	}
}

// now returns a frame as JSON with all points: the last one of a running poller, or a new
// one.
func (d *Dashboard) now(r *http.Request) ([]byte, error) {
	s, ok := d.hub.join()
	if !ok {
		return nil, errClosed
	}
	defer d.hub.leave(s)
	select {
	case <-r.Context().Done():
		return nil, r.Context().Err()
	case f, open := <-s:
		if !open {
			return nil, errClosed
		}
		data, _ := d.encodeSince(f, 0)
		return data, nil
	}
}
