package redistest

import "time"

// Fault is what a [Proxy] does to the connections through it. The zero value is
// [Pass].
type Fault struct {
	kind  kind
	delay time.Duration
	bytes int
}

type kind int

const (
	pass kind = iota
	refuse
	blackhole
	delay
	cut
	throttle
	corrupt
)

var (
	// Pass forwards everything at once.
	Pass = Fault{}
	// Refuse resets the open connections and lets nobody listen, so that new
	// ones are refused: a server that is not running.
	Refuse = Fault{kind: refuse}
	// Blackhole accepts connections and swallows what they carry in both
	// directions, also that the server closes one: a broken network. When the
	// fault is over, connections that lost something are reset.
	Blackhole = Fault{kind: blackhole}
)

// Delay forwards each chunk d after it was read, in both directions: a slow
// network. A round trip takes at least 2d longer. What waits already when the
// fault changes waits to its end.
func Delay(d time.Duration) Fault { return Fault{kind: delay, delay: d} }

// CutMidReply closes a connection once n bytes of replies have come through
// since the fault was set, counted for each connection alone: a server that
// dies while it answers. It has done what it was asked by then. With n = 0 the
// connection closes in place of a reply.
func CutMidReply(n int) Fault { return Fault{kind: cut, bytes: n} }

// Throttle lets bytesPerSecond through each connection in each direction: a
// chunk arrives when all of it would have.
func Throttle(bytesPerSecond int) Fault { return Fault{kind: throttle, bytes: bytesPerSecond} }

// Corrupt makes every byte of replies a question mark from the n-th on, counted
// since the fault was set for each connection alone: with n = 0 a reply is none
// by its first byte, later what it holds is damaged.
func Corrupt(n int) Fault { return Fault{kind: corrupt, bytes: n} }

// swallows reports whether what l carries now is lost, and if so marks l.
func (p *Proxy) swallows(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.lossy = l.lossy || p.fault.kind == blackhole
	return p.fault.kind == blackhole
}

// judge decides what becomes of a chunk: how many bytes of it are forwarded,
// after what wait, and whether that is the end of the link.
func (p *Proxy) judge(l *link, chunk []byte, replies bool) (keep int, wait time.Duration, end bool) {
	n := len(chunk)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch f := p.fault; f.kind {
	case blackhole:
		l.lossy = true
		return 0, 0, false
	case delay:
		return n, f.delay, false
	case cut:
		if !replies {
			return n, 0, false
		}
		keep = min(n, f.bytes-l.replied)
		l.replied += keep
		return keep, 0, l.replied >= f.bytes
	case throttle:
		return n, time.Duration(n) * time.Second / time.Duration(f.bytes), false
	case corrupt:
		if replies {
			for i := max(f.bytes-l.replied, 0); i < n; i++ {
				chunk[i] = '?'
			}
			l.replied += n
		}
	}
	return n, 0, false
}
