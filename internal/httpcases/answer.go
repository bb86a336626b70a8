package httpcases

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// request is a GET by a user unless it says otherwise.
type request struct {
	method string
	user   string
	header http.Header
	remote string
	ctx    func(context.Context) (context.Context, context.CancelFunc)
}

func cancelled(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx, cancel
}

func shortly(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Second)
}

// leaving is a client that goes away without a deadline.
func leaving(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	time.AfterFunc(time.Second, cancel)
	return ctx, cancel
}

var (
	ann       = request{user: "ann"}
	bob       = request{user: "bob"}
	nobody    = request{}
	annAndBob = request{header: http.Header{"X-User": {"ann", "bob"}}}
)

// answered is a request by ann that is answered with a status.
func answered(status string) request {
	return request{header: http.Header{"X-User": {"ann"}, "X-Status": {status}}}
}

func on(plan, user string) request {
	return request{header: http.Header{"X-User": {user}, "X-Plan": {plan}}}
}

func costing(cost string) request {
	return request{header: http.Header{"X-User": {"ann"}, "X-Cost": {cost}}}
}

func (q request) build(t *testing.T) *http.Request {
	r := httptest.NewRequestWithContext(t.Context(), cmp.Or(q.method, http.MethodGet), "/things/7?page=2", http.NoBody)
	if q.user != "" {
		r.Header.Set("X-User", q.user)
	}
	for name, values := range q.header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	if q.remote != "" {
		r.RemoteAddr = q.remote
	}
	return r
}

// answer is a response. The watched headers that it does not name are absent.
type answer struct {
	status int
	header map[string]string
	body   string
}

var watched = []string{
	"RateLimit-Policy", "RateLimit", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
	"X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After",
	"Content-Type", "Content-Length", "Cache-Control", "WWW-Authenticate", "Access-Control-Expose-Headers",
}

const servedBody = "served"

// served is the answer to a request that reached the handler.
func served(header map[string]string) answer {
	return answer{http.StatusOK, with(header, "Content-Type", "text/plain"), servedBody}
}

// problem is the answer to a refused request.
func problem(status int, body string, header map[string]string) answer {
	header = with(header, "Content-Type", "application/problem+json")
	header = with(header, "Cache-Control", "no-store")
	return answer{status, with(header, "Content-Length", strconv.Itoa(len(body))), body}
}

// blank is the body of a problem that has no type of its own.
func blank(status int, detail string) string {
	return `{"type":"about:blank","title":"` + http.StatusText(status) + `","status":` + strconv.Itoa(status) +
		`,"detail":"` + detail + `"}` + "\n"
}

// reduced is the body of a refusal that the used units did not cause.
func reduced(policies string, more ...string) string {
	return `{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity",` +
		`"title":"Request cannot be satisfied due to temporary server capacity constraints","status":429` +
		strings.Join(more, "") + `,"violated-policies":[` + policies + `]}` + "\n"
}

// exceeded is the body of a refusal. more are further members, in between.
func exceeded(policies string, more ...string) string {
	return `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",` +
		`"title":"Request cannot be satisfied as assigned quota has been exceeded","status":429` +
		strings.Join(more, "") + `,"violated-policies":[` + policies + `]}` + "\n"
}

func with(header map[string]string, name, value string) map[string]string {
	header = maps.Clone(header)
	if header == nil {
		header = map[string]string{}
	}
	header[name] = value
	return header
}

// as is the answer with another status.
func (a answer) as(status int) answer {
	a.status = status
	return a
}

// The answers to requests under the default limit of 2 per minute, one right
// after another.
var (
	first  = served(twoPerMinute("1", "30"))
	second = served(twoPerMinute("0", "30"))
	third  = problem(http.StatusTooManyRequests, exceeded(`"2-in-1m"`), with(twoPerMinute("0", "30"), "Retry-After", "30"))

	unlimited    = served(nil)
	unidentified = problem(http.StatusUnauthorized, blank(401, "The request does not say who it is from."), nil)
	ambiguous    = problem(http.StatusBadRequest, blank(400, "The request says in no valid form, or more than once, who it is from."), nil)
	broken       = problem(http.StatusInternalServerError, blank(500, "The request could not be checked against its limits."), nil)
	unavailable  = problem(http.StatusServiceUnavailable, blank(503, "The request cannot be checked against its limits right now."), nil)
	ended        = problem(http.StatusServiceUnavailable, blank(503, "The request ended before it was checked against its limits."), nil)
)

var forbidden = problem(http.StatusForbidden, blank(403, "The sender of the request is blocked."), nil)

func twoPerMinute(r, t string) map[string]string {
	return map[string]string{"RateLimit-Policy": `"2-in-1m";q=2;w=60`, "RateLimit": `"2-in-1m";r=` + r + `;t=` + t}
}

func tenPerMinute(r, t string) map[string]string {
	return draft11(`"10-in-1m";q=10;w=60`, `"10-in-1m";r=`+r+`;t=`+t)
}

func limited(policies string, retryAfter string, header map[string]string) answer {
	return problem(http.StatusTooManyRequests, exceeded(policies), with(header, "Retry-After", retryAfter))
}

func draft11(policy, state string) map[string]string {
	return map[string]string{"RateLimit-Policy": policy, "RateLimit": state}
}

func x(limit, remaining, reset string) map[string]string {
	return map[string]string{"X-RateLimit-Limit": limit, "X-RateLimit-Remaining": remaining, "X-RateLimit-Reset": reset}
}

func draft6(policy, limit, remaining, reset string) map[string]string {
	return map[string]string{
		"RateLimit-Policy": policy, "RateLimit-Limit": limit, "RateLimit-Remaining": remaining, "RateLimit-Reset": reset,
	}
}

// abnormal is a refusal of a blocked key.
func abnormal(retryAfter string, header map[string]string) answer {
	body := strings.Replace(reduced("", `,"detail":"Requests are paused."`), "temporary-reduced-capacity", "abnormal-usage-detected", 1)
	body = strings.Replace(body, "Request cannot be satisfied due to temporary server capacity constraints",
		"Request not satisfied due to detection of abnormal request pattern", 1)
	return problem(http.StatusTooManyRequests, body, with(header, "Retry-After", retryAfter))
}

var (
	freePolicy = `"free";q=1;w=60`
	proPolicy  = `"pro";q=10;w=1, "pro-day";q=1000;w=86400`
)

const exposeHeader = "Access-Control-Expose-Headers"

const neverDetail = `,"detail":"The request costs more than a limit admits at once. Repeating it does not help."`
