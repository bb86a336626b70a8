package dashboard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/goweir/weir/internal/inspect"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/redisstore"
	"github.com/redis/go-redis/v9"
)

var errSilent = errors.New("no answer yet")

// reader reads Redis. One reading runs at a time. It is safe for concurrent use.
type reader struct {
	client redis.UniversalClient
	survey *inspect.Survey
	store  *redisstore.Store // for brakes

	mu      sync.Mutex
	running chan struct{} // closed when the reading ends; nil: none runs
	started time.Time     // of running
	last    *reading
	began   time.Time // of last
	err     error
	away    time.Time // the first failure of the readings
}

// reading is the state of all keys at an instant.
type reading struct {
	at            time.Time     // by this process's clock
	latency, took time.Duration // latency is 0 if it is unknown
	keys          []*inspect.Key
	more          bool
	missing       error                // of servers whose keys are missing
	newest        map[string]time.Time // by server
	byID          map[string]*inspect.Key
}

// index fills in the maps.
func (r *reading) index() {
	r.newest, r.byID = map[string]time.Time{}, make(map[string]*inspect.Key, len(r.keys))
	for _, k := range r.keys {
		r.byID[idOf(textsOf(k))] = k
		if k.At.After(r.newest[k.Server]) {
			r.newest[k.Server] = k.At
		}
	}
}

// age returns the age of a key's state: a reading may leave out keys.
func (r *reading) age(k *inspect.Key, now time.Time) inspect.Span {
	return inspect.Span(now.Sub(r.at) + r.newest[k.Server].Sub(k.At))
}

// view is the last reading, and the reason why there is no newer one.
type view struct {
	*reading
	err  error
	away time.Time
}

func newReader(cfg Config) (*reader, error) {
	s, err := redisstore.New(redisstore.Config{Client: cfg.Client, Prefix: cfg.Prefix})
	if err != nil {
		if wrong, ok := errors.AsType[*store.ConfigError](err); ok {
			err = &store.ConfigError{Field: "dashboard" + strings.TrimPrefix(wrong.Field, "redisstore"), Want: wrong.Want, Got: wrong.Got}
		}
		return nil, err
	}
	return &reader{client: cfg.Client, survey: inspect.New(cfg.Client, s.Prefix()).Survey(cfg.MaxKeys), store: s}, nil
}

// watch makes readings include a key as soon as a process sets its brake. The caller
// stops it.
func (r *reader) watch() store.Watch {
	return r.store.WatchBrakes(func(limiter, key string, _ store.Clock) { r.survey.Add(limiter, key) })
}

// next reads Redis, for at most three quarters of an interval: a silent server must not
// silence the page. A slow reading goes on, and a later call gets its result.
func (r *reader) next(ctx context.Context, interval time.Duration) view {
	r.mu.Lock()
	if r.running == nil && r.last != nil && r.err == nil && time.Since(r.began) < interval*3/4 {
		// Another poller has just stopped: single requests cost no more than an open page.
		defer r.mu.Unlock()
		return view{r.last, r.err, r.away}
	}
	if r.running == nil {
		r.running, r.started = make(chan struct{}), time.Now()
		go r.run(ctx, r.running)
	}
	done := r.running
	r.mu.Unlock()
	patience := min(interval, time.Second) * 3 / 4
	silent := false
	select {
	case <-ctx.Done():
	case <-done:
	case <-time.After(patience):
		silent = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if silent && r.away.IsZero() && time.Since(r.started) > r.expected() {
		r.away, r.err = time.Now().Add(-patience), errSilent
	}
	return view{r.last, r.err, r.away}
}

// expected returns the time that a reading may take without a sign of an outage. Each reading
// waits for a silent server before it gives the keys of the others. The caller holds mu.
func (r *reader) expected() time.Duration {
	if r.last == nil || r.last.missing == nil {
		return 0
	}
	return 2*r.last.took + time.Second
}

// run makes one reading, and closes done.
func (r *reader) run(ctx context.Context, done chan struct{}) {
	began := time.Now()
	keys, more, missing := r.survey.Read(ctx)
	var latency time.Duration
	var err error
	switch {
	case keys == nil:
		err = missing
	case missing == nil:
		latency, err = r.ping(ctx)
	}
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	defer close(done)
	r.running = nil
	if missing != nil && r.last != nil {
		latency = r.last.latency // A round trip might be to a missing server.
	}
	switch {
	case ctx.Err() != nil: // The page was closed. Redis did not fail.
	case err != nil:
		if r.away.IsZero() {
			r.away = began
		}
		r.err = err
	default:
		r.last, r.err, r.away = &reading{at: now, latency: latency, took: now.Sub(began), keys: keys, more: more, missing: missing}, nil, time.Time{}
		r.last.index()
		r.began = began
	}
}

func (r *reader) ping(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	err := r.client.Ping(ctx).Err()
	return time.Since(began), err
}

// textsOf returns limiter and key. A hash stands for those that are too long.
func textsOf(k *inspect.Key) (limiter, key string) {
	if k.Limiter == "" && k.Key == "" {
		return "(long name)", "#" + k.Hash
	}
	return k.Limiter, k.Key
}

// change makes a change to a key of the last reading.
func (r *reader) change(ctx context.Context, c *changeRequest) error {
	r.mu.Lock()
	r.began = time.Time{} // The next view has to show the change.
	var key *inspect.Key
	if r.last != nil {
		key = r.last.byID[c.ID]
	}
	r.mu.Unlock()
	switch {
	case key == nil:
		return errNoKey
	case key.Limiter == "":
		return fmt.Errorf("%w: Redis has a hash in place of its long name", errNoKey)
	}
	if c.Action == "reset" {
		return r.store.Reset(ctx, key.Limiter, key.Key)
	}
	brake := store.Brake{Lift: true}
	if c.Action == "pause" {
		brake = store.Brake{Pause: c.pause()}
	}
	return r.store.Brake(ctx, charges(key), brake)
}

// charges names a key and its limits for a brake. If Redis does not know the limits, the
// key has a brake alone, and any limit will do to lift or extend it.
func charges(k *inspect.Key) (list []store.Charge) {
	for i := range k.Limits {
		list = append(list, store.Charge{Scope: k.Limiter, Key: k.Key, Limit: k.Limits[i].Limit})
	}
	if len(list) == 0 {
		list = append(list, store.Charge{Scope: k.Limiter, Key: k.Key, Limit: store.Limit{Rate: 1, Period: time.Second}})
	}
	return list
}
