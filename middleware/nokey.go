package middleware

// NoKey decides about a request without a usable key. The zero value refuses it
// with the status that [Config].OnNoKey names. Key goes before Pass, and Pass
// before Status.
type NoKey struct {
	// Key counts the request under this key, which all such requests share: one
	// client can use it up for all. Choose a key that no identity of yours can be.
	Key string
	// Pass lets the request pass without any limit. Every client can send such
	// requests, so that something else must limit them.
	Pass bool
	// Status refuses the request with this status, of 400 to 599, without a
	// Retry-After. Another one is a mistake and answered with 500.
	Status int
}
