// Package weirgin mounts the limits of package middleware in gin.
//
//	limit, err := weirgin.New(middleware.Config{Limiter: limiter, Key: key})
//	engine.Use(authenticate, limit)
//
// [Key] counts by an identity that the authentication hands on with Context.Set.
// Package middleware decides everything: read its documentation on order and keys first.
package weirgin

import (
	"bufio"
	"net"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/goweir/weir/middleware"
)

// New returns the middleware, or a *weir.ConfigError that names the wrong
// field. A refused request is answered and aborted: handlers after this one do
// not run, those before it go on after their Next.
//
// With Config.Settle a handler that leaves an error in the gin.Context and writes no
// answer counts as one that answered 500, unless a middleware inside of this one
// answers errors with another status.
//
// The route that gin matches first, before any Engine.HandleContext, becomes the request's
// Pattern, unless a ServeMux in front of gin has set one, so that weir.KeyRoute works.
func New(cfg middleware.Config) (gin.HandlerFunc, error) {
	guard, err := middleware.NewGuard(cfg)
	if err != nil {
		return nil, err
	}
	return func(c *gin.Context) {
		r := c.Request
		if r.Pattern == "" {
			r.Pattern = c.FullPath() // In place, as the ServeMux does and outer handlers expect.
		}
		asked := bridge.Carry(r, c)
		passed, ok := guard.Check(c.Writer, asked)
		if !ok {
			c.Abort()
			c.Writer.WriteHeaderNow() // gin holds back a status without a body
			return
		}
		c.Request = passed
		defer func() { guard.Done(r, c.Request) }()
		ended := false
		if guard.Settles() && passed != asked {
			counted := &counter{ResponseWriter: c.Writer}
			c.Writer = counted
			defer func() {
				status := status(c)
				if c.Writer == counted { // Middlewares further out ask for the size of their own body.
					c.Writer = counted.ResponseWriter
				} else { // Engine.HandleContext took it off.
					counted.bytes = max(counted.bytes, int64(c.Writer.Size()))
				}
				guard.Settle(r, passed, status, counted.bytes, ended || counted.gone || middleware.Sent(r, counted.bytes))
			}()
		}
		c.Next()
		ended = true
	}, nil
}

// status returns the status as far as it is known. An error without an answer is a failure.
func status(c *gin.Context) int {
	status := c.Writer.Status()
	if len(c.Errors) > 0 && status < http.StatusBadRequest && !c.Writer.Written() {
		return http.StatusInternalServerError
	}
	return status
}

// counter counts the body that handlers write. gin's writer counts the body after a
// middleware further out, as a compression, has changed it or let it go.
type counter struct {
	gin.ResponseWriter
	bytes int64
	gone  bool // the status, with a flush or with the connection
}

func (w *counter) Flush() {
	w.gone = true
	w.ResponseWriter.Flush()
}

func (w *counter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, rw, err := w.ResponseWriter.Hijack()
	w.gone = w.gone || err == nil
	return conn, rw, err
}

func (w *counter) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

func (w *counter) WriteString(s string) (int, error) {
	n, err := w.ResponseWriter.WriteString(s)
	w.bytes += int64(n)
	return n, err
}

// Written reports whether handlers wrote, even if a middleware holds it back.
func (w *counter) Written() bool { return w.bytes > 0 || w.ResponseWriter.Written() }

// Unwrap is for http.ResponseController.
func (w *counter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
