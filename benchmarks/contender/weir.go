package contender

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/store/redisstore"
)

// Weir is weir with its defaults: GCRA.
func Weir() Contender {
	c := weirBy("weir", "weir:", weir.GCRA)
	c.Variant = false
	c.OnCluster = true
	c.Network = c.Redis
	c.Resilient = weirResilient
	c.Waiting = weirWaiting
	c.Web = Web{NetHTTP, weirMiddleware}
	c.Transport = weirTransport
	return c
}

// WeirWindow is the exact log.
func WeirWindow() Contender { return weirBy("weir (exact window)", "wlog:", weir.SlidingWindow) }

// WeirCounter is two weighted counters.
func WeirCounter() Contender { return weirBy("weir (sliding counter)", "wcnt:", weir.SlidingCounter) }

// WeirFixed is a window that opens at the first unit.
func WeirFixed() Contender { return weirBy("weir (fixed window)", "wfix:", weir.FixedWindow) }

// WeirThree decides three limits of a key together.
func WeirThree() Contender {
	limits := func(l Limit) []weir.Limit {
		one := weirLimit(l, weir.GCRA)
		return []weir.Limit{one.WithName("a"), one.WithName("b"), one.WithName("c")}
	}
	return weirOf("weir (three limits)", "wall:", limits)
}

func weirBy(name, prefix string, a weir.Algorithm) Contender {
	return weirOf(name, prefix, func(l Limit) []weir.Limit { return []weir.Limit{weirLimit(l, a)} })
}

// weirOf is a variant of weir with other limits. Over Redis it has its own keys, as long
// as the default ones: otherwise it would take over the counts of others.
func weirOf(name, prefix string, limits func(Limit) []weir.Limit) Contender {
	return Contender{
		Name: name, Own: true, Variant: true,
		Local: func(_ Cleaner, l Limit) (Decide, error) {
			store, err := localstore.New(localstore.Config{})
			if err != nil {
				return nil, err
			}
			return weirDecide(store, limits(l)...)
		},
		Redis: func(c Cleaner, l Limit, at Servers) (Decide, error) {
			store, err := redisstore.New(redisstore.Config{Client: at.Client(c), Prefix: prefix})
			if err != nil {
				return nil, err
			}
			return weirDecide(store, limits(l)...)
		},
	}
}

func weirLimit(l Limit, a weir.Algorithm) weir.Limit {
	if a == weir.GCRA {
		return weir.Per(1, l.Refill).WithBurst(l.Burst)
	}
	return weir.Per(l.Burst, l.Window).By(a)
}

// weirDecide decides through a Limiter, like users.
func weirDecide(store weir.Store, limits ...weir.Limit) (Decide, error) {
	l, err := weir.New(weir.Config{Name: "bench", Store: store, Limits: limits})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, key string) (bool, error) {
		d, err := l.Allow(ctx, key)
		return d.Allowed, err
	}, nil
}

// weirResilient is the documented set-up: a client with redisstore's options, and a local
// store behind it.
func weirResilient(c Cleaner, l Limit, at Servers) (Decide, error) {
	options := at.options()
	redisstore.ConfigureUniversal(options)
	primary, err := redisstore.New(redisstore.Config{Client: open(c, options)})
	if err != nil {
		return nil, err
	}
	store, err := fallback.New(fallback.Config{Primary: primary, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	return weirDecide(store, weirLimit(l, weir.GCRA))
}

func weirWaiting(c Cleaner, l Limit, at Servers) (Wait, error) {
	store, err := redisstore.New(redisstore.Config{Client: at.Client(c)})
	if err != nil {
		return nil, err
	}
	limiter, err := weir.New(weir.Config{Name: "bench", Store: store, Limits: []weir.Limit{weirLimit(l, weir.GCRA)}})
	if err != nil {
		return nil, err
	}
	return limiter.Wait, nil
}

// weirLimiter is a Limiter over a local store.
func weirLimiter(l Limit) (*weir.Limiter, error) {
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		return nil, err
	}
	return weir.New(weir.Config{Name: "bench", Store: store, Limits: []weir.Limit{weirLimit(l, weir.GCRA)}})
}

// weirConfig has hashed keys and both RateLimit fields.
func weirConfig(l Limit) (middleware.Config, error) {
	limiter, err := weirLimiter(l)
	key := weir.KeyAPIKey(KeyHeader, []byte("a secret of thirty-two characters"))
	return middleware.Config{Limiter: limiter, Key: key}, err
}

func weirMiddleware(_ Cleaner, l Limit, h http.Handler) (http.Handler, error) {
	cfg, err := weirConfig(l)
	if err != nil {
		return nil, err
	}
	mount, err := middleware.New(cfg)
	if err != nil {
		return nil, err
	}
	return mount(h), nil
}

func weirTransport(_ Cleaner, l Limit, base http.RoundTripper) (http.RoundTripper, error) {
	limiter, err := weirLimiter(l)
	if err != nil {
		return nil, err
	}
	return weir.NewTransport(weir.TransportConfig{Limiter: limiter, Key: weir.KeyHost(), Base: base})
}
