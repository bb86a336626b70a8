package upstream

// isUsual reports whether most responses have a header of this name. None of these is
// about limits. The question takes half the time of a search for words: of 12 usual
// names, 65 ns less (BenchmarkRead).
func isUsual(name string) bool {
	switch name {
	case "Age", "Alt-Svc", "Cache-Control", "Cf-Ray", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Date",
		"Etag", "Expires", "Keep-Alive", "Last-Modified", "Link", "Server", "Set-Cookie", "Strict-Transport-Security",
		"Transfer-Encoding", "Vary", "Via", "X-Content-Type-Options", "X-Frame-Options", "X-Powered-By", "X-Request-Id":
		return true
	}
	return false
}
