package middleware

// Lists are keys that no limit is asked about. Their functions get the key that
// Config.Key returned, which for an API key is the hash, or NoKey.Key. They must be
// quick, and are called from many goroutines at once. A map that never changes, or
// an atomic pointer to one, serves. Nil: no key is listed.
type Lists struct {
	// Allow reports whether a key passes unlimited, at no cost, without rate headers.
	Allow func(key string) bool
	// Block reports whether a key is refused with 403. It comes before Allow.
	Block func(key string) bool
}

// Keys returns a function for Lists that holds exactly these keys.
func Keys(keys ...string) func(key string) bool {
	set := make(map[string]bool, len(keys))
	for _, key := range keys {
		set[key] = true
	}
	return func(key string) bool { return set[key] }
}
