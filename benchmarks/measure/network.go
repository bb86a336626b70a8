package measure

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/data"
	"github.com/goweir/weir/internal/redistest"
)

// Link is a network between callers and servers.
type Link struct {
	RTT          time.Duration // 0: loopback
	Jitter       float64       // as a part of RTT
	TLS, Cluster bool
}

// RTTs are the round-trip times of a run of full size.
var RTTs = []time.Duration{200 * time.Microsecond, time.Millisecond, 4 * time.Millisecond, 16 * time.Millisecond}

// String names the network.
func (l Link) String() string {
	if l.RTT == 0 {
		return "loopback"
	}
	name := fmt.Sprintf("RTT %v ms", millis(l.RTT))
	if l.Jitter > 0 {
		name += fmt.Sprintf(" ± %v %%", 100*l.Jitter)
	}
	if l.TLS {
		name += ", TLS"
	}
	if l.Cluster {
		name += ", cluster"
	}
	return name
}

// Plain reports whether the link has nothing but a round-trip time.
func (l Link) Plain() bool { return l == Link{RTT: l.RTT} }

// Calls names a case of paced calls or of full load.
func (l Link) Calls(keys, callers int) string {
	return l.String() + ": " + data.Decisions(keys, callers, true)
}

// pace is the mean interval of a caller in Network. poolSize is the number of connections
// of each go-redis client: enough for one per caller.
const (
	pace     = 10 * time.Millisecond
	poolSize = 256
)

// networkLoad is a load over a link.
type networkLoad struct {
	keys    int
	callers []int
	full    bool // callers don't pause
}

// Many is the number of keys in cases with different keys. Crowd is the number of callers
// that don't pause.
const Many, Crowd = 10_000, 256

// Paced are the numbers of callers that pause.
var Paced = []int{1, 4, 20, 100}

func loadsOf(r *Run, l Link) []networkLoad {
	switch {
	case r.Quick:
		return []networkLoad{{1, []int{4}, false}, {Many, []int{4}, l.RTT == 0}}
	case l.RTT == 0:
		return []networkLoad{{Many, []int{8, 64, 256}, true}}
	case !l.Plain():
		return []networkLoad{{Many, []int{20}, false}, {1, []int{20}, false}}
	}
	loads := []networkLoad{{Many, Paced, false}, {1, Paced[1:], false}}
	if l.RTT == time.Millisecond || l.RTT == 4*time.Millisecond {
		loads = append(loads, networkLoad{Many, []int{Crowd}, true}, networkLoad{1, []int{Crowd}, true})
	}
	return loads
}

// Links returns all networks of a run.
func Links(quick bool) []Link {
	all, rtts := []Link{{}}, RTTs
	if quick {
		rtts = RTTs[:1]
	}
	for _, rtt := range rtts {
		all = append(all, Link{RTT: rtt}, Link{RTT: rtt, Jitter: 0.1})
	}
	return append(all, Link{RTT: time.Millisecond, TLS: true}, Link{RTT: time.Millisecond, Cluster: true})
}

// Network measures decisions by servers behind a network. The network is another process,
// which delays the bytes.
func Network(r *Run) {
	s := new(scope)
	defer s.close()
	server, at := s.server()
	for _, l := range Links(r.Quick) {
		own, at, servers := new(scope), at, []*redistest.Server{server}
		err := caught(func() error {
			defer own.close()
			if l.Cluster {
				cluster := redistest.StartCluster(own)
				at, servers = contender.Servers{Addrs: cluster.Addrs, Cluster: true}, cluster.Nodes
			}
			at = own.behind(l, at)
			for _, n := range loadsOf(r, l) {
				networkRun(r, l, n, at, servers)
			}
			return nil
		})
		if err != nil {
			r.fail(data.Network, l.String(), "", err)
		}
	}
}

// behind returns the servers behind a link.
func (s *scope) behind(l Link, at contender.Servers) contender.Servers {
	at.PoolSize = poolSize
	if l.RTT == 0 {
		return at
	}
	proxies := s.wire(wire{Targets: at.Addrs, Delay: l.RTT / 2, Jitter: l.Jitter, TLS: l.TLS})
	if l.Cluster {
		at.Via = make(map[string]string)
		for i, addr := range at.Addrs {
			at.Via[addr] = proxies[i]
		}
		return at
	}
	at.Addrs, at.TLS = proxies, l.TLS
	return at
}

// takesPart reports whether a contender takes part in a load. Variants show the effect of
// concurrent round trips on different keys.
func (n networkLoad) takesPart(l Link, c contender.Contender, callers int) bool {
	switch {
	case c.Network == nil:
		return false
	case c.Variant:
		return l.Plain() && n.keys > 1 && callers > 1
	}
	return true
}

// networkRun opens all contenders of a load, then measures them in turn.
func networkRun(r *Run, l Link, n networkLoad, at contender.Servers, servers []*redistest.Server) {
	s := new(scope)
	defer s.close()
	for _, server := range servers {
		flush(s, server)
	}
	keys := makeKeys(n.keys)
	open := make(map[string]contender.Decide)
	for _, callers := range n.callers {
		name := l.Calls(n.keys, callers)
		r.Log("  %s", name)
		those := r.those(func(c contender.Contender) bool { return n.takesPart(l, c, callers) })
		r.passes(func() {
			for _, of := range those {
				if r.gaveUp(data.Network, name, of.Name) {
					continue
				}
				err := within(30*time.Second, func(context.Context) (err error) {
					if open[of.Name] == nil {
						if open[of.Name], err = of.Network(s, contender.Roomy(n.keys), at); err != nil {
							return err
						}
					}
					return networkOnce(r, name, of, open[of.Name], load{keys: keys, callers: callers}, n.full, l)
				})
				if err != nil {
					r.fail(data.Network, name, of.Name, err)
				}
			}
		})
	}
}

// networkOnce measures a contender, after calls that connect.
func networkOnce(r *Run, name string, of contender.Contender, decide contender.Decide, l load, full bool, link Link) error {
	warm := l
	warm.lasts = size(r, 20*time.Millisecond+4*link.RTT, 5*time.Millisecond)
	if link.TLS {
		warm.lasts *= 20 // Handshakes take long.
	}
	drive(decide, warm)
	l.timed, l.lasts = true, size(r, 400*time.Millisecond, 30*time.Millisecond)
	if !full {
		// Few callers need more time for enough calls.
		l.every, l.lasts = pace, size(r, max(300*time.Millisecond, time.Second/time.Duration(l.callers)), 50*time.Millisecond)
	}
	o := drive(decide, l)
	if err := o.check(true); err != nil {
		return err
	}
	add := func(metric string, value float64) { r.add(data.Network, name, of.Name, metric, value) }
	if full {
		add(data.PerSecond, o.decided()/o.took.Seconds())
	} else {
		add(data.P50, micros(o.calls.quantile(0.5)))
		add(data.P90, micros(o.calls.quantile(0.9)))
	}
	add(data.Allocs, math.Round(10*float64(o.mallocs)/o.decided())/10)
	add(data.Errors, 100*float64(o.failed)/(o.decided()+float64(o.failed)))
	return nil
}
