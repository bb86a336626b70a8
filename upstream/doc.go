// Package upstream reads what the HTTP response of an upstream says of its
// limits: that it refused, for how long nothing must be sent, and what is left
// of the budget that is closest to its end.
//
//	var reader upstream.Reader
//	signal := reader.Read(resp, time.Now())
//
// # What is understood
//
// The dialect [Common] goes by the words in the names of headers, not by a list
// of vendors:
//
//	Header                                   Example                            Of
//	RateLimit, RateLimit-Policy              "day";r=100;t=360 and "day";q=5000 IETF drafts 08 to 11
//	RateLimit, RateLimit-Policy              limit=100, remaining=0, reset=5    IETF draft 07
//	RateLimit-Limit, -Remaining, -Reset      100, 50, 50; Policy: 100;w=60      IETF drafts 03 to 06
//	RateLimit-Limit, -Remaining, -Reset      10, 10;w=1, 50;w=60                IETF drafts up to 02
//	X-RateLimit-*, X-Rate-Limit-*            Limit, Remaining, Used, Reset      GitHub, X, Okta, Discord
//	… with a name of the budget in it        X-RateLimit-Remaining-Tokens       OpenAI, Anthropic, Kong
//	… with any other beginning               Anthropic-RateLimit-Tokens-Limit   HubSpot, Azure, Contentful
//	… with all of a budget in one header     total=100; remaining=0; resets=58  Zendesk
//	*-Limit-*-Limit, -Remaining, -Reset      X-App-Limit-24hour-Remaining       X, Pocket
//	*-Limit, *-Limit-Info                    32/40, api-usage=18/5000           Shopify, Salesforce
//
// Words for the limit are limit, max, quota, total, capacity; for what is left
// remaining, remain, left, available; for what is used used, usage, observed,
// consumed; for the renewal reset; for how long a budget lasts window, interval,
// period.
//
// What a policy counts, its qu, is the Unit of the budget. One that counts calls
// under way ("concurrent-requests") is no rate: only a refusal speaks of it.
//
// A reset is a number, a duration such as 6m0s, an ISO 8601 time or an HTTP
// date. A number is seconds, or milliseconds if the name ends so; 500 million
// seconds and more are a moment since the Unix epoch, in seconds, milliseconds,
// microseconds or nanoseconds by its size, unless the name says Reset-After.
//
// Retry-After is read in all of these forms too, whatever the dialect, and so
// are Retry-After-Ms, X-Ms-Retry-After-Ms, X-Retry-After, X-RateLimit-Retry-After
// and the like: milliseconds first, then Retry-After itself.
//
// Bodies are not read: a pause that is only there (Telegram, GraphQL) is not
// seen.
//
// # How long to pause
//
// After a refusal Retry-After decides. Without it, the reset of whatever budget
// has nothing left does, of several the latest; and without such a budget, the
// reset of one that does not say what is left. Units that are left say that
// another limit refused, so their reset is no reason to wait. A refusal that
// says nothing has a Pause of 0: the caller has to slow down by itself.
//
// On a success a budget with nothing left pauses until its reset, before the
// next request is refused, but not one whose limit is 0, as where there is
// none. A Retry-After greater than 0 then replaces the reset; alone it counts
// for nothing, as some upstreams send it with each response.
//
// # Another dialect
//
// What Common does not understand, or understands wrongly (an upstream whose
// resets are milliseconds, but do not say so), a dialect does that is named for
// the host: [Fields] where the names of the headers suffice, any other [Dialect]
// where they do not.
package upstream
