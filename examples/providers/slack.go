package providers

import (
	"net/http"
	"time"

	"github.com/goweir/weir"
)

// Slack returns a client for one token of one workspace. perMinute is the limit of the
// methods' tier: 20 in tier 2, 50 in tier 3, 100 in tier 4.
//
//	slack/method   requests per minute for each method
func Slack(store weir.Store, token string, perMinute int64, base http.RoundTripper) (*http.Client, error) {
	method := func(r *http.Request) (string, error) { return r.URL.Path, nil } // /api/users.list
	calls, err := level(store, "slack/method", weir.KeyJoin(perToken("Authorization"), method), weir.Outbound(perMinute, time.Minute))
	if err != nil {
		return nil, err
	}
	return newClient("slack.com", bearer(token), base, calls)
}
