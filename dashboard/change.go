package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"
)

const (
	// maxChange bounds the body of a change, in bytes.
	maxChange = 4096
	minPause  = time.Millisecond
	maxPause  = 24 * time.Hour
)

type changeRequest struct {
	Action  string  `json:"action"` // pause, resume or reset
	ID      string  `json:"id"`     // of a row
	Seconds float64 `json:"seconds"`
}

// change pauses, resumes or resets a key, for a request of the page itself.
func (d *Dashboard) change(w http.ResponseWriter, r *http.Request) {
	if !d.cfg.AllowChanges {
		http.Error(w, "the dashboard is read-only: Config.AllowChanges is false", http.StatusForbidden)
		return
	}
	if err := d.origin.Check(r); err != nil {
		http.Error(w, "the request comes from another site", http.StatusForbidden)
		return
	}
	// A form of another site can't send this type without asking first.
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		http.Error(w, "Content-Type: want application/json", http.StatusUnsupportedMediaType)
		return
	}
	var c changeRequest
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxChange))
	body.DisallowUnknownFields()
	err := body.Decode(&c)
	if _, more := body.Token(); err == nil && more != io.EOF {
		err = errors.New("there is more than one")
	}
	if err != nil {
		http.Error(w, "the body is no change: "+err.Error(), http.StatusBadRequest)
		return
	}
	if err = c.check(); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch err = d.reader.change(r.Context(), &c); {
	case errors.Is(err, errNoKey):
		http.Error(w, err.Error(), http.StatusNotFound)
	case err != nil:
		http.Error(w, "Redis did not do it: "+d.names.cause(err), http.StatusBadGateway)
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

func (c *changeRequest) check() error {
	switch c.Action {
	case "pause":
		if !(c.Seconds >= minPause.Seconds() && c.Seconds <= maxPause.Seconds()) {
			return fmt.Errorf("seconds: want %g to %.0f, got %g", minPause.Seconds(), maxPause.Seconds(), c.Seconds)
		}
	case "resume", "reset":
		if c.Seconds != 0 {
			return fmt.Errorf("seconds: want none with %s, got %g", c.Action, c.Seconds)
		}
	default:
		return fmt.Errorf("action: want pause, resume or reset, got %q", c.Action)
	}
	return nil
}

func (c *changeRequest) pause() time.Duration {
	return time.Duration(c.Seconds * float64(time.Second)).Truncate(time.Microsecond)
}

var errNoKey = errors.New("the page knows no such key any more")
