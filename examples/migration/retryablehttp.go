package migration

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/goweir/weir"
)

func retryableBefore(base http.RoundTripper) *retryablehttp.Client {
	client := retryablehttp.NewClient()
	client.HTTPClient.Transport = base
	client.RetryMax = 2
	return client
}

// retryableAfter returns a client whose transport admits and charges every attempt.
func retryableAfter(transport *weir.Transport) *retryablehttp.Client {
	client := retryablehttp.NewClient()
	client.HTTPClient.Transport = transport
	client.RetryMax = 2
	client.Backoff = retryablehttp.RateLimitLinearJitterBackoff
	client.ErrorHandler = retryablehttp.PassthroughErrorHandler
	client.CheckRetry = func(ctx context.Context, resp *http.Response, err error) (bool, error) {
		for _, final := range []error{weir.ErrLimited, weir.ErrStore, weir.ErrConfig, weir.ErrNoKey} {
			if errors.Is(err, final) {
				return false, nil
			}
		}
		var failed *url.Error
		post := resp != nil && resp.Request.Method == http.MethodPost || errors.As(err, &failed) && failed.Op == "Post"
		if post && (resp == nil || resp.StatusCode != http.StatusTooManyRequests) {
			return false, nil // perhaps processed
		}
		return retryablehttp.DefaultRetryPolicy(ctx, resp, err)
	}
	return client
}
