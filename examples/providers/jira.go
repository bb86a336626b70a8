package providers

import (
	"net/http"
	"strings"
	"time"

	"github.com/goweir/weir"
)

// Jira returns a client of one Jira Cloud site, such as site.atlassian.net.
//
//	jira/issue      20 writes per 2 s and 100 per 30 s for each issue
//	jira/endpoint   50 requests per second for each method and endpoint: the lowest
//	jira/global     65 000 points per hour, for all sites of the app
func Jira(store weir.Store, token, site string, base http.RoundTripper) (*http.Client, error) {
	issue, err := level(store, "jira/issue", writtenIssue, weir.Outbound(20, 2*time.Second), weir.Outbound(100, 30*time.Second))
	if err != nil {
		return nil, err
	}
	issue.SkipNoKey = true
	endpoint, err := level(store, "jira/endpoint", weir.KeyJoin(weir.KeyHost(), jiraEndpoint), weir.Outbound(50, time.Second))
	if err != nil {
		return nil, err
	}
	quota, err := level(store, "jira/global", weir.KeyStatic("app"), weir.Outbound(65_000, time.Hour))
	if err != nil {
		return nil, err
	}
	// A request costs 1 point, and 1 per object: a guess, as no header has the cost.
	quota.Cost = func(*http.Request) (int64, error) { return 2, nil }
	return newClient(site, bearer(token), base, issue, endpoint, quota)
}

// writtenIssue returns the issue that a request changes: /rest/api/3/issue/KEY-1.
func writtenIssue(r *http.Request) (string, error) {
	parts := strings.Split(r.URL.Path, "/")
	if r.Method == http.MethodGet || len(parts) < 6 || parts[4] != "issue" {
		return "", weir.ErrNoKey
	}
	return r.URL.Host + "/" + parts[5], nil
}

// jiraEndpoint returns the method and the kind of resource: PUT issue.
func jiraEndpoint(r *http.Request) (string, error) {
	parts := strings.Split(r.URL.Path, "/")
	return r.Method + " " + parts[min(4, len(parts)-1)], nil
}
