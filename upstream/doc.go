// Package upstream reads an upstream's limits from its HTTP responses: whether a
// response is a refusal, how long to pause, and the budget closest to its end.
//
//	var reader upstream.Reader
//	signal := reader.Read(resp, time.Now())
//
// # Headers
//
// The dialect [Common] goes by the words in the names of headers, not by a list
// of vendors:
//
//	Header                                   Example                            Of
//	RateLimit, RateLimit-Policy              "day";a=100;w=360 and "day";q=5000 the draft after 11
//	RateLimit, RateLimit-Policy              "day";r=100;t=360 and "day";q=5000 IETF drafts 08 to 11
//	RateLimit, RateLimit-Policy              limit=100, remaining=0, reset=5    IETF draft 07
//	RateLimit-Limit, -Remaining, -Reset      100, 50, 50; Policy: 100;w=60      IETF drafts 03 to 06
//	RateLimit-Limit, -Remaining, -Reset      10, 10;w=1, 50;w=60                IETF drafts up to 02
//	X-RateLimit-*, X-Rate-Limit-*            Limit, Remaining, Used, Reset      GitHub, X, Okta, Discord
//	… with a name of the budget in it        X-RateLimit-Remaining-Tokens       OpenAI, Anthropic, Kong
//	… with any other beginning               Anthropic-RateLimit-Tokens-Limit   HubSpot, Azure, Contentful
//	… with all of a budget in one header     total=100; remaining=0; resets=58  Zendesk, Apple (lim:9;rem:0), Trakt (JSON)
//	… with units and each window's length    100:120,20:1; 150/15m              Riot Games, EVE Online
//	*-Limit-*-Limit, -Remaining, -Reset      X-App-Limit-24hour-Remaining       X, Pocket, EVE Online
//	*-Limit, *-Limit-Info, *-Bucket-Level    32/40, api-usage=18/5000           Shopify, Salesforce, Lightspeed
//	*-Limit-* beside *-Remaining-*           X-Limit-Per-Day, X-Remaining-Today Etsy, Bybit, Nexus Mods
//	*-Quota-Remaining, -Reset, -Limit        b=per_hour;q=2;r=1;t=924           Toggl, Azure Resource Graph, Auth0
//	*-Requests-Left, *-Remaining-Calls       X-Minute-Requests-Left: 49         Apollo, Lusha, ShipBob, The Odds API
//
// The form *-Limit-* beside *-Remaining-* needs a reset or a window as well: X-Pagination-Limit
// and X-Pagination-Remaining alone are no budget.
//
// The words, each with its meaning:
//
//	limit, max, quota, total, capacity,
//	allowed, allotted                     units of a full budget
//	remaining, remain, left, available    units left
//	used, usage, observed, consumed,
//	current, active, running              units used, as count at the end of a name
//	reset, wait, expiry, next, until, ttl time until the budget is renewed
//	window, interval, period              length of the budget
//
// The qu of a policy is the Unit of its budget. The unit "concurrent-requests" counts
// calls under way and is no rate: only a refusal makes it count. Headers with concurrent
// or concurrency in their names have it too (Sentry, Zuora).
//
// # Times
//
// A reset is one of these:
//
//	a number below 500 million    seconds, or milliseconds if the header's name ends so
//	a larger number               a moment since the Unix epoch; its size tells seconds,
//	                              milliseconds, microseconds and nanoseconds apart
//	a number after Reset-After    always a duration
//	6m0s, 00:06:00, PT6M          a duration, also 360 seconds
//	an ISO 8601 time, HTTP date   a moment
//
// Under every dialect, Retry-After is read in all of these forms. So are
// Retry-After-Ms, X-Ms-Retry-After-Ms, X-Retry-After, X-Retry-In, X-RateLimit-Retry-After
// and the like: milliseconds first, then Retry-After itself. Of a list the longest counts.
//
// Bodies are read if Reader.Bodies is set: the beginning of a 400, 403, 418, 420, 429, 503 or
// a 5xx of no standard, for upstreams that say only there how long to wait (Gemini, Telegram), or
// that a limit refused at all (GitHub's secondary limits, Google, Amazon, Meta, Stack Exchange).
//
// # Which limit refused
//
// The Cause of a refusal comes from these, the first that is present:
//
//	RateLimit-Reason, Stripe-Rate-Limited-Reason    jira-burst-based, global-concurrency
//	X-Rate-Limit-Problem, X-Rate-Limit-Type         minute (Xero), application (Riot Games)
//	X-RateLimit-Scope, X-RateLimit-Global           user, shared, global (Discord)
//	X-RateLimit-Resource, RateLimit-Name, …-Group   search (GitHub), a throttle (GitLab), light (RingCentral; …-Category: Zoom)
//	…-Unified-Representative-Claim                  five_hour (Anthropic)
//	a budget with nothing left                      tokens
//	the body                                        "type": "tokens", "global": true
//
// The words before RateLimit that call a budget informational, such as Beta-RateLimit,
// keep it from pausing anything.
//
// # How long to pause
//
// After a refusal the first of these that is known decides:
//
//  1. Retry-After
//  2. the latest reset of the budgets with nothing left
//  3. the latest reset of the budgets without a number of units left
//
// A budget with units left did not refuse, so its reset is no reason to wait. A
// refusal without any of the three has a Pause of 0: the caller has to slow down
// by itself.
//
// On a success, a budget with nothing left pauses until its reset, before the next
// request is refused. A limit of 0 or -1 counts as no limit. A Retry-After greater
// than 0 replaces the reset. Alone it counts for nothing, as some upstreams send it with
// each response. A weir.Transport pauses by a success only if the Budget of the Signal
// has nothing left and is a limit of its own.
//
// # Another dialect
//
// A host whose headers Common does not understand, or misreads, gets a dialect of
// its own: [Fields] if the names of the headers suffice, otherwise any [Dialect].
// An example are resets in milliseconds under a name that does not say so. A Retry-After
// in milliseconds needs Reader.Amend.
package upstream
