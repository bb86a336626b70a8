package howto

import (
	"errors"
	"net/http"
	"time"

	"github.com/goweir/weir"
)

// The maximum wait of a call, by the program that makes it.
const (
	WebWait  = 3 * time.Second // a user waits
	JobsWait = 2 * time.Minute
	CronWait = time.Hour
)

// NewOnePerSecond returns the client of one program. The provider allows one call
// per second, to web servers, jobs and cron together. A nil base is
// http.DefaultTransport.
func NewOnePerSecond(store weir.Store, maxWait time.Duration, base http.RoundTripper) (*http.Client, error) {
	limiter, err := weir.New(weir.Config{
		Name:   "one-per-second", // the same in all programs
		Store:  store,
		Limits: []weir.Limit{weir.Outbound(1, time.Second)},
	})
	if err != nil {
		return nil, err
	}
	transport, err := weir.NewTransport(weir.TransportConfig{
		Limiter: limiter,
		Key:     weir.KeyStatic("provider"), // the same for all hosts of the provider
		Base:    base,
		MaxWait: maxWait,
	})
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: transport}, nil
}

// NotSent reports whether a call was refused because its wait would be too long.
// The same call may come again after that time: a 503 with Retry-After for a user, a
// later run for a job.
func NotSent(err error) (after time.Duration, ok bool) {
	var limited *weir.LimitedError
	if !errors.As(err, &limited) {
		return 0, false
	}
	return limited.RetryAfter, true
}
