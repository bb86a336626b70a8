package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// Config configures a Dashboard; see [New]. Its zero value is valid: the page then shows
// the events of this process alone.
type Config struct {
	// Client reads weir's state in Redis. The Dashboard never closes it, and needs no
	// script: SCAN, GETRANGE, LRANGE, ZCARD, ZRANGE, TIME and PING are enough. Changes need the
	// commands of a redisstore too. Nil: the page shows no state of Redis.
	Client redis.UniversalClient
	// Prefix is that of redisstore.Config. Empty: "weir:".
	Prefix string
	// ShowKeys shows keys as they are, also personal data such as user names and IP
	// addresses. False: the page shows the first ten hexadecimal digits of a key's
	// SHA-256. Such a hash keeps keys out of pictures, but a guessed key can be checked
	// against it.
	ShowKeys bool
	// AllowChanges lets visitors pause, resume and reset keys. It needs a Client.
	// Requests of other sites are refused. False: the page is read-only.
	AllowChanges bool
	// Interval is the time between two updates of the page, and between two readings of
	// Redis: 250 ms to 1 minute. 0: 1 s.
	Interval time.Duration
	// MaxKeys is the maximum number of keys that the page reads, 1 to 1 000 000, at about
	// 1 kB each. The page says if there are more. 0: 10 000.
	MaxKeys int
}

const (
	defaultInterval = time.Second
	minInterval     = 250 * time.Millisecond
	maxInterval     = time.Minute
	defaultMaxKeys  = 10_000
	maxMaxKeys      = 1_000_000
)

// check reports the first wrong field, as a *store.ConfigError.
func (c *Config) check() error {
	wrong := func(field, want, got string) error {
		return &store.ConfigError{Field: "dashboard.Config." + field, Want: want, Got: got}
	}
	switch {
	case c.AllowChanges && c.Client == nil:
		return wrong("AllowChanges", "false without a Client", "true")
	case c.Interval != 0 && (c.Interval < minInterval || c.Interval > maxInterval):
		return wrong("Interval", "0, or 250ms to 1m", c.Interval.String())
	case c.MaxKeys < 0 || c.MaxKeys > maxMaxKeys:
		return wrong("MaxKeys", "0 to 1000000", strconv.Itoa(c.MaxKeys))
	}
	return nil
}

// Dashboard is the page: an http.Handler. Its Observe is the weir.Hook for the events of
// this process. It is safe for concurrent use. Create one with [New].
type Dashboard struct {
	cfg    Config
	name   string // of this process
	origin *http.CrossOriginProtection

	hub    hub
	reader *reader // nil without a Client
	hook
}

// New returns a Dashboard, or a *store.ConfigError that names the wrong field. It does no
// I/O and starts no goroutine: Redis is read only while a browser shows the page.
//
// The caller must authenticate requests: the Dashboard answers all that reach it.
func New(cfg Config) (*Dashboard, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.Interval, cfg.MaxKeys = cmp.Or(cfg.Interval, defaultInterval), cmp.Or(cfg.MaxKeys, defaultMaxKeys)
	d := &Dashboard{cfg: cfg, name: processName(), origin: http.NewCrossOriginProtection(), hook: hook{names: namer{plain: cfg.ShowKeys}}}
	if cfg.Client != nil {
		var err error
		if d.reader, err = newReader(cfg); err != nil {
			return nil, err
		}
	}
	d.hub.poll = d.poll
	return d, nil
}

func processName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s, process %d", host, os.Getpid())
}

// Close ends open streams, and refuses new ones. http.Server.Shutdown would wait for
// streams, so register Close with RegisterOnShutdown. The Hook goes on counting. Further
// calls do nothing.
func (d *Dashboard) Close() { d.hub.close() }

var errClosed = errors.New("the dashboard is closed")

// ServeHTTP answers a request by the last segment of its path; see the package's
// documentation.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	last := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	if last == "change" {
		if allow(w, r, http.MethodPost) {
			d.change(w, r)
		}
		return
	}
	if !allow(w, r, http.MethodGet, http.MethodHead) {
		return
	}
	asked, _, _ := strings.Cut(r.RequestURI, "?")
	switch {
	case r.URL.Path == "" && !strings.HasSuffix(asked, "/"):
		// Below http.StripPrefix without a slash: the page's links need one.
		h.Set("Location", "./"+path.Base(asked)+"/")
		w.WriteHeader(http.StatusTemporaryRedirect)
	case last == "":
		page := assemble()
		h.Set("Content-Security-Policy", page.policy)
		h.Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(page.with(nil))
	case last == "events":
		d.events(w, r)
	case last == "state", last == "save":
		d.once(w, r, last == "save")
	default:
		http.NotFound(w, r)
	}
}

// once answers with one frame, as JSON or as a page to keep.
func (d *Dashboard) once(w http.ResponseWriter, r *http.Request, page bool) {
	data, err := d.now(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	if !page {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(data)
		return
	}
	document := assemble()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="weir-`+time.Now().UTC().Format("20060102-150405")+`.html"`)
	_, _ = w.Write(document.with(data))
}

// allow reports whether a request has one of the methods, or answers it.
func allow(w http.ResponseWriter, r *http.Request, methods ...string) bool {
	if slices.Contains(methods, r.Method) {
		return true
	}
	w.Header().Set("Allow", strings.Join(methods, ", "))
	http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	return false
}
