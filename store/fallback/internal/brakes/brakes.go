// Package brakes keeps brakes for a store that is away.
package brakes

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/store"
)

// most is the maximum number of keys with pending brakes. Further brakes are dropped.
const most = 4096

// Pending has one brake for each key. The zero value is empty.
type Pending struct {
	mu   sync.Mutex
	list map[keys.Key]pending
	some atomic.Bool // list is not empty
}

type pending struct {
	charges []store.Charge
	brake   store.Brake
	at      time.Time
	lifted  bool // a Lift came before this brake
}

// Some reports whether brakes are pending.
func (p *Pending) Some() bool { return p.some.Load() }

// Has reports whether a brake of a key is pending.
func (p *Pending) Has(key keys.Key) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.list[key]
	return ok
}

// Keep adds a brake of the charges' key. The pause that ends last wins; of all else the
// latest wins.
func (p *Pending) Keep(charges []store.Charge, b store.Brake) {
	key, now := keys.Of(&charges[0]), time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	old, ok := p.list[key]
	if !ok && len(p.list) >= most {
		return
	}
	if ok && !b.Lift {
		b = join(old.brake, b, now.Sub(old.at))
	}
	if p.list == nil {
		p.list = make(map[keys.Key]pending)
	}
	p.list[key] = pending{charges, b, now, b.Lift || old.lifted}
	p.some.Store(true)
}

// join combines a brake with an earlier one.
func join(old, b store.Brake, since time.Duration) store.Brake {
	if left := old.Pause - since; left > b.Pause {
		b.Pause, b.Slack = left, 0
	}
	if !b.Tell && old.Tell {
		b.Tell, b.Gap, b.GapFor = true, old.Gap, max(old.GapFor-since, 0)
	}
	if b.Cut.Unit == 0 {
		b.Cut = old.Cut
	}
	return b
}

// Deliver removes all brakes and calls f with the rest of each. If f fails, the
// undelivered brakes stay, except those of keys with a newer brake.
func (p *Pending) Deliver(f func(charges []store.Charge, b store.Brake) error) {
	p.mu.Lock()
	list := p.list
	p.list = nil
	p.some.Store(false)
	p.mu.Unlock()
	for key, one := range list {
		if one.deliver(f) != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			maps.Copy(list, p.list)
			p.list = list
			p.some.Store(true)
			return
		}
		delete(list, key)
	}
}

func (p pending) deliver(f func([]store.Charge, store.Brake) error) error {
	since := time.Since(p.at)
	if p.lifted && !p.brake.Lift {
		if err := f(p.charges, store.Brake{Lift: true}); err != nil {
			return err
		}
	}
	p.brake.Pause = max(p.brake.Pause-since, 0)
	p.brake.GapFor = max(p.brake.GapFor-since, 0)
	return f(p.charges, p.brake)
}
