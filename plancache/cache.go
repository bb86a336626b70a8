package plancache

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir"
)

// The defaults of a [Config].
const (
	DefaultMaxEntries = 10_000
	DefaultTimeout    = time.Second
	DefaultRetry      = time.Second
)

// Config is what [New] makes a Cache from. Lookup and TTL are required.
type Config[V any] struct {
	// Lookup finds what is kept. It is called with the context of one of the
	// requests that ask, which ends after Timeout at the latest, and must return
	// when that has ended. It is called once at a time for a key, and for as many
	// keys at once as are asked for. Required.
	Lookup func(ctx context.Context, key string) (V, error)
	// TTL is how long an answer is returned without asking again, from the
	// beginning of its lookup on. Required.
	TTL time.Duration
	// Stale is for how long after its TTL an answer is still returned while
	// lookups fail, and to other requests while one looks it up. 0: not at all,
	// so that a lookup that fails is an error at once.
	Stale time.Duration
	// Timeout bounds a lookup. 0: DefaultTimeout.
	Timeout time.Duration
	// Retry is how long a lookup that failed is not tried again: the error is
	// returned to those who ask for its key meanwhile, and answers that are
	// stale are looked up by one request at a time, one in each such span, until
	// a lookup succeeds. So an outage delays few requests. 0: DefaultRetry.
	Retry time.Duration
	// MaxEntries bounds how many answers are kept. 0: DefaultMaxEntries. Beyond
	// it the oldest of a few is forgotten for each new one, errors before what
	// may still be returned while lookups fail; an error that finds nothing but
	// such answers is not kept, so its key is looked up again at once.
	MaxEntries int
	// OnError is told of a lookup that failed though its caller got a stale
	// answer; other callers get the error. Nil: nobody is told.
	OnError func(key string, err error)
}

// Cache keeps answers. It is safe for concurrent use. What it returns is shared
// by all who ask for a key: do not write to it.
type Cache[V any] struct {
	cfg Config[V]
	// retryAt is when one request may look up a stale answer while lookups fail,
	// in nanoseconds since began. 0: they succeed.
	retryAt atomic.Int64
	began   time.Time

	mu      sync.RWMutex // never held during a lookup
	answers map[string]answer[V]
	lookups map[string]*lookup[V]
}

// answer is what a lookup found.
type answer[V any] struct {
	value V
	err   error     // why there is no value
	until time.Time // when it is to be looked up again
}

// lookup is one that is under way.
type lookup[V any] struct {
	done chan struct{} // closed when the answer is there, or nobody gets one
	ok   bool
	answer[V]
}

// New returns a Cache, or a *[weir.ConfigError] that names the wrong field.
func New[V any](cfg Config[V]) (*Cache[V], error) {
	switch {
	case cfg.Lookup == nil:
		return nil, invalid("Lookup", "a function", "nil")
	case cfg.TTL <= 0:
		return nil, invalid("TTL", "more than 0", cfg.TTL.String())
	case cfg.Stale < 0:
		return nil, invalid("Stale", "0 or more", cfg.Stale.String())
	case cfg.Timeout < 0:
		return nil, invalid("Timeout", "0 or more", cfg.Timeout.String())
	case cfg.Retry < 0:
		return nil, invalid("Retry", "0 or more", cfg.Retry.String())
	case cfg.MaxEntries < 0:
		return nil, invalid("MaxEntries", "0 or more", strconv.Itoa(cfg.MaxEntries))
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Retry == 0 {
		cfg.Retry = DefaultRetry
	}
	if cfg.MaxEntries == 0 {
		cfg.MaxEntries = DefaultMaxEntries
	}
	return &Cache[V]{
		cfg: cfg, began: time.Now(),
		answers: make(map[string]answer[V]), lookups: make(map[string]*lookup[V]),
	}, nil
}

func invalid(field, want, got string) error {
	return &weir.ConfigError{Field: "plancache.Config." + field, Want: want, Got: got}
}

// Forget has the next Get of a key look it up, so that a changed plan holds from
// then on. A lookup that is under way is not waited for by those who ask from
// now on, and its answer not kept.
func (c *Cache[V]) Forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.answers, key)
	delete(c.lookups, key)
}

// ForgetAll is Forget for all keys.
func (c *Cache[V]) ForgetAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.answers)
	clear(c.lookups)
}

// Len returns how many answers are kept.
func (c *Cache[V]) Len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.answers)
}
