// Package middleware limits inbound HTTP traffic per user or per API key, for
// net/http and whatever speaks its types; packages weirgin, weirecho and weirgrpc
// mount the same [Config] in gin, echo and gRPC.
//
//	limit, err := middleware.New(middleware.Config{
//		Limiter: limiter,
//		Key:     weir.KeyAPIKey("X-API-Key", secret),
//	})
//	mux.Handle("GET /things/{id}", authenticate(limit(things)))
//
// # Order
//
// What is mounted around a limiter decides whether it limits. Outermost first:
// recovery and logging; CORS, because a browser hides a refusal that lacks
// Access-Control-Allow-Origin (expose RateLimit, RateLimit-Policy and
// Retry-After there if scripts should read them); authentication; the limiter;
// the handler. A key that comes from the route (weir.KeyRoute) needs the
// limiter inside the ServeMux, around single handlers: outside of it no
// pattern has matched yet. With [Config.Settle] what makes answers of errors
// belongs inside the limiter, which else has not seen the status when it settles,
// and so does an http.TimeoutHandler, whose 503 is else none of the handler's.
//
// Where two mounts on the way have one Limiter and find the same key, the outer one
// decides and sets the headers. If that is in Shadow, what passes has no headers.
//
// This is wrong:
//
//	// Incorrect: the limiter runs before authentication.
//	limit, _ := middleware.New(middleware.Config{
//		Limiter: limiter,
//		Key:     weir.KeyHeader("X-User"),
//	})
//	http.ListenAndServe(":80", limit(authenticate(api)))
//
// Nobody has checked X-User where the limiter reads it: a client that writes
// another name into each request is never limited, and one that writes your
// best customer's name uses up the customer's limit. Verify first and hand the
// identity on in the context (weir.KeyContext), or count a credential that is
// checked later by its hash (weir.KeyAPIKey, weir.KeyBearer) and know that an
// invented one is counted as somebody new.
//
// # Keys
//
// The key function is required, and [Config.OnNoKey] decides about requests that
// it finds no usable key for. Without it they are refused. Identity never silently
// becomes an IP address. Behind a proxy weir.KeyRemoteIP sees the proxy, and
// everybody is one client: weir.KeyClientIP is for that.
//
//	// Visitors share one key. A bad identity and a failed lookup are refused.
//	OnNoKey: func(_ *http.Request, err error) middleware.NoKey {
//		if errors.Is(err, weir.ErrNoKey) {
//			return middleware.NoKey{Key: "(visitors)"}
//		}
//		return middleware.NoKey{}
//	},
//
// Think twice before a request that states its identity twice passes: the next
// reader may pick the other value. And if requests without an identity pass
// unlimited, everybody will send such requests.
//
// # Answers
//
// Refusals are application/problem+json (RFC 9457) and tell a client what it can
// act on, never the text of an error:
//
//	429  a limit refused; Retry-After says when the same request succeeds
//	401  the request has no identity
//	403  the key is on Lists.Block
//	400  the request states its identity more than once, or malformed
//	500  the key function or the configuration failed
//	503  no decision could be made and the limiter fails closed, or the
//	     request's own context ended before there was one
//
// Requests without a usable key get another status if OnNoKey chooses one. Their
// problem body has no type of its own, and no Retry-After.
//
// The type of a 429 is quota-exceeded; temporary-reduced-capacity while limits
// are decided without the primary store, or the key is paused; and
// abnormal-usage-detected while a key is blocked by [Config.Penalty]. All are
// never to be stored by a cache.
//
// Sleeping for exactly Retry-After and asking again succeeds if nobody else
// used the key meanwhile. A quota-exceeded without Retry-After will never
// succeed: the cost is over what a limit admits at once.
//
// Rate headers tell the truth of one instant and one client. A shared cache in
// front must not store them: mark such responses private or no-store.
//
// # Ways to use less or more than a refusal
//
// In the order in which a request meets them: [Config.Skip] and preflights;
// [Config.Lists]; [Config.Limits] and [Config.Cost], which say what is charged;
// [Config.Delay], which waits for a slot instead of refusing;
// [Config.Penalty], which counts refusals; [Config.Shadows], which watch what
// was let pass; the handler; and [Config.Settle], which corrects the charge. A
// limit on failed logins, and a short queue in front of it:
//
//	middleware.Config{
//		Limiter: logins, // 5 per minute
//		Key:     weir.KeyRemoteIP(),
//		Settle:  middleware.OnlyFailures,
//		Delay:   middleware.Delay{Max: 2 * time.Second, MaxWaiting: 100},
//	}
//
// # Levels
//
// With [Config.Levels] a request counts against several limits at once, as of a
// user within an organisation within everybody: it passes when all admit it, or is
// charged on none. The client sees the policies of all levels in one list, in the
// order from narrow to wide, and those that refused in violated-policies: name the
// limits after their levels (weir.Limit.WithName), as no two may have one name.
// Retry-After holds for all levels. Decision.Scope names the refusing one to
// OnLimited and the Hook. A redisstore without scripts can't decide levels.
//
// # Found out
//
// When none of the first 100 requests has an identity, the middleware is
// probably mounted before the authentication. That is logged once (slog, level
// error) and told to [Config.OnError] as [ErrNeverIdentified].
//
// # What is passed on
//
// The ResponseWriter is handed on as it came: flushing, hijacking, trailers and
// [http.ResponseController] are what they were. Only [Config.Settle] wraps it, to
// see the response. The wrapper flushes, hijacks and pushes as the server's own
// writers do, and an http.ResponseController reaches all the rest. One ability is
// lost, which net/http keeps to itself: an http.MaxBytesReader no longer closes
// the connection of a client that sends too much. It does where it is made outside
// of the limiter, as by http.MaxBytesHandler.
//
// The request is a shallow copy whose context remembers which limiter counted it
// under which key, so that a second mount on the way charges nothing. A
// request that a handler builds from that context for further work inside the
// process is part of the same call and is not charged again either.
package middleware
