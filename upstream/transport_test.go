package upstream_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/upstream"
)

// TestThroughTransport sends a response of a real API through a whole Transport with the limits that mirror the
// API's. Each row has the conclusion of a careful engineer: no effect, a pause, or a lower rate. Without a time
// a refusal halves the rate; a refusal about calls under way has no effect.
func TestThroughTransport(t *testing.T) {
	t.Parallel()
	const none, half = "none", "half"
	limits := func(l ...weir.Limit) []weir.Limit { return l }
	for _, c := range []struct {
		name   string
		ours   []weir.Limit
		status int
		header []string
		body   string
		want   string
	}{
		{"GitHub core ok", limits(weir.Outbound(5000, time.Hour)), 200, []string{"X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "4987", "X-RateLimit-Used", "13", "X-RateLimit-Reset", "946688100", "X-RateLimit-Resource", "core"}, "", none},
		{"GitHub core used up, 10 min", limits(weir.Outbound(5000, time.Hour)), 403, []string{"X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "0", "X-RateLimit-Used", "5001", "X-RateLimit-Reset", "946685400", "X-RateLimit-Resource", "core"}, `{"message":"API rate limit exceeded for user ID 1.","documentation_url":"x"}`, "10m"},
		{"GitHub GraphQL RATE_LIMITED on 200", limits(weir.Outbound(5000, time.Hour)), 200, []string{"X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "0", "X-RateLimit-Used", "5000", "X-RateLimit-Reset", "946685400", "X-RateLimit-Resource", "graphql"}, `{"errors":[{"type":"RATE_LIMITED"}]}`, "10m"},
		{"GitHub code_search 1 left", limits(weir.Outbound(5000, time.Hour)), 200, []string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "9", "X-RateLimit-Used", "1", "X-RateLimit-Reset", "946684860", "X-RateLimit-Resource", "code_search"}, "", none},
		{"GitHub 404 on private repo", limits(weir.Outbound(5000, time.Hour)), 404, []string{"X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "4000", "X-RateLimit-Reset", "946686600"}, `{"message":"Not Found"}`, none},
		{"GitLab.com used up on success", limits(weir.Outbound(2000, time.Minute)), 200, []string{"RateLimit-Limit", "2000", "RateLimit-Observed", "2000", "RateLimit-Remaining", "0", "RateLimit-Name", "throttle_authenticated_api", "RateLimit-Reset", "946684840", "RateLimit-ResetTime", "Sat, 01 Jan 2000 00:00:40 GMT"}, "", "40s"},
		{"GitLab 429 plain text Retry later", limits(weir.Outbound(600, time.Minute)), 429, []string{"Content-Type", "text/plain", "Retry-After", "22"}, "Retry later\n", "22s"},
		{"Twilio 20429", limits(weir.Outbound(100, time.Second)), 429, []string{"Twilio-Concurrent-Requests", "101", "Twilio-Request-Duration", "0.01"}, `{"code":20429,"message":"Too Many Requests","more_info":"https://www.twilio.com/docs/errors/20429","status":429}`, half},
		{"Tyk, no limit", limits(weir.Outbound(100, time.Minute)), 200, []string{"X-RateLimit-Limit", "-1", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "946684860"}, "", none},
		{"Dataverse, calls under way", limits(weir.Outbound(6000, 5*time.Minute)), 429, []string{"Retry-After", "5"}, `{"error":{"code":"0x80072326","message":"Number of concurrent requests exceeded the limit of 52."}}`, none},
		{"Dataverse, calls", limits(weir.Outbound(6000, 5*time.Minute)), 429, []string{"Retry-After", "299"}, `{"error":{"code":"0x80072322","message":"Number of requests exceeded the limit of 6000, measured over time window of 300 seconds."}}`, "299s"},
		{"advice to send fewer calls at a time", limits(weir.Outbound(100, time.Second)), 429, nil, `{"message":"Rate limit exceeded. Please reduce the number of concurrent requests, or your concurrency, and try again."}`, half},
		{"a rate or calls under way", limits(weir.Outbound(100, time.Second)), 429, nil, `{"message":"You have reached your rate limit or concurrency limit."}`, half},
		{"Notion 429", limits(weir.Outbound(3, time.Second)), 429, []string{"Retry-After", "11"}, `{"object":"error","status":429,"code":"rate_limited","message":"You have been rate limited. Please try again in a few minutes."}`, "11s"},
		{"Airtable 429", limits(weir.Outbound(5, time.Second)), 429, nil, `{"errors":[{"error":"RATE_LIMIT_REACHED","message":"Rate limit exceeded. Please try again later"}]}`, half},
		{"Monday complexity", limits(weir.Outbound(1000, time.Minute)), 429, []string{"Retry-After", "17"}, `{"errors":[{"message":"Complexity budget exhausted, query cost 30001 budget remaining 19986 out of 1000000 reset in 16 seconds","extensions":{"code":"COMPLEXITY_BUDGET_EXHAUSTED","retry_in_seconds":17}}]}`, "17s"},
		{"Monday concurrency", limits(weir.Outbound(1000, time.Minute)), 429, nil, `{"errors":[{"message":"Concurrency limit exceeded","extensions":{"code":"maxConcurrencyExceeded"}}]}`, none},
		{"Asana 429", limits(weir.Outbound(1500, time.Minute)), 429, []string{"Retry-After", "30"}, `{"errors":[{"message":"You have made too many requests recently. Please, be chill."}]}`, "30s"},
		{"Intercom used up", limits(weir.Outbound(166, 10*time.Second)), 429, []string{"X-RateLimit-Limit", "166", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "946684807"}, "", "7s"},
		{"SendGrid", limits(weir.Outbound(600, time.Minute)), 429, []string{"X-RateLimit-Limit", "600", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "946684830"}, `{"errors":[{"field":null,"message":"too many requests"}]}`, "30s"},
		{"Dropbox too_many_write_operations", limits(weir.Outbound(100, time.Minute)), 429, []string{"Retry-After", "1"}, `{"error_summary":"too_many_write_operations/...","error":{".tag":"too_many_write_operations"}}`, "1s"},
		{"Dropbox body", limits(weir.Outbound(100, time.Minute)), 429, nil, `{"error":{"reason":{".tag":"too_many_requests"},"retry_after":12}}`, "12s"},
		{"Box", limits(weir.Outbound(1000, time.Minute)), 429, []string{"Retry-After", "30"}, `{"type":"error","status":429,"code":"rate_limit_exceeded"}`, "30s"},
		{"Spotify long", limits(weir.Outbound(100, 30*time.Second)), 429, []string{"Retry-After", "78345"}, "Too many requests", "15m"},
		{"LinkedIn", limits(weir.Outbound(100, time.Minute)), 429, nil, `{"serviceErrorCode":101,"message":"Resource level throttle APPLICATION DAY limit for calls to this resource is reached.","status":429}`, half},
		{"Meta X-App-Usage 98 %", limits(weir.Outbound(200, time.Hour)), 200, []string{"X-App-Usage", `{"call_count":98,"total_cputime":25,"total_time":25}`}, "", none},
		{"Meta user limit 17", limits(weir.Outbound(200, time.Hour)), 400, []string{"X-App-Usage", `{"call_count":100,"total_cputime":25,"total_time":25}`}, `{"error":{"message":"(#17) User request limit reached","type":"OAuthException","code":17,"error_subcode":2446079}}`, half},
		{"Meta 190 token expired", limits(weir.Outbound(200, time.Hour)), 400, []string{"X-App-Usage", `{"call_count":3}`}, `{"error":{"message":"Error validating access token: Session has expired","type":"OAuthException","code":190}}`, none},
		{"Binance weight", limits(weir.Outbound(6000, time.Minute)), 200, []string{"X-Mbx-Used-Weight", "5999", "X-Mbx-Used-Weight-1m", "5999", "X-Mbx-Order-Count-10s", "49"}, "", none},
		{"Binance 429", limits(weir.Outbound(6000, time.Minute)), 429, []string{"X-Mbx-Used-Weight-1m", "6100", "Retry-After", "12"}, `{"code":-1003,"msg":"Too much request weight used; current limit is 6000 request weight per 1 MINUTE. Please use WebSocket Streams for live updates to avoid polling the API."}`, "12s"},
		{"Binance 403 WAF", limits(weir.Outbound(6000, time.Minute)), 403, nil, "<html>WAF</html>", none},
		{"Kraken 200 error", limits(weir.Outbound(15, 3*time.Second)), 200, nil, `{"error":["EAPI:Rate limit exceeded"]}`, none},
		{"Coinbase 429", limits(weir.Outbound(10, time.Second)), 429, nil, `{"message":"Public rate limit exceeded"}`, half},
		{"OKX 50011", limits(weir.Outbound(20, 2*time.Second)), 429, nil, `{"code":"50011","msg":"Too Many Requests"}`, half},
		{"Docker Hub 429", limits(weir.Outbound(100, 6*time.Hour)), 429, []string{"ratelimit-limit", "100;w=21600", "ratelimit-remaining", "0;w=21600", "docker-ratelimit-source", "1.2.3.4", "Retry-After", "600"}, `{"errors":[{"code":"TOOMANYREQUESTS","message":"You have reached your pull rate limit."}]}`, "10m"},
		{"npm 429", limits(weir.Outbound(100, time.Minute)), 429, []string{"Retry-After", "300", "CF-Ray", "x"}, `{"error":"rate limited"}`, "5m"},
		{"crates.io 403 without UA", limits(weir.Outbound(1, time.Second)), 403, nil, "We are unable to process your request at this time. This usually means that you are in violation of our crawler policy", none},
		{"crates.io 429 body date", limits(weir.Outbound(1, time.Second)), 429, []string{"Retry-After", "Sat, 01 Jan 2000 00:02:00 GMT"}, `{"errors":[{"detail":"You have published too many new crates in a short period of time. Please try again after Sat, 01 Jan 2000 00:02:00 GMT"}]}`, "2m"},
		{"Cloudflare API ok", limits(weir.Outbound(1200, 5*time.Minute)), 200, []string{"Ratelimit", `"default";r=1190;t=240`, "Ratelimit-Policy", `"default";q=1200;w=300`}, "", none},
		{"Cloudflare 1015 page", limits(weir.Outbound(100, time.Minute)), 429, []string{"Retry-After", "10", "Content-Type", "text/html"}, "<html>error code: 1015</html>", "10s"},
		{"Fastly remaining, no limit", limits(weir.Outbound(1000, time.Hour)), 200, []string{"Fastly-RateLimit-Remaining", "877", "Fastly-RateLimit-Reset", "946688400"}, "", none},
		{"Fastly 429", limits(weir.Outbound(1000, time.Hour)), 429, []string{"Fastly-RateLimit-Remaining", "0", "Fastly-RateLimit-Reset", "946685400"}, "", "10m"},
		{"Heroku ok", limits(weir.Outbound(4500, time.Hour)), 200, []string{"RateLimit-Remaining", "4486", "RateLimit-Multiplier", "1"}, "", none},
		{"Heroku 429", limits(weir.Outbound(4500, time.Hour)), 429, []string{"RateLimit-Remaining", "0"}, `{"id":"rate_limit","message":"Your account reached the API rate limit. Please wait a few minutes before making new requests."}`, half},
		{"DigitalOcean burst 429", limits(weir.Outbound(5000, time.Hour)), 429, []string{"ratelimit-limit", "5000", "ratelimit-remaining", "4816", "ratelimit-reset", "946688000", "retry-after", "29"}, `{"id":"too_many_requests","message":"API Rate limit exceeded."}`, "29s"},
		{"Hetzner ok", limits(weir.Outbound(3600, time.Hour)), 200, []string{"RateLimit-Limit", "3600", "RateLimit-Remaining", "3300", "RateLimit-Reset", "946685100"}, "", none},
		{"Azure ARM writes", limits(weir.Outbound(200, time.Minute)), 200, []string{"x-ms-ratelimit-remaining-subscription-writes", "0"}, "", none},
		{"Azure ARM 429", limits(weir.Outbound(200, time.Minute)), 429, []string{"x-ms-ratelimit-remaining-subscription-writes", "0", "Retry-After", "17"}, `{"error":{"code":"SubscriptionRequestsThrottled","message":"Number of requests for subscription 'x' and operation 'y' exceeded the backend storage limit. Please try again after '17' seconds."}}`, "17s"},
		{"Azure ARM 403 no access, writes 0", limits(weir.Outbound(200, time.Minute)), 403, []string{"x-ms-ratelimit-remaining-subscription-writes", "1199"}, `{"error":{"code":"AuthorizationFailed","message":"no access"}}`, none},
		{"Route 53 PriorRequestNotComplete", limits(weir.Outbound(5, time.Second)), 400, nil, `<ErrorResponse><Error><Type>Sender</Type><Code>PriorRequestNotComplete</Code><Message>The request was rejected because Route 53 was still processing a prior request.</Message></Error></ErrorResponse>`, none},
		{"Route 53 Throttling", limits(weir.Outbound(5, time.Second)), 400, nil, `<ErrorResponse><Error><Type>Sender</Type><Code>Throttling</Code><Message>Rate exceeded</Message></Error></ErrorResponse>`, half},
		{"Kinesis", limits(weir.Outbound(5, time.Second)), 400, []string{"x-amzn-ErrorType", "ProvisionedThroughputExceededException"}, `{"__type":"ProvisionedThroughputExceededException","message":"Rate exceeded for shard"}`, half},
		{"SES", limits(weir.Outbound(14, time.Second)), 400, nil, `<ErrorResponse><Error><Type>Sender</Type><Code>Throttling</Code><Message>Maximum sending rate exceeded.</Message></Error></ErrorResponse>`, half},
		{"SQS RequestThrottled", limits(weir.Outbound(14, time.Second)), 403, nil, `<ErrorResponse><Error><Type>Sender</Type><Code>RequestThrottled</Code><Message>Rate exceeded</Message></Error></ErrorResponse>`, half},
		{"API Gateway quota", limits(weir.Outbound(14, time.Second)), 429, []string{"x-amzn-ErrorType", "LimitExceededException"}, `{"message":"Limit Exceeded"}`, half},
		{"IAM LimitExceeded (number of users)", limits(weir.Outbound(14, time.Second)), 409, nil, `<ErrorResponse><Error><Type>Sender</Type><Code>LimitExceeded</Code><Message>Cannot exceed quota for UsersPerAccount: 5000</Message></Error></ErrorResponse>`, none},
		{"Reddit", limits(weir.Outbound(100, time.Minute)), 200, []string{"x-ratelimit-remaining", "995.0", "x-ratelimit-reset", "421", "x-ratelimit-used", "5"}, "", none},
		{"Reddit used up", limits(weir.Outbound(100, time.Minute)), 200, []string{"x-ratelimit-remaining", "0.0", "x-ratelimit-reset", "121", "x-ratelimit-used", "1000"}, "", "121s"},
		{"X app", limits(weir.Outbound(450, 15*time.Minute)), 200, []string{"x-rate-limit-limit", "450", "x-rate-limit-remaining", "0", "x-rate-limit-reset", "946685000"}, "", "200s"},
		{"Zendesk 429", limits(weir.Outbound(700, time.Minute)), 429, []string{"Retry-After", "7", "ratelimit-limit", "700", "ratelimit-remaining", "0", "ratelimit-reset", "7"}, `{"error":"APIRateLimitExceeded"}`, "7s"},
		{"HubSpot secondly", limits(weir.Outbound(190, 10*time.Second)), 429, []string{"X-HubSpot-RateLimit-Interval-Milliseconds", "10000", "X-HubSpot-RateLimit-Max", "190", "X-HubSpot-RateLimit-Remaining", "0"}, `{"status":"error","message":"You have reached your ten_secondly_rolling limit.","errorType":"RATE_LIMIT","policyName":"TEN_SECONDLY_ROLLING"}`, half},
		{"Okta", limits(weir.Outbound(600, time.Minute)), 429, []string{"X-Rate-Limit-Limit", "600", "X-Rate-Limit-Remaining", "0", "X-Rate-Limit-Reset", "946684838"}, `{"errorCode":"E0000047","errorSummary":"API call exceeded rate limit due to too many requests."}`, "38s"},
		{"Auth0", limits(weir.Outbound(50, time.Second)), 429, []string{"X-RateLimit-Limit", "50", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "946684801"}, "", "1s"},
		{"Linear complexity near", limits(weir.Outbound(1500, time.Hour)), 200, []string{"X-Complexity", "50", "X-RateLimit-Complexity-Limit", "250000", "X-RateLimit-Complexity-Remaining", "0", "X-RateLimit-Complexity-Reset", "946686000000", "X-RateLimit-Requests-Limit", "1500", "X-RateLimit-Requests-Remaining", "1200", "X-RateLimit-Requests-Reset", "946688400000"}, "", none},
		{"Trello 429", limits(weir.Outbound(100, 10*time.Second)), 429, []string{"x-rate-limit-api-token-interval-ms", "10000", "x-rate-limit-api-token-max", "100", "x-rate-limit-api-token-remaining", "0"}, `{"error":"API_TOKEN_LIMIT_EXCEEDED","message":"Rate limit exceeded"}`, half},
		{"Figma", limits(weir.Outbound(10, time.Minute)), 429, []string{"Retry-After", "3600", "X-Figma-Plan-Tier", "starter", "X-Figma-Rate-Limit-Type", "low"}, `{"status":429,"err":"Rate limit exceeded"}`, "15m"},
		{"Mailgun epoch ms", limits(weir.Outbound(300, time.Minute)), 429, []string{"X-RateLimit-Limit", "300", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "946684815000"}, `{"message":"Too Many Requests"}`, "15s"},
		{"Salesforce ok", limits(weir.Outbound(15000, 24*time.Hour)), 200, []string{"Sforce-Limit-Info", "api-usage=14999/15000"}, "", none},
		{"Upstash example epoch ms", limits(weir.Outbound(10, 10*time.Second)), 429, []string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "946684806123"}, "", "6.123s"},
		{"Shopify GraphQL throttled 200", limits(weir.Per(100, time.Second).WithBurst(2000)), 200, nil, `{"errors":[{"message":"Throttled","extensions":{"code":"THROTTLED"}}]}`, none},
		{"Shopify 430", limits(weir.Outbound(2, time.Second)), 430, nil, "Security rejection", none},
		{"ACME order poll", limits(weir.Outbound(20, time.Second)), 200, []string{"Retry-After", "3"}, `{"status":"processing"}`, none},
		{"ACME limited", limits(weir.Outbound(20, time.Second)), 429, []string{"Retry-After", "1800"}, `{"type":"urn:ietf:params:acme:error:rateLimited","detail":"too many new registrations (10) from this IP address in the last 3h0m0s, retry after 2000-01-01 00:30:00 UTC: see https://letsencrypt.org","status":429}`, "15m"},
		{"ACME 503 load", limits(weir.Outbound(20, time.Second)), 503, []string{"Retry-After", "120"}, `{"type":"urn:ietf:params:acme:error:rateLimited","detail":"Service busy; retry later."}`, "2m"},
		{"Vault", limits(weir.Outbound(20, time.Second)), 429, []string{"Retry-After", "1", "X-Ratelimit-Limit", "1", "X-Ratelimit-Remaining", "0", "X-Ratelimit-Reset", "1"}, `{"errors":["request path \"secret/data/a\": rate limit quota exceeded"]}`, "1s"},
		{"APISIX", limits(weir.Outbound(2, time.Minute)), 503, []string{"X-RateLimit-Limit", "2", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "35"}, "", "35s"},
		{"APISIX limit-req 503 bare", limits(weir.Outbound(2, time.Second)), 503, nil, "<html>503</html>", none},
		{"nginx limit_req 503 html", limits(weir.Outbound(2, time.Second)), 503, []string{"Server", "nginx"}, "<html><head><title>503 Service Temporarily Unavailable</title></head>", none},
		{"HAProxy 429", limits(weir.Outbound(2, time.Second)), 429, nil, "<html><body><h1>429 Too Many Requests</h1>", half},
		{"Envoy local", limits(weir.Outbound(10, time.Second)), 429, []string{"x-local-rate-limit", "true"}, "local_rate_limited", half},
		{"Spring bucket4j", limits(weir.Outbound(10, time.Second)), 429, []string{"X-Rate-Limit-Retry-After-Seconds", "9"}, `{"status":429}`, "9s"},
		{"Spring bucket4j ms", limits(weir.Outbound(10, time.Second)), 429, []string{"X-Rate-Limit-Retry-After-Milliseconds", "950"}, `{"status":429}`, "950ms"},
		{"Spring bucket4j remaining", limits(weir.Outbound(10, time.Second)), 200, []string{"X-Rate-Limit-Remaining", "9"}, ``, none},
		{"Laravel", limits(weir.Outbound(60, time.Minute)), 429, []string{"X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "0", "Retry-After", "44", "X-RateLimit-Reset", "946684844"}, `{"message":"Too Many Attempts."}`, "44s"},
		{"express draft 8", limits(weir.Outbound(100, 15*time.Minute)), 429, []string{"RateLimit-Policy", `"100-in-15min"; q=100; w=900; pk=:ZDI5NmI2M2YzZDJk:`, "RateLimit", `"100-in-15min"; r=0; t=300`, "Retry-After", "300"}, "Too many requests, please try again later.", "300s"},
		{"express draft 8 success", limits(weir.Outbound(100, 15*time.Minute)), 200, []string{"RateLimit-Policy", `"100-in-15min"; q=100; w=900; pk=:ZDI5NmI2M2YzZDJk:`, "RateLimit", `"100-in-15min"; r=0; t=300`}, "", "300s"},
		{"express draft 7", limits(weir.Outbound(100, 15*time.Minute)), 200, []string{"RateLimit-Policy", `100;w=900`, "RateLimit", `limit=100, remaining=0, reset=300`}, "", "300s"},
		{"express legacy", limits(weir.Outbound(100, 15*time.Minute)), 200, []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "946685100"}, "", "300s"},
		{"Flask-Limiter", limits(weir.Outbound(5, time.Minute)), 429, []string{"X-RateLimit-Limit", "5", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "946684850", "Retry-After", "50"}, "5 per 1 minute", "50s"},
		{"DRF", limits(weir.Outbound(5, time.Minute)), 429, []string{"Retry-After", "17"}, `{"detail":"Request was throttled. Expected available in 17 seconds."}`, "17s"},
		{"DRF no header", limits(weir.Outbound(5, time.Minute)), 429, nil, `{"detail":"Request was throttled. Expected available in 17 seconds."}`, "17s"},
		{"retry in N minute(s)", limits(weir.Outbound(10, time.Second)), 429, nil, `{"message":"Rate limit exceeded, retry in 2 minute(s)."}`, "2m"},
		{"minutes and seconds", limits(weir.Outbound(10, time.Second)), 429, nil, `{"message":"Please try again in 1 minute and 30 seconds."}`, "1m"},
		{"MediaWiki maxlag", limits(weir.Outbound(10, time.Second)), 503, []string{"Retry-After", "5", "X-Database-Lag", "7"}, `{"error":{"code":"maxlag"}}`, "5s"},
		{"MediaWiki ratelimited 200", limits(weir.Outbound(10, time.Second)), 200, []string{"MediaWiki-API-Error", "ratelimited"}, `{"error":{"code":"ratelimited","info":"You've exceeded your rate limit."}}`, none},
		{"NCBI", limits(weir.Outbound(3, time.Second)), 429, []string{"X-RateLimit-Limit", "3", "X-RateLimit-Remaining", "0"}, `{"error":"API rate limit exceeded","api-key":"1.2.3.4","count":"4","limit":"3"}`, half},
		{"NCBI ok", limits(weir.Outbound(3, time.Second)), 200, []string{"X-RateLimit-Limit", "3", "X-RateLimit-Remaining", "0"}, ``, none},
		{"Feedly", limits(weir.Outbound(250, 24*time.Hour)), 200, []string{"X-RateLimit-Count", "61", "X-RateLimit-Limit", "250", "X-RateLimit-Reset", "8503"}, "", none},
		{"ServiceNow", limits(weir.Outbound(1000, time.Hour)), 429, []string{"X-RateLimit-Limit", "1000", "X-RateLimit-Reset", "946685400", "X-RateLimit-Rule", "b0ac2a3", "Retry-After", "600"}, "", "10m"},
		{"Qualys 409 rate", limits(weir.Outbound(300, time.Hour)), 409, []string{"X-RateLimit-Limit", "300", "X-RateLimit-Window-Sec", "3600", "X-RateLimit-Remaining", "0", "X-RateLimit-ToWait-Sec", "181", "X-Concurrency-Limit-Limit", "2", "X-Concurrency-Limit-Running", "0"}, `<SIMPLE_RETURN><RESPONSE><CODE>1965</CODE><TEXT>This API cannot be run again for another 3 minutes, and 1 seconds.</TEXT></RESPONSE></SIMPLE_RETURN>`, "181s"},
		{"Qualys 409 concurrency", limits(weir.Outbound(300, time.Hour)), 409, []string{"X-RateLimit-Limit", "300", "X-RateLimit-Window-Sec", "3600", "X-RateLimit-Remaining", "200", "X-RateLimit-ToWait-Sec", "0", "X-Concurrency-Limit-Limit", "2", "X-Concurrency-Limit-Running", "2"}, `<SIMPLE_RETURN><RESPONSE><CODE>1960</CODE></RESPONSE></SIMPLE_RETURN>`, none},
		{"milliseconds, no word, on a success", limits(weir.Outbound(350, time.Minute)), 200, []string{"X-RateLimit-Limit", "350", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "45000"}, "", none},
		{"Eventbrite", limits(weir.Outbound(1000, time.Hour)), 200, []string{"X-Rate-Limit", "token:QZLIA3F5BG 63/1000 reset=3505s, key:ABC 93/48000 reset=86305s"}, "", none},
		{"WebDAV quota", limits(weir.Outbound(100, time.Minute)), 507, []string{"X-Quota-Limit", "1073741824", "X-Quota-Remaining", "0", "X-Quota-Reset", "600"}, "", none},
		{"gateway and origin", limits(weir.Outbound(100, time.Minute)), 200, []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "99", "X-RateLimit-Reset", "60", "RateLimit-Limit", "5000", "RateLimit-Remaining", "0", "RateLimit-Reset", "600"}, "", none},
		{"redirect", limits(weir.Outbound(100, time.Minute)), 301, []string{"Location", "/a", "RateLimit", `"default";r=50;t=10`, "Retry-After", "60"}, "", none},
		{"wrong weekday", limits(weir.Outbound(100, time.Minute)), 429, []string{"Retry-After", "Mon, 01 Jan 2000 00:00:30 GMT"}, "", "30s"},
		{"skewed clock", limits(weir.Outbound(100, time.Minute)), 429, []string{"Date", "Fri, 31 Dec 1999 23:00:00 GMT", "Retry-After", "Fri, 31 Dec 1999 23:00:30 GMT"}, "", "30s"},
		{"skewed clock, epoch", limits(weir.Outbound(100, time.Minute)), 429, []string{"Date", "Sat, 01 Jan 2000 03:00:00 GMT", "X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "946695630"}, "", "30s"},
		{"Strava", limits(weir.Outbound(200, 15*time.Minute)), 429, []string{"X-RateLimit-Limit", "200,2000", "X-RateLimit-Usage", "201,700", "X-ReadRateLimit-Limit", "100,1000", "X-ReadRateLimit-Usage", "101,300"}, `{"message":"Rate Limit Exceeded"}`, half},
		{"Polar", limits(weir.Outbound(500, 15*time.Minute)), 200, []string{"RateLimit-Usage", "17, 117", "RateLimit-Limit", "500, 5000", "RateLimit-Reset", "900, 86400"}, "", none},
		{"PayPal", limits(weir.Outbound(30, time.Second)), 429, nil, `{"name":"RATE_LIMIT_REACHED","message":"Too many requests. Blocked due to rate limiting."}`, half},
		{"App Store Server API, epoch ms", limits(weir.Outbound(50, time.Second)), 429, []string{"Retry-After", "946684860000"}, `{"errorCode":4290000,"errorMessage":"Rate limit exceeded."}`, "60s"},
		{"Gemini QuotaFailure a day", limits(weir.Outbound(10, time.Minute)), 429, nil, `{"error":{"code":429,"message":"You exceeded your current quota. Please retry in 34.07s.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"x","quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34s"}]}}`, "34s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			pause, all := departures(t, c.ours, c.status, c.header, c.body)
			usualPause, usual := departures(t, c.ours, 0, nil, "")
			got := none
			switch {
			case pause > usualPause+usualPause/2+500*time.Millisecond:
				got = "a pause"
			case all > usual+usual/4+10*time.Millisecond:
				got = half
			}
			if want, err := time.ParseDuration(c.want); err == nil {
				if pause < want || pause > want+want/16+time.Second+usualPause {
					t.Errorf("a pause of %v, want %v", pause, want)
				}
			} else if got != c.want {
				t.Errorf("%s, want %s: %v and %v, without it %v and %v", got, c.want, pause, all, usualPause, usual)
			}
		})
	}
}

// departures returns the times between the first request, whose response is given, and the second, and the last of 32.
func departures(t *testing.T, limits []weir.Limit, status int, header []string, body string) (second, last time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		store, err := localstore.New(localstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: limits})
		if err != nil {
			t.Fatal(err)
		}
		var at []time.Time
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}
			if at = append(at, time.Now()); len(at) == 1 && status > 0 {
				resp.StatusCode, resp.Body = status, io.NopCloser(strings.NewReader(body))
				resp.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
				for i := 0; i < len(header); i += 2 {
					resp.Header.Set(header[i], header[i+1])
				}
			}
			return resp, nil
		})
		transport, err := weir.NewTransport(weir.TransportConfig{Limiter: limiter, Key: weir.KeyHost(), Base: base, Upstream: &upstream.Reader{Bodies: true}})
		if err != nil {
			t.Fatal(err)
		}
		for range 32 {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example.com/", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := transport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
		}
		second, last = at[1].Sub(at[0]), at[31].Sub(at[0])
	})
	return second, last
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
