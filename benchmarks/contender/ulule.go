package contender

import (
	"context"
	"net/http"

	ulule "github.com/ulule/limiter/v3"
	ululehttp "github.com/ulule/limiter/v3/drivers/middleware/stdlib"
	ululememory "github.com/ulule/limiter/v3/drivers/store/memory"
	ululeredis "github.com/ulule/limiter/v3/drivers/store/redis"
)

// Ulule is ulule/limiter: fixed windows.
func Ulule() Contender {
	return Contender{
		Name: "ulule/limiter", Module: "github.com/ulule/limiter/v3",
		Local: func(_ Cleaner, l Limit) (Decide, error) { return decideUlule(ululememory.NewStore(), l), nil },
		Redis: func(c Cleaner, l Limit, at Servers) (Decide, error) {
			store, err := ululeredis.NewStore(at.Client(c))
			if err != nil {
				return nil, err
			}
			return decideUlule(store, l), nil
		},
		Web: Web{NetHTTP, func(_ Cleaner, l Limit, h http.Handler) (http.Handler, error) {
			limiter := ulule.New(ululememory.NewStore(), ululeRate(l))
			key := ululehttp.WithKeyGetter(func(r *http.Request) string { return r.Header.Get(KeyHeader) })
			return ululehttp.NewMiddleware(limiter, key).Handler(h), nil
		}},
	}
}

func ululeRate(l Limit) ulule.Rate { return ulule.Rate{Period: l.Window, Limit: l.Burst} }

func decideUlule(store ulule.Store, l Limit) Decide {
	limiter := ulule.New(store, ululeRate(l))
	return func(ctx context.Context, key string) (bool, error) {
		c, err := limiter.Get(ctx, key)
		return err == nil && !c.Reached, err
	}
}
