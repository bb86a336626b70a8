package redistest

import "time"

// Fault is a behaviour of a [Proxy] towards its connections. The zero value is [Pass].
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
	// Refuse resets open connections and refuses new ones, like a server that is not
	// running.
	Refuse = Fault{kind: refuse}
	// Blackhole accepts connections and swallows all bytes in both directions, and the
	// server's closing, like a broken network. The end of the fault resets connections
	// that lost bytes.
	Blackhole = Fault{kind: blackhole}
)

// Delay forwards each chunk d after reading it, in both directions, like a slow network.
// A round trip takes at least 2d longer. A change of the fault does not shorten delays
// under way.
func Delay(d time.Duration) Fault { return Fault{kind: delay, delay: d} }

// CutMidReply closes a connection after n bytes of replies, like a server that dies while
// it answers: it has run the command by then. Each connection counts for itself, from the
// start of the fault. With n = 0 the connection closes in place of a reply.
func CutMidReply(n int) Fault { return Fault{kind: cut, bytes: n} }

// Throttle limits each connection to bytesPerSecond in each direction. A chunk arrives as
// a whole, at the time of its last byte.
func Throttle(bytesPerSecond int) Fault { return Fault{kind: throttle, bytes: bytesPerSecond} }

// Corrupt replaces the bytes of replies with question marks, from the n-th byte on. Each
// connection counts for itself, from the start of the fault. With n = 0 a reply loses its
// type; with a larger n its content is damaged.
func Corrupt(n int) Fault { return Fault{kind: corrupt, bytes: n} }

// swallows reports whether l loses its bytes now, and if so marks l.
func (p *Proxy) swallows(l *link) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	l.lossy = l.lossy || p.fault.kind == blackhole
	return p.fault.kind == blackhole
}

// judge decides about a chunk: how many bytes are forwarded after which wait, and whether
// the link ends then.
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
