// Package middleware limits inbound HTTP traffic per user or per API key, for
// net/http and frameworks with its types. Packages weirgin, weirecho and weirgrpc
// mount the same [Config] in gin, echo and gRPC.
//
//	limit, err := middleware.New(middleware.Config{Limiter: limiter, Key: weir.KeyAPIKey("X-API-Key", secret)})
//	mux.Handle("GET /things/{id}", authenticate(limit(things)))
//
// # Order
//
// The order of handlers decides whether a limiter limits. Outermost first:
//
//	recovery and logging
//	h2c.NewHandler of golang.org/x/net: further in, a connection is a single request
//	CORS: a browser hides a refusal without Access-Control-Allow-Origin, and sends
//	    preflights without a key, which are refused. Expose RateLimit,
//	    RateLimit-Policy and Retry-After there if scripts read them
//	authentication
//	the limiter; with weir.KeyRoute inside the ServeMux, which matches the pattern
//	with Config.Settle: error pages and http.TimeoutHandler, to settle their status
//	the handler
//
// If two mounts on the way have one Limiter, or two of one name on one store, and find
// the same key, the outer one decides and sets the headers. In Shadow it sets none.
// Mounts with different Limiters decide one after the other: an outer one charges
// requests that an inner one refuses. With [Config.Levels] no limiter does.
//
// This is wrong:
//
//	// Incorrect: the limiter runs before authentication.
//	limit, _ := middleware.New(middleware.Config{Limiter: limiter, Key: weir.KeyHeader("X-User")})
//	http.ListenAndServe(":80", limit(authenticate(api)))
//
// The limiter reads an X-User that nothing has checked. A client that writes another
// name into each request is never limited, and a client that writes your best
// customer's name uses up the customer's limit. Verify first and hand the verified
// identity on in the context (weir.KeyContext), or by Set in gin and echo
// (weirgin.Key, weirecho.Key). Keys are compared byte by byte, also where the
// authentication takes two spellings for one user. Or count a credential by its hash before it
// is checked (weir.KeyAPIKey, weir.KeyBearer): an invented one has a limit of its own.
//
// # Keys
//
// The key function is required, and [Config.OnNoKey] decides about requests without
// a usable key. By default they are refused. Identity never silently becomes an IP
// address. Behind a proxy, weir.KeyRemoteIP sees the proxy as the only client; take
// weir.KeyClientIP there.
//
// Think twice before a request that states its identity twice passes: the next
// reader may pick the other value. And if requests without an identity pass
// unlimited, clients will leave it out.
//
// # Answers
//
// Refusals are application/problem+json (RFC 9457). They never show the text of an
// error:
//
//	429  a limit refused; Retry-After says when the same request succeeds
//	401  the request has no identity
//	403  the key is on Lists.Block
//	400  the request states its identity more than once, or malformed
//	500  the key function or the configuration failed
//	503  the store failed and the limiter fails closed, or the request's own
//	     context ended before the decision
//
// Requests without a usable key get another status if OnNoKey chooses one. Their
// problem body has no type of its own, and no Retry-After.
//
// The type of a 429 is quota-exceeded; temporary-reduced-capacity while limits are
// decided without the primary store, or the key is paused; and
// abnormal-usage-detected while [Config.Penalty] blocks the key. Caches must not
// store refusals, and the headers say so.
//
// Sleeping for exactly Retry-After and asking again succeeds if nothing else used
// the key meanwhile. A quota-exceeded without Retry-After never succeeds: the cost is
// over the units that a limit admits at once.
//
// Rate headers are true for one instant and one client. A shared cache in front must
// not store them: mark such responses private or no-store.
//
// # Ways to use less or more than a refusal
//
// A request meets, in this order: [Config.Skip] and [Config.PassPreflights];
// [Config.Lists]; [Config.Limits] and [Config.Cost]; [Config.Delay], which waits for
// a slot instead of refusing; [Config.Penalty], which counts refusals;
// [Config.Shadows], which watch admitted requests; the handler; and [Config.Settle],
// which corrects the charge. A limit on failed logins, and a short queue in front:
//
//	middleware.Config{
//		Limiter: logins, // 5 per minute
//		Key:     weir.KeyRemoteIP(),
//		Settle:  middleware.OnlyFailures,
//		Delay:   middleware.Delay{Max: 2 * time.Second, MaxWaiting: 100},
//	}
//
// # The handler
//
// Handlers get the ResponseWriter as it came: flushing, hijacking, trailers and
// [http.ResponseController] work. Only [Config.Settle] wraps it, to see the response.
// The wrapper flushes, hijacks and pushes as the server's own writers do, and an
// http.ResponseController reaches the rest. Two abilities are lost: files are copied without
// sendfile, and an http.MaxBytesReader inside the limiter does not close the connection
// of a client that sends too much. One outside does, as http.MaxBytesHandler's.
//
// Handlers get a shallow copy of the request. Its context remembers which limiter
// counted it under which key, so that a second mount on the way charges nothing. A
// request that a handler builds from that context for further work inside the
// process is part of the same call, and is not charged again either.
package middleware
