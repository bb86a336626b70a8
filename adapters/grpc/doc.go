// Package weirgrpc mounts the limits of package middleware in gRPC. It is a
// module of its own, so that other users of weir don't get grpc-go.
//
//	limits, err := weirgrpc.NewServer(middleware.Config{
//		Limiter: limiter,
//		Key:     weir.KeyBearer(secret),
//		Skip:    weirgrpc.Infrastructure,
//	})
//	grpc.NewServer(
//		grpc.ChainUnaryInterceptor(authenticate, limits.Unary),
//		grpc.ChainStreamInterceptor(authenticateStream, limits.Stream),
//	)
//
// Everything is decided there; read its documentation on order and keys first.
// The limiter comes after the authentication.
//
// # Calls are requests
//
// A gRPC call is an HTTP/2 request, and that is how the functions of the Config
// see it: a POST whose URL.Path is the full method, "/package.Service/Method",
// whose Header is the metadata, RemoteAddr the peer's address, Host the
// authority, TLS the state of the connection, and whose context is the call's.
// So every [weir.KeyFunc] works, and gives a caller of your HTTP API and of your
// gRPC API the same key: with one Limiter they share one allowance.
//
//	weir.KeyContext(user)                 an identity from an interceptor further out
//	weir.KeyBearer(secret)                the metadata authorization: Bearer …
//	weir.KeyAPIKey("x-api-key", secret)   a credential in the metadata
//	weir.KeyHeader("x-user")              metadata that a trusted proxy sets
//	weir.KeyRemoteIP()                    the peer's address, IPv6 by its /64
//	weir.KeyRoute()                       "POST /package.Service/Method"
//
// KeyRoute finds nothing on streams that a grpc.UnknownServiceHandler serves,
// where the client can make up any method. The request has no body: [Message]
// has the message.
//
// # Answers
//
// A refusal is a status, whose message never holds the text of an error:
//
//	RESOURCE_EXHAUSTED  a limit refused
//	UNAUTHENTICATED     the call has no identity
//	PERMISSION_DENIED   the key is on Lists.Block
//	INVALID_ARGUMENT    the call states its identity more than once, or malformed
//	INTERNAL            the key function or the configuration failed
//	UNAVAILABLE         no decision could be made and the limiter fails closed
//	CANCELLED, DEADLINE_EXCEEDED
//	                    the call ended before there was a decision
//
// RESOURCE_EXHAUSTED has the details google.rpc.RetryInfo, with exactly the time
// after which the same call succeeds if nothing else uses the key meanwhile, and
// google.rpc.QuotaFailure, with a violation for each limit that refuses: its
// subject is "limiter:" and the name of its Limiter, its quota_id the limit's name.
// The key is not shown. A call that can never succeed, because its cost is over the
// units that a limit admits at once, has no RetryInfo. A call of a paused key
// violates no limit.
//
// The rate headers of Config.Headers, Retry-After included, are in the response's
// header metadata, in lower case, of refusals too. Where two limiters are on the
// way there are two values of each, the outer's first.
//
// # Streams
//
// A stream is charged when it is opened, with [Server.Stream], or for each of
// its messages too, with [Server.StreamMessages]. With Config.Settle an
// Outcome's Status is the HTTP status that google.rpc.Code gives for the call's
// code, so that middleware.OnlyFailures and OnlySuccesses work as over HTTP. Bytes
// is the size of the protobuf messages sent; other messages count none. A stream
// with messages sent is a success, 200, if its client leaves or lets it run out of
// time. So is a stream that ends with the refusal of a later message.
//
// # Outbound
//
// [Client] has the interceptors for calls that a program makes. They wait for their
// turn, and heed a server's RetryInfo.
package weirgrpc
