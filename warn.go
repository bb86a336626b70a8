package weir

import (
	"log/slog"
	"time"
)

// warnSlow logs that a call of a limiter waits for long.
func warnSlow(limiter string, waited time.Duration) {
	slog.Warn("weir: a call has waited for over a minute; MaxWait or the context's deadline bounds waits",
		"limiter", limiter, "waited", readable(waited))
}

// warnStuck logs that no call in flight has ended for longer than a lease lives.
func warnStuck(limiter string, inFlight int64, lease time.Duration) {
	slog.Warn("weir: this process holds all calls in flight of a key, each for longer than Config.Lease; are leases released and response bodies closed?",
		"limiter", limiter, "in_flight", inFlight, "lease", readable(lease))
}
