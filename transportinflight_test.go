package weir_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/goweir/weir"
)

// closer is a body that may also be what it wraps.
type closer struct {
	io.Reader
	err error
}

func (c closer) Close() error { return c.err }

type (
	writerTo struct {
		closer
		io.WriterTo
	}
	writer struct {
		closer
		io.Writer
	}
	both struct {
		closer
		io.WriterTo
		io.Writer
	}
)

// TestBodyKeepsTheCallInFlight until it has come to its end, whatever that is and
// whatever the body can do, and passes everything on.
func TestBodyKeepsTheCallInFlight(t *testing.T) {
	t.Parallel()
	fault := errors.New("fault")
	var sent bytes.Buffer
	text := func() *strings.Reader { return strings.NewReader("text") }
	for name, tt := range map[string]struct {
		body             io.ReadCloser
		end              func(b io.ReadCloser) error
		want             error
		atOnce           bool
		writes, writesTo bool
	}{
		"closed":                  {body: closer{text(), nil}, end: io.ReadCloser.Close},
		"closed with an error":    {body: closer{text(), fault}, end: io.ReadCloser.Close, want: fault},
		"read to its end":         {body: closer{text(), nil}, end: readAll},
		"fails":                   {body: closer{iotest.ErrReader(fault), nil}, end: readAll, want: fault},
		"no body":                 {body: http.NoBody, atOnce: true, end: io.ReadCloser.Close, writesTo: true},
		"nil":                     {atOnce: true},
		"writes itself":           {body: writerTo{closer{text(), nil}, text()}, end: copied, writesTo: true},
		"writes itself, closed":   {body: writerTo{closer{text(), nil}, text()}, end: io.ReadCloser.Close, writesTo: true},
		"can be written":          {body: writer{closer{text(), nil}, &sent}, end: readAll, writes: true},
		"can be written, closed":  {body: writer{closer{text(), nil}, &sent}, end: io.ReadCloser.Close, writes: true},
		"writes and can be":       {body: both{closer{text(), nil}, text(), &sent}, end: copied, writes: true, writesTo: true},
		"writes and can be, read": {body: both{closer{text(), nil}, text(), &sent}, end: readAll, writes: true, writesTo: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newHeldStore(t)
				l := newFlightLimiter(t, s, 1)
				resp := &http.Response{Body: tt.body}
				weir.KeepInFlight(resp, acquire(t, l, "k"))
				if tt.atOnce {
					noFlights(t, l)
				} else {
					s.wantHeld(t, "k", 1)
				}
				if w, ok := resp.Body.(io.Writer); ok != tt.writes {
					t.Errorf("it can be written: %v, want %v", ok, tt.writes)
				} else if ok {
					sent.Reset()
					if _, err := w.Write([]byte("more")); err != nil || sent.String() != "more" {
						t.Errorf("wrote %q, %v", &sent, err)
					}
					s.wantHeld(t, "k", 1)
				}
				if _, ok := resp.Body.(io.WriterTo); ok != tt.writesTo {
					t.Errorf("it writes itself: %v, want %v", ok, tt.writesTo)
				}
				if tt.end != nil {
					if err := tt.end(resp.Body); !errors.Is(err, tt.want) {
						t.Errorf("ended with %v, want %v", err, tt.want)
					}
					noFlights(t, l)
					_ = resp.Body.Close()
				}
				noFlights(t, l)
				s.wantHeld(t, "k", 0)
			})
		})
	}
}

func readAll(b io.ReadCloser) error {
	text, err := io.ReadAll(b)
	if err == nil && string(text) != "text" {
		return errors.New("read " + string(text))
	}
	return err
}

func copied(b io.ReadCloser) error {
	var to bytes.Buffer
	if _, err := b.(io.WriterTo).WriteTo(&to); err != nil || to.String() != "text" {
		return errors.New("wrote " + to.String())
	}
	return nil
}
