package weir

import (
	"fmt"
	"io"
	"net/http"
)

// keepInFlight has a call in flight until its response's body is closed, read to
// its end or fails to be read. A body that is neither closed nor read keeps the
// call in flight for as long as the process lives.
func keepInFlight(resp *http.Response, lease *Lease) {
	if !lease.counts() {
		return
	}
	if resp.Body == nil || resp.Body == http.NoBody {
		lease.Release()
		return
	}
	b := &inFlightBody{resp.Body, lease}
	w, writes := resp.Body.(io.Writer) // of 101 Switching Protocols
	_, writesTo := resp.Body.(io.WriterTo)
	switch {
	case writes && writesTo:
		resp.Body = struct {
			switchedBody
			io.WriterTo
		}{switchedBody{b, w}, inFlightWriterTo{b}}
	case writes:
		resp.Body = switchedBody{b, w}
	case writesTo:
		resp.Body = inFlightWriterTo{b}
	default:
		resp.Body = b
	}
}

// switchedBody is the body of 101 Switching Protocols: what is read of it, and
// closes it, and the body itself, which is written to.
type switchedBody struct {
	io.ReadCloser
	io.Writer
}

// CloseWrite closes the writing half, as that of net/http's own body does.
func (b switchedBody) CloseWrite() error {
	if c, ok := b.Writer.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return fmt.Errorf("weir: transport: CloseWrite: %w", http.ErrNotSupported)
}

// inFlightBody releases a lease when it comes to its end.
type inFlightBody struct {
	io.ReadCloser
	lease *Lease
}

func (b *inFlightBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.lease.Release()
	}
	return n, err
}

func (b *inFlightBody) Close() error {
	defer b.lease.Release()
	return b.ReadCloser.Close()
}

// inFlightWriterTo is the same for a body that writes itself.
type inFlightWriterTo struct{ *inFlightBody }

func (b inFlightWriterTo) WriteTo(w io.Writer) (int64, error) {
	defer b.lease.Release()
	return b.ReadCloser.(io.WriterTo).WriteTo(w)
}
