package middleware

// HeaderStyle is a family of rate headers.
type HeaderStyle uint8

const (
	// HeadersDraft11 sets RateLimit-Policy and RateLimit, as in
	// draft-ietf-httpapi-ratelimit-headers-11: every limit of the key in order,
	// added to what another limiter on the way has set.
	//
	// A policy's q and w read "q units in w seconds", and a client that keeps
	// to that is never refused. Of a window q is the rate and w the window. Of
	// a GCRA limit q is the burst and w the time that refills it, which is the
	// limit's rate said in bursts, and Rate and Period where the burst is the
	// rate. So r is never above q, nor t above w, unless the key is paused or
	// Settle has charged it more than there was.
	//
	// Of a SlidingCounter w is the window too, which is what the draft means. But
	// what was taken in one window counts on through the next, less and less: a
	// client that keeps to q in w may be refused all the same, and t is up to
	// twice w.
	//
	// w is rounded up to whole seconds, which is the safe side; below one second
	// that would say something else entirely, and w, which is optional, is left
	// out. r is what remains, t the time until the limit is as if never used,
	// rounded up. On a refusal Retry-After takes precedence over t, as the draft
	// has it.
	HeadersDraft11 HeaderStyle = iota
	// HeadersX sets X-RateLimit-Limit, X-RateLimit-Remaining and
	// X-RateLimit-Reset, the last in seconds from now, of the binding limit
	// alone. Where several limiters are on the way, the one that refuses is
	// shown, otherwise the one with the least remaining.
	HeadersX
	// HeadersXEpoch is HeadersX with an X-RateLimit-Reset in seconds since 1970
	// UTC, by this process's clock.
	HeadersXEpoch
	// HeadersDraft6 sets RateLimit-Limit, RateLimit-Remaining and
	// RateLimit-Reset (seconds from now) of the binding limit, as HeadersX does,
	// and RateLimit-Policy with every limit in the form of that draft, as
	// `2;w=60`: for clients that are not as far as HeadersDraft11.
	HeadersDraft6
	// HeadersNone sets none.
	HeadersNone
)
