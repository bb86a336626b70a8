package middleware

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
)

// kind is the place where an error arose.
type kind struct {
	level slog.Level
	text  string
}

var (
	kindStore   = &kind{slog.LevelWarn, "the store failed"} // an error with FailClosed, as kindLimits
	kindKey     = &kind{slog.LevelError, "the key function failed"}
	kindLimits  = &kind{slog.LevelWarn, "the lookup of a request's limits failed"}
	kindNoPlan  = &kind{slog.LevelError, "a request's key has no plan"}
	kindCost    = &kind{slog.LevelError, "the cost function failed"}
	kindSettle  = &kind{slog.LevelWarn, "settling failed, and the charge stays"}
	kindPenalty = &kind{slog.LevelWarn, "counting a refusal failed, and its key is not blocked"}
	kindShadows = &kind{slog.LevelWarn, "a limit in shadow failed"}
	kindConfig  = &kind{slog.LevelError, "the configuration is wrong"}
)

// fault is an error for Config.OnError, with its place.
type fault struct {
	kind *kind
	err  error
}

func (f *fault) Error() string { return "middleware: " + f.kind.text + ": " + f.err.Error() }

func (f *fault) Unwrap() error { return f.err }

// errorLog logs errors if the Config has no OnError: a line per second and kind.
type errorLog struct {
	limiter string
	closed  bool
	since   time.Time
	lines   sync.Map // of *kind to *line
}

type line struct {
	next atomic.Int64 // ns after errorLog.since
	more atomic.Int64 // errors without a line
}

// log is a Config.OnError.
func (l *errorLog) log(r *http.Request, err error) {
	k := kindOf(err)
	found, _ := l.lines.LoadOrStore(k, new(line))
	line := found.(*line)
	now, next := time.Since(l.since), line.next.Load()
	if int64(now) < next || !line.next.CompareAndSwap(next, int64(now+time.Second)) {
		line.more.Add(1)
		return
	}
	level := k.level
	if l.closed && (k == kindStore || k == kindLimits) || errors.Is(err, weir.ErrConfig) {
		level = slog.LevelError
	}
	attrs := []slog.Attr{slog.String("limiter", l.limiter), detail(k, err)}
	if more := line.more.Swap(0); more > 0 {
		attrs = append(attrs, slog.Int64("more", more))
	}
	slog.LogAttrs(r.Context(), level, "middleware: "+k.text, attrs...)
}

func kindOf(err error) *kind {
	switch f, ok := errors.AsType[*fault](err); {
	case ok:
		return f.kind
	case errors.Is(err, ErrNeverIdentified):
		// Of its own: each level says so once, and perhaps with the same request.
		return &kind{slog.LevelWarn, "no request had an identity"}
	case errors.Is(err, weir.ErrStore):
		return kindStore
	}
	return kindConfig
}

// detail describes an error. A caller's function may put a key or a header into an error,
// so the log has the types of such an error and not its text.
func detail(k *kind, err error) slog.Attr {
	if wrong, ok := errors.AsType[*weir.ConfigError](err); ok {
		return slog.String("error", wrong.Error())
	}
	if k == kindKey || k == kindLimits || k == kindCost {
		return slog.String("types", typesOf(err))
	}
	if f, ok := errors.AsType[*fault](err); ok {
		err = f.err
	}
	return slog.String("error", err.Error())
}

// typesOf returns the types of an error and of the errors that it wraps.
func typesOf(err error) string {
	var types []string
	for err != nil {
		switch e := err.(type) {
		case *fault:
			err = e.err
		case *weir.StoreError:
			err = e.Err
		default:
			types = append(types, fmt.Sprintf("%T", err))
			err = errors.Unwrap(err)
		}
	}
	return strings.Join(types, " ")
}

// ErrNeverIdentified goes to Config.OnError, once, when none of the first 100
// requests of a middleware had an identity, or none had a key for a level, which the
// error names. That limit never holds. Probably the middleware is mounted before the
// authentication (see Order in the package's documentation), with weir.KeyRoute around
// the router, or the key function reads another place than the authentication writes
// (see weirgin.Key and weirecho.Key).
var ErrNeverIdentified = errors.New("middleware: none of the first " + strconv.Itoa(firstRequests) + " requests had an identity: the" +
	" authentication runs behind the limiter, or hands it on elsewhere than in the request's context (mount the limiter after" +
	" the authentication, with KeyRoute inside the router, and see weirgin.Key and weirecho.Key)")

// firstRequests without an identity are enough: a server without users yet sees
// fewer, or is worth a look.
const firstRequests = 100

// identities counts the requests without an identity, until one has an identity.
type identities struct{ none atomic.Int64 }

func (i *identities) found() {
	if i.none.Load() < firstRequests {
		i.none.Store(firstRequests)
	}
}

// missed notes a request without an identity, and reports whether it is the one to
// warn at.
func (i *identities) missed() bool {
	return i.none.Load() < firstRequests && i.none.Add(1) == firstRequests
}
