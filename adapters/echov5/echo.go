// Package weirecho mounts the limits of package middleware in echo v5. It is a
// module of its own, so that other users of weir don't get echo v5. It has the name
// of the package for echo v4, so that moving on changes one import.
//
//	limit, err := weirecho.New(middleware.Config{Limiter: limiter, Key: key})
//	e.Use(authenticate, limit)
//
// [Key] counts by an identity that the authentication hands on with Context.Set.
// Package middleware decides everything: read its documentation on order and keys first.
package weirecho

import (
	"net/http"

	"github.com/labstack/echo/v5"

	"github.com/goweir/weir/middleware"
)

// New returns the middleware, or a *weir.ConfigError that names the wrong
// field. A refused request is answered here, the next handler does not run, and
// no error reaches echo's error handler. With Config.Settle an error of the next
// handler reaches it here, and is returned as well: error handlers, as echo's own,
// must leave a committed response alone.
//
// The route that echo matched is the request's Pattern, so that weir.KeyRoute
// works. Echo overwrites the Pattern of a ServeMux in front. With Echo.Pre no route
// has matched yet.
func New(cfg middleware.Config) (echo.MiddlewareFunc, error) {
	guard, err := middleware.NewGuard(cfg)
	if err != nil {
		return nil, err
	}
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			r := c.Request()
			if r.Pattern == "" {
				// Of a router that is not echo's. In place, as outer handlers expect.
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
				return settle(guard, c, r, passed, next)
			}
			return next(c)
		}
	}, nil
}

// settle runs a handler and settles its response.
func settle(guard *middleware.Guard, c *echo.Context, r, passed *http.Request, next echo.HandlerFunc) error {
	// Middlewares further in may leave a writer of their own in the context.
	resp, ok := c.Response().(*echo.Response)
	if !ok {
		// A middleware further out did. Its writer may hide echo's response, and hold
		// back or shorten the body on the way, as a compression does. The handler's own
		// bytes are settled.
		resp = echo.NewResponse(c.Response(), c.Logger())
		c.SetResponse(resp)
	}
	// Echo's own response does not know whether it was flushed.
	w, settled := guard.Record(resp.ResponseWriter, r, passed)
	resp.ResponseWriter = w
	ended := false
	defer func() { settled(ended) }()
	err := next(c)
	if err != nil {
		c.Echo().HTTPErrorHandler(c, err) // To settle the answer.
	}
	ended = true
	return err
}
