package dashboard

import (
	"context"
	"encoding/json"
	"sync"
	"time"
)

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
