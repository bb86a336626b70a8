// Package weirecho mounts the limits of package middleware in echo (v4).
//
//	limit, err := weirecho.New(middleware.Config{Limiter: limiter, Key: key})
//	e.Use(authenticate, limit)
//
// [Key] counts by an identity that the authentication hands on with Context.Set.
// Package middleware decides everything: read its documentation on order and keys first.
package weirecho

import (
	"github.com/labstack/echo/v4"

	"github.com/goweir/weir/middleware"
)

// New returns the middleware, or a *weir.ConfigError that names the wrong field. A refused
// request is answered here, the next handler does not run, and no error reaches echo's
// error handler. With Config.Settle an error of the next handler reaches it here, and is
// returned as well: error handlers, as echo's own, must leave a committed response alone.
// Echo's Timeout drops the answer then, and the client gets an empty 200: mount it inside.
//
// The route that echo matched becomes the request's Pattern, unless a ServeMux
// in front of echo has set one, so that weir.KeyRoute works. With Echo.Pre no
// route has matched yet.
func New(cfg middleware.Config) (echo.MiddlewareFunc, error) {
	guard, err := middleware.NewGuard(cfg)
	if err != nil {
		return nil, err
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			if r.Pattern == "" {
				// In place, as the ServeMux does and outer handlers expect.
				r.Pattern = c.Path()
			}
			asked := bridge.Carry(r, c)
			passed, ok := guard.Check(c.Response(), asked)
			if !ok {
				return nil
			}
			c.SetRequest(passed)
			defer func() { guard.Done(r, c.Request()) }()
			if guard.Settles() && passed != asked {
				// Echo's own response does not know whether it was flushed.
				w, settle := guard.Record(c.Response().Writer, r, passed)
				c.Response().Writer = w
				ended := false
				defer func() { settle(ended) }()
				err := next(c)
				if err != nil {
					c.Error(err) // To settle the answer.
				}
				ended = true
				return err
			}
			return next(c)
		}
	}, nil
}
