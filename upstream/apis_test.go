package upstream_test

import (
	"testing"
	"time"

	"github.com/goweir/weir/upstream"
)

const unsaid = -1

// said makes an expected signal.
func said(refused bool, pause time.Duration, limit, remaining int64, reset time.Duration) upstream.Signal {
	return upstream.Signal{Refused: refused, Pause: pause, Budget: upstream.Budget{Limit: limit, Remaining: remaining, Reset: reset}}
}

func nothing(refused bool) upstream.Signal { return said(refused, 0, unsaid, unsaid, unsaid) }

// TestReadAPIs reads headers of public APIs, beyond the vectors.
func TestReadAPIs(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, c := range map[string]struct {
		status  int
		headers []string
		want    upstream.Signal
	}{
		"Kong: two families and a limit by minute": {200, []string{
			"X-RateLimit-Limit-Minute", "5", "X-RateLimit-Remaining-Minute", "4",
			"RateLimit-Limit", "5", "RateLimit-Remaining", "4", "RateLimit-Reset", "23"}, said(false, 0, 5, 4, 23*s)},
		"Zendesk: of two equal budgets the one with a reset": {200, []string{
			"RateLimit-Limit", "700", "RateLimit-Remaining", "699",
			"X-Rate-Limit", "700", "X-Rate-Limit-Remaining", "699", "X-Rate-Limit-Reset", "41"}, said(false, 0, 700, 699, 41*s)},
		"Zendesk: all values of an endpoint in one header": {200, []string{
			"RateLimit-Limit", "700", "RateLimit-Remaining", "600", "RateLimit-Reset", "40",
			"Zendesk-RateLimit-Tickets-Index", "total=100; remaining=0; resets=58"}, said(false, 58*s, 100, 0, 58*s)},
		"Zendesk: several endpoints": {200, []string{
			"Zendesk-RateLimit-Tickets-Index", "total=100; remaining=60; resets=58",
			"Zendesk-RateLimit-Incremental-Exports", "total=10; remaining=3; resets=30"}, said(false, 0, 10, 3, 30*s)},
		"in one header, no counts": {200, []string{"X-RateLimit-Info", "total=many; remaining=; resets; =5; a=b; limit=7"}, said(false, 0, 7, unsaid, unsaid)},
		"HubSpot: a daily limit by its own name": {200, []string{
			"X-HubSpot-RateLimit-Daily", "250000", "X-HubSpot-RateLimit-Daily-Remaining", "1000",
			"X-HubSpot-RateLimit-Secondly", "10", "X-HubSpot-RateLimit-Secondly-Remaining", "9",
			"X-HubSpot-RateLimit-Max", "100", "X-HubSpot-RateLimit-Remaining", "99",
			"X-HubSpot-RateLimit-Interval-Milliseconds", "10000"}, said(false, 0, 250000, 1000, unsaid)},
		"Contentful: one reset for all": {429, []string{
			"X-Contentful-RateLimit-Hour-Limit", "36000", "X-Contentful-RateLimit-Hour-Remaining", "35883",
			"X-Contentful-RateLimit-Second-Limit", "10", "X-Contentful-RateLimit-Second-Remaining", "0",
			"X-Contentful-RateLimit-Reset", "1"}, said(true, s, 10, 0, s)},
		"LaunchDarkly: epoch ms, remaining only": {429, []string{
			"X-RateLimit-Global-Remaining", "0", "X-RateLimit-Route-Remaining", "3",
			"X-RateLimit-Reset", "1655120938500"}, said(true, 5500*time.Millisecond, unsaid, 0, 5500*time.Millisecond)},
		"Linear: two budgets, epoch ms": {200, []string{
			"X-RateLimit-Requests-Limit", "1500", "X-RateLimit-Requests-Remaining", "1499", "X-RateLimit-Requests-Reset", "1655124533000",
			"X-RateLimit-Complexity-Limit", "250000", "X-RateLimit-Complexity-Remaining", "1", "X-RateLimit-Complexity-Reset", "1655124533000",
			"X-Complexity", "12"}, said(false, 0, 250000, 1, time.Hour)},
		"Reddit: fractions, no limit": {200, []string{
			"x-ratelimit-used", "1", "x-ratelimit-remaining", "599.0", "x-ratelimit-reset", "120"}, said(false, 0, unsaid, 599, 120*s)},
		"Sentry: calls under way are no rate": {200, []string{
			"X-Sentry-Rate-Limit-Limit", "40", "X-Sentry-Rate-Limit-Remaining", "30", "X-Sentry-Rate-Limit-Reset", "1655120940",
			"X-Sentry-Rate-Limit-ConcurrentLimit", "25", "X-Sentry-Rate-Limit-ConcurrentRemaining", "0"}, said(false, 0, 40, 30, 7*s)},
		"Groq: audio-seconds are units, and times": {200, []string{
			"X-Ratelimit-Limit-Audio-Seconds", "7200", "X-Ratelimit-Remaining-Audio-Seconds", "0", "X-Ratelimit-Reset-Audio-Seconds", "1m30s",
			"X-Ratelimit-Limit-Requests", "2000", "X-Ratelimit-Remaining-Requests", "1999", "X-Ratelimit-Reset-Requests", "43.2s"}, said(false, 90*s, 7200, 0, 90*s)},
		"Rollbar: remaining seconds are a time": {200, []string{
			"X-Rate-Limit-Limit", "5000", "X-Rate-Limit-Remaining", "4999", "X-Rate-Limit-Remaining-Seconds", "0"}, said(false, 0, 5000, 4999, 0)},
		"Rollbar: with a reset": {429, []string{
			"X-Rate-Limit-Limit", "5000", "X-Rate-Limit-Remaining", "0", "X-Rate-Limit-Remaining-Seconds", "7", "X-Rate-Limit-Reset", "1655120939"}, said(true, 7*s, 5000, 0, 7*s)},
		"units called seconds": {200, []string{
			"X-RateLimit-Limit-Seconds", "100", "X-RateLimit-Remaining-Seconds", "7", "X-RateLimit-Limit", "90", "X-RateLimit-Remaining", "80"}, said(false, 0, 100, 7, unsaid)},
		"Riot Games: units and windows": {200, []string{
			"X-App-Rate-Limit", "100:120,20:1", "X-App-Rate-Limit-Count", "90:120,1:1",
			"X-Method-Rate-Limit", "2000:60", "X-Method-Rate-Limit-Count", "1:60"}, said(false, 0, 100, 10, unsaid)},
		"Heroku: remaining alone": {200, []string{"RateLimit-Remaining", "2400"}, said(false, 0, unsaid, 2400, unsaid)},
		"Mailgun: epoch ms": {200, []string{
			"X-RateLimit-Limit", "500", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1655120935000"}, said(false, 2*s, 500, 0, 2*s)},
		"Vimeo: ISO time with an offset": {429, []string{
			"X-RateLimit-Limit", "1000", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "2022-06-13T13:49:53+02:00"}, said(true, 60*s, 1000, 0, 60*s)},
		"Yelp: the limit is daily, the rest is not named so": {200, []string{
			"RateLimit-DailyLimit", "5000", "RateLimit-Remaining", "4999", "RateLimit-ResetTime", "2022-06-14T00:00:00+00:00"},
			said(false, 0, 5000, 4999, 12*time.Hour+11*time.Minute+7*s)},
		"GitLab: the same reset twice": {429, []string{
			"RateLimit-Limit", "60", "RateLimit-Observed", "67", "RateLimit-Remaining", "0", "RateLimit-Name", "throttle_unauthenticated_web",
			"RateLimit-Reset", "1655120970", "RateLimit-ResetTime", "Mon, 13 Jun 2022 11:49:30 GMT", "Retry-After", "37"}, said(true, 37*s, 60, 0, 37*s)},
		"GitLab: used units alone": {200, []string{"RateLimit-Limit", "60", "RateLimit-Observed", "67"}, said(false, 0, 60, 0, unsaid)},
		"lemlist: a date as JavaScript writes it": {429, []string{
			"X-RateLimit-Limit", "20", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "Mon Jun 13 2022 12:48:55 GMT+0100 (Central European Standard Time)"},
			said(true, 2*s, 20, 0, 2*s)},
		"MailerLite: a Retry-After of the family": {429, []string{
			"X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "0", "X-RateLimit-Retry-After", "59", "X-RateLimit-Reset", "2022-06-13 11:49:52"},
			said(true, 59*s, 60, 0, 59*s)},
		"X: an app's day is over while the window is not": {429, []string{
			"x-rate-limit-limit", "100", "x-rate-limit-remaining", "99", "x-rate-limit-reset", "1655121833",
			"x-app-limit-24hour-limit", "17", "x-app-limit-24hour-remaining", "0", "x-app-limit-24hour-reset", "1655121233"}, said(true, 300*s, 17, 0, 300*s)},
		"Pocket": {200, []string{
			"X-Limit-User-Limit", "320", "X-Limit-User-Remaining", "100", "X-Limit-User-Reset", "60",
			"X-Limit-Key-Limit", "10000", "X-Limit-Key-Remaining", "9999", "X-Limit-Key-Reset", "1800"}, said(false, 0, 320, 100, 60*s)},
		"Imgur: joined words": {200, []string{
			"X-RateLimit-UserLimit", "500", "X-RateLimit-UserRemaining", "17", "X-RateLimit-UserReset", "1655121233",
			"X-RateLimit-ClientLimit", "12500", "X-RateLimit-ClientRemaining", "12000"}, said(false, 0, 500, 17, 300*s)},
		"Strava: lists of the same length": {200, []string{
			"X-RateLimit-Limit", "100,1000", "X-RateLimit-Usage", "25,900"}, said(false, 0, 1000, 100, unsaid)},
		"lists of the same length, resets too": {429, []string{
			"X-RateLimit-Limit", "1000, 100", "X-RateLimit-Remaining", "990, 0", "X-RateLimit-Reset", "3600, 12"}, said(true, 12*s, 100, 0, 12*s)},
		"lists, the first is used up": {200, []string{
			"X-RateLimit-Limit", "1000, 100", "X-RateLimit-Remaining", "0, 50", "X-RateLimit-Reset", "3600, 12"}, said(false, 15*time.Minute, 1000, 0, time.Hour)},
		"lists over lines": {200, []string{
			"X-RateLimit-Limit", "1000", "X-RateLimit-Remaining", "990", "X-RateLimit-Reset", "3600",
			"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "12"}, said(false, 12*s, 100, 0, 12*s)},
		"lists, a reset that can't be read": {200, []string{
			"X-RateLimit-Limit", "1000, 100", "X-RateLimit-Remaining", "990, 0", "X-RateLimit-Reset", "60, soon"}, said(false, 60*s, 100, 0, 60*s)},
		"lists, more resets than counts": {200, []string{
			"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "60, 12"}, said(false, 60*s, 100, 0, 60*s)},
		"lists of epochs": {200, []string{
			"X-RateLimit-Limit", "1000, 100", "X-RateLimit-Used", "10, 100", "X-RateLimit-Reset", "1655124533, 1655120945"}, said(false, 12*s, 100, 0, 12*s)},
		"Salesforce":               {200, []string{"Sforce-Limit-Info", "api-usage=18/5000"}, said(false, 0, 5000, 4982, unsaid)},
		"Recharge: over the limit": {429, []string{"X-Recharge-Limit", "41/40", "Retry-After", "2"}, said(true, 2*s, 40, 0, unsaid)},
		"BigCommerce": {429, []string{
			"X-Rate-Limit-Time-Window-Ms", "30000", "X-Rate-Limit-Time-Reset-Ms", "15500",
			"X-Rate-Limit-Requests-Quota", "150", "X-Rate-Limit-Requests-Left", "0"}, said(true, 15500*time.Millisecond, 150, 0, 15500*time.Millisecond)},
		"Trello": {200, []string{
			"x-rate-limit-api-key-interval-ms", "10000", "x-rate-limit-api-key-max", "300", "x-rate-limit-api-key-remaining", "299",
			"x-rate-limit-api-token-interval-ms", "10000", "x-rate-limit-api-token-max", "100", "x-rate-limit-api-token-remaining", "98"},
			said(false, 0, 100, 98, unsaid)},
		"Klaviyo: the list of draft 02": {200, []string{
			"RateLimit-Limit", "10, 10;w=1, 150;w=60", "RateLimit-Remaining", "9", "RateLimit-Reset", "1"}, said(false, 0, 10, 9, s)},
		"Companies House: one word for it of its own": {200, []string{
			"X-Ratelimit-Limit", "600", "X-Ratelimit-Remain", "0", "X-Ratelimit-Reset", "1655120970", "X-Ratelimit-Window", "5m"}, said(false, 37*s, 600, 0, 37*s)},
		"Azure Resource Manager": {200, []string{"x-ms-ratelimit-remaining-subscription-reads", "11999"}, said(false, 0, unsaid, 11999, unsaid)},
		"Azure Compute: a list of names": {429, []string{
			"x-ms-ratelimit-remaining-resource", "Microsoft.Compute/PutVM3Min;0,Microsoft.Compute/PutVM30Min;1197", "Retry-After", "75"}, said(true, 75*s, unsaid, 0, unsaid)},
		"Cosmos DB":                          {429, []string{"x-ms-retry-after-ms", "9.5"}, said(true, 9500*time.Microsecond, unsaid, unsaid, unsaid)},
		"Amazon: a rate is no count":         {200, []string{"x-amzn-RateLimit-Limit", "0.0167"}, nothing(false)},
		"Amazon: a whole rate is no count":   {429, []string{"x-amzn-RateLimit-Limit", "15.0"}, nothing(true)},
		"Binance: banned":                    {418, []string{"Retry-After", "121", "X-MBX-USED-WEIGHT-1M", "6001"}, said(true, 121*s, unsaid, unsaid, unsaid)},
		"Telegram: the pause is in the body": {429, nil, nothing(true)},
		"Figma":                              {429, []string{"Retry-After", "45", "X-Figma-Plan-Tier", "pro", "X-Figma-Rate-Limit-Type", "low"}, said(true, 45*s, unsaid, unsaid, unsaid)},
		"Jira Cloud: near the limit": {200, []string{
			"X-RateLimit-Limit", "350", "X-RateLimit-Remaining", "42", "X-RateLimit-NearLimit", "true", "RateLimit-Reason", "jira-burst-based"}, said(false, 0, 350, 42, unsaid)},
		"Jira Cloud: structured fields with a prefix": {200, []string{
			"Beta-RateLimit-Policy", `"points";q=65000;w=3600`, "Beta-RateLimit", `"points";r=650;t=1200`}, said(false, 0, 65000, 650, 1200*s)},
		"Jira Cloud: an informational limit refuses nothing": {429, []string{
			"Beta-RateLimit-Policy", `"points";q=65000;w=3600`, "Beta-RateLimit", `"points";r=0;t=600`}, said(true, 0, 65000, 0, 600*s)},
		"Jira Cloud: an informational limit beside one that refuses": {429, []string{
			"Beta-RateLimit", `"points";r=0;t=600`, "RateLimit", `"burst";r=0;t=2`}, said(true, 2*s, unsaid, 0, 2*s)},
		"Jira Data Center: nothing left on a success": {200, []string{
			"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0", "X-RateLimit-Interval-Seconds", "1", "X-RateLimit-FillRate", "2", "Retry-After", "3"},
			said(false, 3*s, 10, 0, unsaid)},
		"Groq: minutes and fractions of a second": {200, []string{
			"x-ratelimit-limit-requests", "14400", "x-ratelimit-remaining-requests", "14370", "x-ratelimit-reset-requests", "2m59.56s",
			"x-ratelimit-limit-tokens", "18000", "x-ratelimit-remaining-tokens", "17997", "x-ratelimit-reset-tokens", "7.66s"},
			said(false, 0, 14400, 14370, 179560*time.Millisecond)},
		"OpenAI: a budget with underscores": {200, []string{
			"x-ratelimit-limit-tokens_usage_based", "40000", "x-ratelimit-remaining-tokens_usage_based", "20000", "x-ratelimit-reset-tokens_usage_based", "1d2h"},
			said(false, 0, 40000, 20000, 26*time.Hour)},
		"Mistral: a prefix joined to the word": {200, []string{
			"ratelimitbysize-limit", "500000", "ratelimitbysize-remaining", "499000", "ratelimitbysize-reset", "41"}, said(false, 0, 500000, 499000, 41*s)},
		"Anthropic: overloaded": {529, []string{"retry-after", "8"}, said(true, 8*s, unsaid, unsaid, unsaid)},
		"Discord: the reset that needs no clock": {200, []string{
			"X-RateLimit-Limit", "5", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1655129999.5", "X-RateLimit-Reset-After", "0.25"},
			said(false, 250*time.Millisecond, 5, 0, 250*time.Millisecond)},
		"Bitbucket: the resource is a name": {429, []string{"X-RateLimit-Limit", "1000", "X-RateLimit-Resource", "api", "X-RateLimit-NearLimit", "true"}, said(true, 0, 1000, unsaid, unsaid)},
		"Docker Hub: nothing left, and no reset": {429, []string{
			"ratelimit-limit", "100;w=21600", "ratelimit-remaining", "0;w=21600"}, said(true, 0, 100, 0, unsaid)},
		"Etsy: words in another order": {200, []string{
			"X-Limit-Per-Second", "10", "X-Remaining-This-Second", "9", "X-Limit-Per-Day", "10000", "X-Remaining-Today", "17"}, said(false, 0, 10000, 17, unsaid)},
		"Nexus Mods: no word for a rate": {200, []string{
			"X-RL-Hourly-Limit", "100", "X-RL-Hourly-Remaining", "99", "X-RL-Hourly-Reset", "2022-06-13T12:00:00+00:00",
			"X-RL-Daily-Limit", "2500", "X-RL-Daily-Remaining", "0", "X-RL-Daily-Reset", "2022-06-13 11:49:00 +0000"}, said(false, 7*s, 2500, 0, 7*s)},
		"Cohere: calls of an endpoint":          {200, []string{"x-trial-endpoint-call-limit", "40", "x-trial-endpoint-call-remaining", "39"}, said(false, 0, 40, 39, unsaid)},
		"a page's limit":                        {429, []string{"X-Page-Limit", "100", "X-Limit", "20", "X-Total-Limit", "5"}, nothing(true)},
		"a rest without a limit is no evidence": {403, []string{"X-Credits-Remaining", "0", "X-Credits-Reset", "60"}, nothing(false)},
		"Bybit: units left": {200, []string{
			"X-Bapi-Limit", "50", "X-Bapi-Limit-Status", "49", "X-Bapi-Limit-Reset-Timestamp", "1655120933000"}, said(false, 0, 50, 49, 0)},
		"Bybit: nothing left": {200, []string{
			"X-Bapi-Limit", "50", "X-Bapi-Limit-Status", "0", "X-Bapi-Limit-Reset-Timestamp", "1655120934100"}, said(false, 1100*time.Millisecond, 50, 0, 1100*time.Millisecond)},
		"Bybit: nothing left, renewed at once": {200, []string{
			"X-Bapi-Limit", "50", "X-Bapi-Limit-Status", "0", "X-Bapi-Limit-Reset-Timestamp", "1655120933000"}, said(false, 0, 50, 0, 0)},
		"Xero: joined words, no limit": {429, []string{
			"X-MinLimit-Remaining", "0", "X-DayLimit-Remaining", "4800", "X-AppMinLimit-Remaining", "9900", "X-Rate-Limit-Problem", "minute", "Retry-After", "28"},
			said(true, 28*s, unsaid, 0, unsaid)},
		"DocuSign: a burst": {429, []string{
			"X-RateLimit-Limit", "3000", "X-RateLimit-Remaining", "2800", "X-RateLimit-Reset", "1655121600", "X-BurstLimit-Limit", "500", "X-BurstLimit-Remaining", "0"},
			said(true, 0, 500, 0, unsaid)},
		"Traefik: seconds rounded down to 0": {429, []string{"Retry-After", "0", "X-Retry-In", "342ms"}, said(true, 342*time.Millisecond, unsaid, unsaid, unsaid)},
		"Traefik: the standard first":        {429, []string{"Retry-After", "2", "X-Retry-In", "1.7s"}, said(true, 2*s, unsaid, unsaid, unsaid)},
		"Hugging Face: a policy of two names": {429, []string{
			"RateLimit", `"api|pages";r=0;t=42`, "RateLimit-Policy", `"fixed window";"api|pages";q=500;w=300`}, said(true, 42*s, 500, 0, 42*s)},
		"Dynamics 365: a comma and a fraction": {200, []string{"x-ms-ratelimit-time-remaining-xrm-requests", "1,197.15"}, said(false, 0, unsaid, 1197, unsaid)},
		"Tradier: allowed, available, expiry": {429, []string{
			"X-Ratelimit-Allowed", "120", "X-Ratelimit-Used", "120", "X-Ratelimit-Available", "0", "X-Ratelimit-Expiry", "1655120993000"}, said(true, 60*s, 120, 0, 60*s)},
		"Genesys: count of allowed ones": {200, []string{
			"inin-ratelimit-count", "20", "inin-ratelimit-allowed", "300", "inin-ratelimit-reset", "44"}, said(false, 0, 300, 280, 44*s)},
		"a joined reset after": {429, []string{
			"X-RateLimit-Limit", "500", "X-RateLimit-Remaining", "0", "X-RateLimit-ResetAfter", "17"}, said(true, 17*s, 500, 0, 17*s)},
		"a joined Retry-After beside a reset": {200, []string{
			"X-RateLimit-Limit", "500", "X-RateLimit-Remaining", "9", "X-RateLimit-Reset", "1655120940", "X-RateLimit-RetryAfter", "60"}, said(false, 0, 500, 9, 7*s)},
		"KuCoin, Rest Rate Limit: milliseconds that no word names": {429, []string{
			"gw-ratelimit-limit", "500", "gw-ratelimit-remaining", "0", "gw-ratelimit-reset", "1489"}, said(true, 1489*time.Millisecond, 500, 0, 1489*time.Millisecond)},
		"Feishu, Frequency control: seconds under nearly that name": {429, []string{"x-ogw-ratelimit-limit", "100", "x-ogw-ratelimit-reset", "5"}, said(true, 5*s, 100, unsaid, 5*s)},
		"EVE Online, ESI Error Limit: errors left":                  {200, []string{"X-Esi-Error-Limit-Remain", "95", "X-Esi-Error-Limit-Reset", "12"}, said(false, 0, unsaid, 95, 12*s)},
		"EVE Online, ESI Error Limit: none left":                    {420, []string{"X-Esi-Error-Limit-Remain", "0", "X-Esi-Error-Limit-Reset", "12"}, said(true, 12*s, unsaid, 0, 12*s)},
		"Phemex, Generic API Info: the Retry-After of a group": {429, []string{
			"X-RateLimit-Remaining-CONTRACT", "0", "X-RateLimit-Capacity-CONTRACT", "500", "X-RateLimit-Retry-After-CONTRACT", "36"}, said(true, 36*s, 500, 0, unsaid)},
		"App Store Connect, Identifying Rate Limits":         {200, []string{"X-Rate-Limit", "user-hour-lim:3500;user-hour-rem:500;"}, said(false, 0, 3500, 500, unsaid)},
		"App Store Connect: two budgets":                     {429, []string{"X-Rate-Limit", "user-hour-lim:3600;user-hour-rem:3121;user-minute-lim:300;user-minute-rem:0;"}, said(true, 0, 300, 0, unsaid)},
		"all of a budget in one header, with commas":         {200, []string{"RateLimit", "limit=10, remaining=0, reset=9,"}, nothing(false)},
		"Walmart, Rate limiting: the next units":             {429, []string{"X-Current-Token-Count", "0", "X-Next-Replenish-Time", "1655120953000"}, said(true, 20*s, unsaid, unsaid, unsaid)},
		"Walmart, Rate Limiting of suppliers: another name":  {429, []string{"X-Current-Token-Count", "0", "X-Next-Replenishment-Time", "1655120953000"}, said(true, 20*s, unsaid, unsaid, unsaid)},
		"Walmart: units left":                                {200, []string{"X-Current-Token-Count", "9", "X-Next-Replenish-Time", "1655120953000"}, nothing(false)},
		"Ticketmaster, Discovery API: the limit has no word": {200, []string{"Rate-Limit", "5000", "Rate-Limit-Available", "0", "Rate-Limit-Over", "0", "Rate-Limit-Reset", "1655120953367"}, said(false, 20367*time.Millisecond, 5000, 0, 20367*time.Millisecond)},
		"Dynatrace, Rate limits: microseconds":               {429, []string{"X-RateLimit-Limit", "50", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1655120953367000"}, said(true, 20367*time.Millisecond, 50, 0, 20367*time.Millisecond)},
		"Cloudinary, Admin API: an HTTP date under a 420":    {420, []string{"X-FeatureRateLimit-Limit", "500", "X-FeatureRateLimit-Remaining", "0", "X-FeatureRateLimit-Reset", "Mon, 13 Jun 2022 12:00:00 GMT"}, said(true, 667*s, 500, 0, 667*s)},
		"Zoom, Rate limits: an ISO time as Retry-After":      {429, []string{"X-RateLimit-Category", "Light", "X-RateLimit-Type", "Per-second-limit", "X-RateLimit-Limit", "80", "X-RateLimit-Remaining", "0", "Retry-After", "2022-06-13T11:49:53Z"}, said(true, 60*s, 80, 0, unsaid)},
		"Akamai, Rate limiting: the next request": {429, []string{
			"X-RateLimit-Limit", "60", "X-RateLimit-Remaining", "0", "X-RateLimit-Next", "2022-06-13T11:48:54.100Z"}, said(true, 1100*time.Millisecond, 60, 0, 1100*time.Millisecond)},
		"Brave Search: the second is over, the month has no limit": {429, []string{
			"X-RateLimit-Limit", "1, 0", "X-RateLimit-Remaining", "0, 0", "X-RateLimit-Reset", "0, 1419704"}, said(true, 0, 1, 0, 0)},
		"Wildberries, Rate limits: the next request, and a full bucket": {429, []string{
			"X-Ratelimit-Limit", "20", "X-Ratelimit-Remaining", "0", "X-Ratelimit-Retry", "1", "X-Ratelimit-Reset", "60"}, said(true, s, 20, 0, 60*s)},
		"CrowdStrike: a joined Retry-After, an epoch": {429, []string{
			"X-Ratelimit-Limit", "6000", "X-Ratelimit-Remaining", "0", "X-Ratelimit-Retryafter", "1655120999"}, said(true, 66*s, 6000, 0, 66*s)},
		"GetResponse, Limits & throttling: a number and its unit": {429, []string{"X-RateLimit-Limit", "30000", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "467 seconds"}, said(true, 467*s, 30000, 0, 467*s)},
		"Azure Resource Graph: a quota, and a clock's time":       {200, []string{"x-ms-user-quota-remaining", "10", "x-ms-user-quota-resets-after", "00:00:03"}, said(false, 0, unsaid, 10, 3*s)},
		"Azure Resource Graph: none left":                         {429, []string{"x-ms-user-quota-remaining", "0", "x-ms-user-quota-resets-after", "00:00:05"}, said(true, 5*s, unsaid, 0, 5*s)},
		"Exact Online: a minute and a day, epoch ms": {429, []string{
			"X-RateLimit-Limit", "5000", "X-RateLimit-Remaining", "4800", "X-RateLimit-Reset", "1655164800000", "X-RateLimit-Minutely-Limit", "60", "X-RateLimit-Minutely-Remaining", "0", "X-RateLimit-Minutely-Reset", "1655120955000"}, said(true, 22*s, 60, 0, 22*s)},
		"Auth0, Fine-Grained Machine-to-Machine Token Quotas: none left": {429, []string{
			"Auth0-Client-Quota-Limit", "b=per_hour;q=2;r=0;t=924", "Auth0-Organization-Quota-Limit", "b=per_hour;q=50;r=25;t=924"}, said(true, 900*s, 2, 0, 924*s)},
		"Auth0: an hour and a day": {200, []string{
			"Auth0-Client-Quota-Limit", "b=per_hour;q=100;r=90;t=3600,b=per_day;q=1000;r=95;t=86400"}, said(false, 0, 1000, 95, 86400*s)},
		"Auth0: no limit":                                      {200, []string{"Auth0-Client-Quota-Limit", "b=per_hour;q=0;r=0;t=924"}, nothing(false)},
		"draft 07 under a name":                                {200, []string{"X-RateLimit-Info", "limit=100, remaining=5, reset=30"}, said(false, 0, 100, 5, 30*s)},
		"Toggl: no quota left":                                 {200, []string{"X-Toggl-Quota-Remaining", "0", "X-Toggl-Quota-Resets-In", "3600"}, said(false, 900*s, unsaid, 0, 3600*s)},
		"Toggl: quota left, no limit":                          {200, []string{"X-Toggl-Quota-Remaining", "27", "X-Toggl-Quota-Resets-In", "1800"}, said(false, 0, unsaid, 27, 1800*s)},
		"Gravitee: a quota with a limit":                       {429, []string{"X-Quota-Limit", "10", "X-Quota-Remaining", "0", "X-Quota-Reset", "1655120945000"}, said(true, 12*s, 10, 0, 12*s)},
		"Mashery (TomTom, Sportradar): the error's name alone": {403, []string{"X-Error-Detail-Header", "Account Over Rate Limit", "X-Mashery-Error-Code", "ERR_403_DEVELOPER_OVER_RATE"}, nothing(true)},
		"Mashery: with a Retry-After":                          {403, []string{"X-Mashery-Error-Code", "ERR_403_DEVELOPER_OVER_QPS", "Retry-After", "1", "X-Plan-Quota-Reset", "Saturday, February 27, 2016 12:00:00 AM GMT"}, said(true, 1*s, unsaid, unsaid, unsaid)},
		"Mashery: another error":                               {403, []string{"X-Mashery-Error-Code", "ERR_403_DEVELOPER_INACTIVE"}, nothing(false)},
		"Pipedrive: a burst and a day": {200, []string{
			"x-ratelimit-limit", "80", "x-ratelimit-remaining", "40", "x-ratelimit-reset", "2", "x-daily-ratelimit-token-limit", "30000", "x-daily-ratelimit-token-remaining", "29000"}, said(false, 0, 80, 40, 2*s)},
		"Gate.io: a name in one of three headers": {200, []string{"X-Gate-RateLimit-Requests-Remain", "99", "X-Gate-RateLimit-Limit", "100", "X-Gate-RateLimit-Reset-Timestamp", "1655120934"}, said(false, 0, 100, 99, 1*s)},
		"BitMEX: a second beside a minute":        {200, []string{"x-ratelimit-limit", "120", "x-ratelimit-remaining", "119", "x-ratelimit-reset", "1655120993", "x-ratelimit-remaining-1s", "9"}, said(false, 0, 120, 119, 60*s)},
		"Fitbit":                                  {429, []string{"Fitbit-Rate-Limit-Limit", "150", "Fitbit-Rate-Limit-Remaining", "0", "Fitbit-Rate-Limit-Reset", "1478"}, said(true, 900*s, 150, 0, 1478*s)},
		"Microsoft Graph: a percentage is no count": {429, []string{
			"Retry-After", "10", "x-ms-throttle-limit-percentage", "1.8", "x-ms-throttle-scope", "Tenant_Application/ReadWrite/9a3d526c-b3c1-4479-ba74-197b5c5751ae/0785ef7c-2d7a-4542-b048-95bcab406e0b", "x-ms-throttle-information", "CPULimitExceeded"}, said(true, 10*s, unsaid, unsaid, unsaid)},
		"SharePoint": {200, []string{"RateLimit-Limit", "1200", "RateLimit-Remaining", "118", "RateLimit-Reset", "11"}, said(false, 0, 1200, 118, 11*s)},
		"Docker Hub API: an epoch as Retry-After": {429, []string{"X-RateLimit-Limit", "180", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1655120993", "X-Retry-After", "1655120993"}, said(true, 60*s, 180, 0, 60*s)},
		"Docker Hub: an address is no count":      {200, []string{"ratelimit-limit", "100;w=21600", "ratelimit-remaining", "76;w=21600", "docker-ratelimit-source", "192.0.2.1"}, said(false, 0, 100, 76, unsaid)},
		"GoCardless: an HTTP date":                {429, []string{"RateLimit-Limit", "1000", "RateLimit-Remaining", "0", "RateLimit-Reset", "Mon, 13 Jun 2022 11:49:20 GMT"}, said(true, 27*s, 1000, 0, 27*s)},
		"ShipStation":                             {429, []string{"X-Rate-Limit-Limit", "40", "X-Rate-Limit-Remaining", "0", "X-Rate-Limit-Reset", "51"}, said(true, 51*s, 40, 0, 51*s)},
		"Mastodon: microseconds":                  {200, []string{"X-RateLimit-Limit", "300", "X-RateLimit-Remaining", "298", "X-RateLimit-Reset", "2022-06-13T11:51:53.500000Z"}, said(false, 0, 300, 298, time.Duration(180500000000))},
		"Bluesky: an epoch beside a policy":       {429, []string{"RateLimit-Limit", "3000", "RateLimit-Remaining", "0", "RateLimit-Reset", "1655121100", "RateLimit-Policy", "3000;w=300"}, said(true, 167*s, 3000, 0, 167*s)},
		"Cerebras: minutes and days": {200, []string{
			"x-ratelimit-limit-requests-day", "14400", "x-ratelimit-limit-tokens-minute", "60000", "x-ratelimit-limit-tokens-day", "1000000", "x-ratelimit-remaining-requests-day", "14380", "x-ratelimit-remaining-tokens-minute", "59000", "x-ratelimit-remaining-tokens-day", "5000", "x-ratelimit-reset-requests-day", "33011.382867", "x-ratelimit-reset-tokens-minute", "11.382867", "x-ratelimit-reset-tokens-day", "33011.382867"}, said(false, 0, 1000000, 5000, time.Duration(33011382867000))},
		"Fireworks: over-limit is no limit": {200, []string{
			"x-ratelimit-limit-requests", "600", "x-ratelimit-remaining-requests", "600", "x-ratelimit-limit-tokens-prompt", "12000", "x-ratelimit-remaining-tokens-prompt", "11998", "x-ratelimit-over-limit", "no"}, said(false, 0, 12000, 11998, unsaid)},
		"GitHub Copilot: the Retry-After of a user": {429, []string{"x-ratelimit-exceeded", "user_model_requests:rate_limited", "x-ratelimit-user-retry-after", "60"}, said(true, 60*s, unsaid, unsaid, unsaid)},
		"Mapbox: a reset, no count":                 {429, []string{"X-Rate-Limit-Interval", "60", "X-Rate-Limit-Limit", "600", "X-Rate-Limit-Reset", "1655120980"}, said(true, 47*s, 600, unsaid, 47*s)},
		"GraphHopper: credits of a request":         {200, []string{"X-RateLimit-Limit", "500", "X-RateLimit-Remaining", "450", "X-RateLimit-Reset", "3600", "X-RateLimit-Credits", "5"}, said(false, 0, 500, 450, 3600*s)},
		"Front: a fraction of an epoch":             {429, []string{"X-RateLimit-Limit", "50", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1655120964.245", "Retry-After", "3"}, said(true, 3*s, 50, 0, time.Duration(31245000000))},
		"Aircall: no word for a rate":               {200, []string{"X-AircallApi-Limit", "60", "X-AircallApi-Remaining", "58", "X-AircallApi-Reset", "1655120980"}, said(false, 0, 60, 58, 47*s)},
		"SurveyMonkey: a minute and a day": {429, []string{
			"X-Ratelimit-App-Global-Minute-Limit", "120", "X-Ratelimit-App-Global-Minute-Remaining", "0", "X-Ratelimit-App-Global-Minute-Reset", "59", "X-Ratelimit-App-Global-Day-Limit", "500", "X-Ratelimit-App-Global-Day-Remaining", "380", "X-Ratelimit-App-Global-Day-Reset", "33059"}, said(true, 59*s, 120, 0, 59*s)},
		"Honeycomb: a joined policy": {200, []string{"RateLimit", "limit=100, remaining=50, reset=50", "RateLimitPolicy", "100;w=60"}, said(false, 0, 100, 50, 50*s)},
		"Expedia Rapid: limits without a word": {429, []string{
			"Rate-Limit-Minute", "10", "Rate-Limit-Minute-Remaining", "0", "Rate-Limit-Minute-Reset", "1655120940000", "Rate-Limit-Day", "10000", "Rate-Limit-Day-Remaining", "9000", "Rate-Limit-Day-Reset", "1655164800000", "Rate-Limit-Reduction-Status", "INACTIVE"}, said(true, 7*s, 10, 0, 7*s)},
		"OpenSky: over the longest pause": {429, []string{"X-Rate-Limit-Remaining", "0", "X-Rate-Limit-Retry-After-Seconds", "51234"}, said(true, 900*s, unsaid, 0, unsaid)},
		"Discogs: the limit has no word":  {200, []string{"X-Discogs-Ratelimit", "60", "X-Discogs-Ratelimit-Used", "1", "X-Discogs-Ratelimit-Remaining", "59"}, said(false, 0, 60, 59, unsaid)},
		"RapidAPI: a plan's hard limit": {200, []string{
			"X-RateLimit-Requests-Limit", "500", "X-RateLimit-Requests-Remaining", "20", "X-RateLimit-Requests-Reset", "86400", "X-RateLimit-rapid-free-plans-hard-limit-Limit", "500000", "X-RateLimit-rapid-free-plans-hard-limit-Remaining", "499000", "X-RateLimit-rapid-free-plans-hard-limit-Reset", "2592000"}, said(false, 0, 500, 20, 86400*s)},
		"Spring Cloud Gateway: the capacity of a burst":  {429, []string{"X-RateLimit-Remaining", "0", "X-RateLimit-Requested-Tokens", "1", "X-RateLimit-Burst-Capacity", "20", "X-RateLimit-Replenish-Rate", "10"}, said(true, 0, 20, 0, unsaid)},
		"Envoy: the list of draft 02 beside a word":      {429, []string{"x-envoy-ratelimited", "true", "x-ratelimit-limit", "10, 10;w=60", "x-ratelimit-remaining", "0", "x-ratelimit-reset", "30"}, said(true, 30*s, 10, 0, 30*s)},
		"Symfony: an epoch as Retry-After":               {429, []string{"X-RateLimit-Limit", "100", "X-RateLimit-Remaining", "0", "X-RateLimit-Retry-After", "1655120950"}, said(true, 17*s, 100, 0, unsaid)},
		"MusicBrainz: 503":                               {503, []string{"X-RateLimit-Limit", "1200", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1655120934", "Retry-After", "1"}, said(true, 1*s, 1200, 0, 1*s)},
		"Podio: 420, no reset":                           {420, []string{"X-Rate-Limit-Limit", "1000", "X-Rate-Limit-Remaining", "0"}, said(true, 0, 1000, 0, unsaid)},
		"Okta: limit and rest are 0 for calls under way": {429, []string{"X-Rate-Limit-Limit", "0", "X-Rate-Limit-Remaining", "0", "X-Rate-Limit-Reset", "1655120934"}, said(true, 1*s, unsaid, unsaid, 1*s)},
		"Canvas: a debt":                                 {403, []string{"X-Rate-Limit-Remaining", "-2.5"}, nothing(false)},
		"IBM API Connect: a name and a count":            {200, []string{"X-RateLimit-Limit", "name=default,100;", "X-RateLimit-Remaining", "name=default,92;"}, said(false, 0, 100, 92, unsaid)},
		"IBM API Connect: two plans": {429, []string{
			"X-RateLimit-Limit", "name=rate-limit-1,10;name=rate-limit-2,100;", "X-RateLimit-Remaining", "name=rate-limit-1,5;name=rate-limit-2,0;", "Retry-After", "4"}, said(true, 4*s, 100, 0, unsaid)},
		"Qualys: the time to wait": {429, []string{
			"X-RateLimit-Limit", "300", "X-RateLimit-Window-Sec", "3600", "X-RateLimit-Remaining", "0", "X-RateLimit-ToWait-Sec", "181", "X-Concurrency-Limit-Limit", "10", "X-Concurrency-Limit-Running", "2"}, said(true, 181*s, 300, 0, 181*s)},
		"GitHub Models: the time remaining":     {429, []string{"x-ratelimit-type", "UserByModelByDay", "x-ratelimit-timeremaining", "43"}, said(true, 43*s, unsaid, unsaid, 43*s)},
		"Crossref: calls under way are no rate": {200, []string{"X-Rate-Limit-Limit", "50", "X-Rate-Limit-Interval", "1s", "X-Concurrency-Limit", "5"}, said(false, 0, 50, unsaid, unsaid)},
		"Solana: requests, methods, connections": {200, []string{
			"x-ratelimit-rps-limit", "100", "x-ratelimit-rps-remaining", "85", "x-ratelimit-method-limit", "40", "x-ratelimit-method-remaining", "38", "x-ratelimit-conn-limit", "40", "x-ratelimit-conn-remaining", "39"}, said(false, 0, 100, 85, unsaid)},
		"Freshdesk: the cost of a request is no use": {200, []string{"X-RateLimit-Total", "3000", "X-RateLimit-Remaining", "100", "X-RateLimit-Used-CurrentRequest", "2"}, said(false, 0, 3000, 100, unsaid)},
		"AspNetCoreRateLimit: a period for a limit": {429, []string{
			"X-Rate-Limit-Limit", "1d", "X-Rate-Limit-Remaining", "0", "X-Rate-Limit-Reset", "2022-06-13T11:58:53.0000000Z"}, said(true, 600*s, unsaid, 0, 600*s)},
		"Kong AI: a provider and its window": {429, []string{
			"X-AI-RateLimit-Limit-30-azure", "1000", "X-AI-RateLimit-Remaining-30-azure", "0", "X-AI-RateLimit-Retry-After-30-azure", "20", "X-AI-RateLimit-Query-Cost-azure", "120"}, said(true, 20*s, 1000, 0, unsaid)},
		"Sentry's ingestion: categories":           {200, []string{"X-Sentry-Rate-Limits", "60:transaction:key, 2700:default;error;security:organization"}, nothing(false)},
		"Bandwidth: the word limit twice":          {429, []string{"X-Limit-Type", "messages", "X-Limit-Limit", "50", "X-Limit-Remaining", "0", "X-Limit-Reset", "1655120993000"}, said(true, 60*s, 50, 0, 60*s)},
		"Salesforce: an application's part":        {200, []string{"Sforce-Limit-Info", "api-usage=100/15000; per-app-api-usage=17/250(appName=sample-connected-app)"}, said(false, 0, 250, 233, unsaid)},
		"resumable uploads, Upload-Limit: no rate": {429, []string{"Upload-Limit", "max-size=0, expires=3600"}, nothing(true)},
		"MoySklad: milliseconds that no word names": {429, []string{
			"X-RateLimit-Limit", "45", "X-RateLimit-Remaining", "0", "X-Lognex-Retry-TimeInterval", "3000", "X-Lognex-Reset", "2500", "X-Lognex-Retry-After", "2500"}, said(true, 2500*time.Millisecond, 45, 0, unsaid)},
		"Django REST framework before 3":   {429, []string{"X-Throttle-Wait-Seconds", "30"}, said(true, 30*s, unsaid, unsaid, unsaid)},
		"Bitvavo: a joined reset at":       {429, []string{"Bitvavo-Ratelimit-Limit", "1000", "Bitvavo-Ratelimit-Remaining", "0", "Bitvavo-Ratelimit-ResetAt", "1655120993000"}, said(true, 60*s, 1000, 0, 60*s)},
		"a joined reset at":                {429, []string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0", "X-RateLimit-ResetAt", "2022-06-13T11:49:23Z"}, said(true, 30*s, 10, 0, 30*s)},
		"Trakt: JSON beside a Retry-After": {429, []string{"X-Ratelimit", `{"name":"AUTHED_API_GET_LIMIT","period":300,"limit":1000,"remaining":0,"until":"2022-06-13T11:50:00Z"}`, "Retry-After", "10"}, said(true, 10*s, 1000, 0, 67*s)},
		"Apollo.io: units left by windows, their limits under another name": {429, []string{
			"x-rate-limit-24-hour", "2000", "x-24-hour-usage", "205", "x-24-hour-requests-left", "1795",
			"x-rate-limit-minute", "200", "x-minute-usage", "200", "x-minute-requests-left", "0"}, said(true, 0, 200, 0, unsaid)},
		"Lusha: daily, hourly, minute": {200, []string{
			"x-rate-limit-daily", "18000", "x-daily-requests-left", "17990", "x-daily-usage", "10", "x-rate-limit-hourly", "1800", "x-hourly-requests-left", "90",
			"x-hourly-usage", "1710", "x-rate-limit-minute", "300", "x-minute-requests-left", "299"}, said(false, 0, 1800, 90, unsaid)},
		"iFirm: requests left, no limit":   {200, []string{"x-requests-left-day", "480", "x-requests-left-minute", "20"}, said(false, 0, unsaid, 20, unsaid)},
		"no requests left, under a 403":    {403, []string{"X-Requests-Made", "1000", "X-Requests-Left", "0"}, said(true, 0, unsaid, 0, unsaid)},
		"requests left, under a 403":       {403, []string{"X-Requests-Left", "12"}, said(false, 0, unsaid, 12, unsaid)},
		"The Odds API":                     {200, []string{"x-requests-remaining", "480", "x-requests-used", "20", "x-requests-last", "2"}, said(false, 0, unsaid, 480, unsaid)},
		"ShipBob: calls left":              {429, []string{"x-retry-after", "25", "x-remaining-calls", "0"}, said(true, 25*s, unsaid, 0, unsaid)},
		"LiteLLM: requests of a key":       {200, []string{"x-litellm-key-remaining-requests-gpt-4", "99"}, said(false, 0, unsaid, 99, unsaid)},
		"calls with a limit and a reset":   {200, []string{"X-Acme-Calls-Limit", "30", "X-Acme-Calls-Left", "12", "X-Acme-Calls-Reset", "20"}, said(false, 0, 30, 12, 20*s)},
		"calls, used and possible":         {200, []string{"X-Shop-Requests-Limit", "39/40"}, said(false, 0, 40, 1, unsaid)},
		"watsonx.ai: a limit called rate":  {429, []string{"x-requests-limit-rate", "8", "x-requests-limit-remaining", "0", "x-requests-limit-reset", "2"}, said(true, 2*s, 8, 0, 2*s)},
		"nginx: a speed is no limit":       {200, []string{"X-Accel-Limit-Rate", "102400"}, nothing(false)},
		"Bitget: one count":                {429, []string{"x-mbx-used-remain-limit", "0"}, said(true, 0, unsaid, 0, unsaid)},
		"Upbit: counts by windows":         {429, []string{"Remaining-Req", "group=order; min=1799; sec=0"}, said(true, 0, unsaid, 0, unsaid)},
		"Lightspeed: a bucket's level":     {200, []string{"X-LS-Api-Bucket-Level", "60/180", "X-LS-Api-Drip-Rate", "1"}, said(false, 0, 180, 120, unsaid)},
		"a bucket, a level":                {200, []string{"X-Amz-Bucket-Region", "eu-west-1", "X-Api-Level", "4/10", "X-Bucket-Level", "10/0"}, nothing(false)},
		"Mashery: allotted and current":    {200, []string{"X-Plan-Quota-Allotted", "5000", "X-Plan-Quota-Current", "4000"}, said(false, 0, 5000, 1000, unsaid)},
		"Keap: a quota's expiry time":      {200, []string{"x-keap-product-quota-limit", "150000", "x-keap-product-quota-available", "149862", "x-keap-product-quota-expiry-time", "1655121533000"}, said(false, 0, 150000, 149862, 600*s)},
		"WordPress.com: a quota's maximum": {200, []string{"x-quota-max", "100", "x-quota-remaining", "42"}, said(false, 0, 100, 42, unsaid)},
		"draft 07, with semicolons":        {429, []string{"RateLimit", "limit=30; remaining=0; reset=20"}, said(true, 20*s, 30, 0, 20*s)},
		"colons and commas":                {200, []string{"X-Acme-RateLimit", "limit:30, remaining:12, reset:20"}, said(false, 0, 30, 12, 20*s)},
		"JSON":                             {200, []string{"X-Acme-RateLimit", `{"limit": 30, "remaining": 12, "reset": 20}`}, said(false, 0, 30, 12, 20*s)},
		"a wait, a number of its unit":     {429, []string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "0", "X-RateLimit-Wait-Ms", "1500"}, said(true, 1500*time.Millisecond, 10, 0, 1500*time.Millisecond)},
		"calls that wait are no time":      {200, []string{"X-RateLimit-Limit", "10", "X-RateLimit-Remaining", "3", "X-RateLimit-Waiting", "2"}, said(false, 0, 10, 3, unsaid)},
		"a time to live of the budget":     {200, []string{"x-rate-limit-limit", "100", "x-rate-limit-used", "30", "x-rate-limit-remaining-ttl", "42"}, said(false, 0, 100, 70, 42*s)},
		"a quoted Retry-After":             {429, []string{"Retry-After", `"5"`}, said(true, 5*s, unsaid, unsaid, unsaid)},
		"a page's limit and rest, refused": {403, []string{"X-Pagination-Limit", "100", "X-Pagination-Remaining", "0"}, nothing(false)},
		"a page's rest beside a limit":     {403, []string{"X-RateLimit-Limit", "100", "X-Pagination-Remaining", "0"}, said(false, 0, 100, unsaid, unsaid)},
		"a session's limit and rest":       {403, []string{"X-Session-Limit", "3600", "X-Session-Remaining", "0"}, nothing(false)},
		"a store's quota":                  {403, []string{"X-Storage-Quota-Limit", "1000", "X-Storage-Quota-Remaining", "0"}, nothing(false)},
		"attempts and days left":           {403, []string{"X-Login-Attempts-Left", "0", "X-Trial-Days-Remaining", "0"}, nothing(false)},
		"resumable uploads: one item":      {200, []string{"Upload-Limit", "max-size=1000"}, nothing(false)},
		"Tyk: a limit of -1 is none":       {200, []string{"X-RateLimit-Limit", "-1", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1655120993"}, said(false, 0, unsaid, unsaid, 60*s)},
		"a limit of -1, draft 07":          {200, []string{"RateLimit", "limit=-1, remaining=0, reset=60"}, said(false, 0, unsaid, unsaid, 60*s)},
		"a limit of -1 under a 403":        {403, []string{"X-RateLimit-Limit", "-1", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1655120993"}, said(false, 0, unsaid, unsaid, 60*s)},
		"a limit of -1, refused":           {429, []string{"X-RateLimit-Limit", "-1", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "1655120993"}, said(true, 60*s, unsaid, unsaid, 60*s)},
		"Split: seconds before the budget's name": {429, []string{
			"X-RateLimit-Remaining-Org", "0", "X-RateLimit-Reset-Seconds-Org", "20", "X-RateLimit-Remaining-IP", "90", "X-RateLimit-Reset-Seconds-IP", "50"}, said(true, 20*s, unsaid, 0, 20*s)},
		"calls under way, used and possible": {200, []string{"X-Concurrent-Limit-Max", "5", "X-Concurrent-Limit-Active", "5"}, nothing(false)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := new(upstream.Reader).Read(response(c.status, c.headers...), date.Add(time.Hour))
			got.Name, got.Window = "", 0                           // see TestNameAndWindow
			got.Cause, got.Informational = upstream.Cause{}, false // see TestCause
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestNameAndWindow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		headers    []string
		wantName   string
		wantWindow time.Duration
	}{
		"none":                          {[]string{"X-RateLimit-Limit", "5"}, "", 0},
		"by the header's name":          {[]string{"X-RateLimit-Limit-Tokens", "5"}, "tokens", 0},
		"a unit is one of times only":   {[]string{"X-RateLimit-Limit-Sec", "5"}, "sec", 0},
		"a minute by the header's name": {[]string{"X-RateLimit-Limit-Minute", "5"}, "minute", time.Minute},
		"a day of users":                {[]string{"X-RateLimit-Limit-User-Daily", "5"}, "user-daily", 24 * time.Hour},
		"24 hours":                      {[]string{"X-App-Limit-24hour-Limit", "5"}, "24hour", 24 * time.Hour},
		"five minutes (Mistral)":        {[]string{"X-RateLimit-Limit-Tokens-5-Minute", "5"}, "tokens-5-minute", 5 * time.Minute},
		"a number of something else":    {[]string{"X-RateLimit-Limit-5-Tokens-Minute", "5"}, "5-tokens-minute", time.Minute},
		"no number of hours":            {[]string{"X-App-Limit-99999999999999999999hour-Limit", "5"}, "99999999999999999999hour", 0},
		"no hours":                      {[]string{"X-App-Limit-0hour-Limit", "5"}, "0hour", 0},
		"Exact Online: minutely":        {[]string{"X-RateLimit-Minutely-Limit", "60", "X-RateLimit-Minutely-Remaining", "3"}, "minutely", time.Minute},
		"Honeycomb: a joined policy":    {[]string{"RateLimit", "limit=100, remaining=50, reset=50", "RateLimitPolicy", "100;w=60"}, "", time.Minute},
		"Toggl: a quota's":              {[]string{"X-Toggl-Quota-Remaining", "3"}, "toggl", 0},
		"Riot Games: the window":        {[]string{"X-App-Rate-Limit", "20:1, 100:120", "X-App-Rate-Limit-Count", "1:1, 90:120"}, "", 2 * time.Minute},
		"w comes before the name":       {[]string{"X-RateLimit-Limit-Minute", "5;w=30"}, "minute", 30 * time.Second},
		"w of a count":                  {[]string{"RateLimit-Limit", "100;w=21600"}, "", 6 * time.Hour},
		"the second item up to draft 2": {[]string{"RateLimit-Limit", "50, 10;w=1, 50;w=60", "RateLimit-Remaining", "3"}, "", time.Minute},
		"quoted comments of draft 2":    {[]string{"RateLimit-Limit", `10, 10;w=1;comment="a, b", 50;w=60`, "RateLimit-Remaining", "3"}, "", time.Second},
		"the policy of the same limit":  {[]string{"RateLimit-Limit", "100", "RateLimit-Policy", "1000;w=3600, 100;w=60"}, "", time.Minute},
		"the policy of the same name":   {[]string{"RateLimit", `"b";r=5`, "RateLimit-Policy", `"a";q=9;w=1, "b";q=9;w=2`}, "b", 2 * time.Second},
		"a token for a name":            {[]string{"RateLimit", `b;r=5;t=1`, "RateLimit-Policy", `b;q=9;w=2`}, "b", 2 * time.Second},
		"a policy alone":                {[]string{"RateLimit-Policy", `"a";q=9;w=7`}, "a", 7 * time.Second},
		"a name that ends in x":         {[]string{"Index-Limit", "5", "Index-Remaining", "3", "Index-Reset", "9"}, "index", 0},
		"a day of Etsy's":               {[]string{"X-Limit-Per-Day", "5", "X-Remaining-Today", "3"}, "day", 24 * time.Hour},
		"a minute of Xero's":            {[]string{"X-MinLimit-Remaining", "3"}, "min", time.Minute},
		"Together: tokens, joined":      {[]string{"X-TokenLimit-Limit", "5", "X-TokenLimit-Remaining", "3"}, "tokens", 0},
		"GoCardless: underscores":       {[]string{"HTTP_X_RATELIMIT_LIMIT", "5", "HTTP_X_RATELIMIT_REMAINING", "3"}, "", 0},
		"Auth0: a window by its name":   {[]string{"Auth0-Client-Quota-Limit", "b=per_hour;q=100;r=9;t=360"}, "per_hour", time.Hour},
		"the policy's window first":     {[]string{"RateLimit", `"day";r=5`, "RateLimit-Policy", `"day";q=9;w=60`}, "day", time.Minute},
		"Apollo.io: 24 hours":           {[]string{"x-24-hour-requests-left", "7"}, "24-hour", 24 * time.Hour},
		"a month":                       {[]string{"X-RateLimit-Remaining-Month", "7"}, "month", 30 * 24 * time.Hour},
		"urlscan.io: a window's word":   {[]string{"X-Rate-Limit-Limit", "120", "X-Rate-Limit-Remaining", "9", "X-Rate-Limit-Window", "Minute"}, "", time.Minute},
		"a window's strange word":       {[]string{"X-Rate-Limit-Limit", "120", "X-Rate-Limit-Remaining", "9", "X-Rate-Limit-Window", "fortnight"}, "", 0},
		"Tumblr: per and a word":        {[]string{"X-Ratelimit-Perhour-Limit", "1000", "X-Ratelimit-Perhour-Remaining", "9"}, "perhour", time.Hour},
		"a period is no window's word":  {[]string{"X-RateLimit-Limit-Perioddaily", "5"}, "perioddaily", 0},
		"WHOOP: window= for w=":         {[]string{"X-RateLimit-Limit", "100, 100;window=60, 10000;window=86400", "X-RateLimit-Remaining", "98"}, "", time.Minute},
		"EVE Online: units/window":      {[]string{"X-Ratelimit-Group", "fleet", "X-Ratelimit-Limit", "150/15m", "X-Ratelimit-Remaining", "148"}, "fleet", 15 * time.Minute},
		"App Store Connect: by the key": {[]string{"X-Rate-Limit", "user-hour-lim:3500;user-hour-rem:500;"}, "user-hour", time.Hour},
		"HTX: an interval of ms":        {[]string{"ratelimit-limit", "72", "ratelimit-interval", "3000", "ratelimit-remaining", "70"}, "", 3 * time.Second},
		"Elastic: an interval of words": {[]string{"X-RateLimit-Interval", "1 Minute", "X-RateLimit-Limit", "5"}, "", time.Minute},
		"an interval of ISO 8601":       {[]string{"X-RateLimit-Interval", "PT1H", "X-RateLimit-Limit", "5"}, "", time.Hour},
		"an interval in milliseconds":   {[]string{"X-RateLimit-Interval-Milliseconds", "1500", "X-RateLimit-Limit", "5"}, "", 1500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := new(upstream.Reader).Read(response(200, c.headers...), date)
			if got.Name != c.wantName || got.Window != c.wantWindow {
				t.Errorf("got %q and %v, want %q and %v", got.Name, got.Window, c.wantName, c.wantWindow)
			}
		})
	}
}
