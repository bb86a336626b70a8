// Package modelstore is a store for tests: the arithmetic of internal/exact behind one
// lock. It can lose keys and restore them.
package modelstore

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/internal/keys"
	"github.com/goweir/weir/internal/watchers"
	"github.com/goweir/weir/store"
)

// Store is a store for tests. Tests may lock Mu and change Keys.
type Store struct {
	Mu       sync.Mutex
	Keys     map[ID]*Entry
	tags     int64
	watchers watchers.Set
}

// ID is a key in a scope.
type ID struct{ Scope, Key string }

// Entry is a key.
type Entry struct {
	exact.Key
	Loss
	leases map[string]int64 // the end of each
}

// New returns a store without keys.
func New() *Store {
	return &Store{Keys: map[ID]*Entry{}}
}

// Now is the time of the store, in microseconds since the Unix epoch.
func Now() int64 { return time.Now().UnixMicro() }

// Entry returns a key, as if it were new when it has lapsed.
func (m *Store) Entry(k ID, now int64) *Entry {
	e := m.Keys[k]
	if e == nil {
		e = &Entry{leases: map[string]int64{}}
		m.Keys[k] = e
	}
	if e.Lapse() <= now {
		e.Key = exact.Key{}
	}
	for id, end := range e.leases {
		if end <= now {
			delete(e.leases, id)
		}
	}
	return e
}

// Receipt is a receipt: a part for each key.
type Receipt struct {
	*exact.Receipt // of the first
	charges        int
	parts          []part
}

type part struct {
	key     *Entry
	receipt *exact.Receipt
}

func (m *Store) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if err := errors.Join(req.Validate(), ctx.Err()); err != nil {
		return store.Decision{}, err
	}
	for i := range req.Restore {
		if _, err := m.Restore(ctx, req.Restore[i]); err != nil {
			return store.Decision{}, err
		}
	}
	m.Mu.Lock()
	defer m.Mu.Unlock()
	t := Now()
	var groups []exact.Group
	var entries []*Entry
	for i, c := range req.Charges {
		e := m.Entry(ID{c.Scope, c.Key}, t)
		at := slices.Index(entries, e)
		if at < 0 {
			at = len(entries)
			entries = append(entries, e)
			groups = append(groups, exact.Group{Key: &e.Key})
		}
		groups[at].Charges = append(groups[at].Charges, c)
		groups[at].Found.Places = append(groups[at].Found.Places, i)
	}
	for i := range req.Seen {
		c := &req.Charges[i]
		if m.Keys[ID{c.Scope, c.Key}].LostSince(req.Seen[i].At, t) {
			return store.Decision{}, store.ErrLost
		}
	}
	tag := int64(0)
	if req.Cancelable {
		m.tags++
		tag = m.tags
	}
	var room func() int64
	if req.Hold.Asked() {
		room = func() int64 { return entries[0].hold(req.Hold, t) }
	}
	outcomes := make([]exact.Outcome, len(req.Charges))
	var v exact.Verdict
	exact.Take(&req, groups, outcomes, &v, t, tag, room)
	d := exact.Decide(&req, &v, outcomes)
	for _, e := range entries {
		if e.Birth == 0 && e.Born != 0 {
			e.Birth = t
		}
	}
	for i := range req.Seen {
		c := &req.Charges[i]
		e := m.Keys[ID{c.Scope, c.Key}]
		req.Seen[i] = store.Seen{At: store.Instant(t), Used: e.used(&c.Limit, t)}
		if d.Delay > 0 {
			req.Seen[i].Last = store.Instant(v.Slot)
		}
	}
	if d.Allowed && req.Cancelable {
		receipt := &Receipt{Receipt: v.Keys[0].Receipt, charges: len(req.Charges)}
		for i := range groups {
			if k := v.Keys[i].Receipt; k != nil {
				receipt.parts = append(receipt.parts, part{entries[i], k})
			}
		}
		d.Receipt = receipt
	}
	return d, nil
}

// hold takes a lease, or returns the instant from which there is room for it.
func (e *Entry) hold(h store.Hold, now int64) int64 {
	var ends []int64
	for _, end := range e.leases {
		ends = append(ends, end)
	}
	slices.Sort(ends)
	if int64(len(ends)) >= h.Max {
		return ends[int64(len(ends))-h.Max]
	}
	e.leases[h.ID] = now + h.Lease.Microseconds()
	return 0
}

func (m *Store) Cancel(ctx context.Context, receipt any) error { return m.Settle(ctx, receipt, 0) }

func (m *Store) Settle(_ context.Context, receipt any, costs ...int64) error {
	t, ok := receipt.(*Receipt)
	if !ok {
		return errors.New("not a receipt")
	}
	cost, err := exact.Settled(t.charges, costs)
	if err != nil {
		return err
	}
	m.Mu.Lock()
	defer m.Mu.Unlock()
	for _, p := range t.parts {
		p.key.Settle(p.receipt, Now(), cost)
	}
	return nil
}

func (m *Store) Reset(_ context.Context, scope, key string) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	e := m.Entry(ID{scope, key}, Now())
	e.Key, e.Loss = exact.Key{}, Loss{Birth: Now(), WasReset: true, Added: e.Added}
	clear(e.leases)
	return nil
}

// Forget forgets all keys.
func (m *Store) Forget() {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	clear(m.Keys)
}

func (m *Store) Brake(_ context.Context, charges []store.Charge, b store.Brake) error {
	if err := keys.CheckBrake(charges, &b); err != nil {
		return err
	}
	c := &charges[0]
	m.Mu.Lock()
	e := m.Entry(ID{c.Scope, c.Key}, Now())
	log := e.Log
	if v := e.Clock.Now(Now()); e.Promised > v { // Others may have slots that the log does not know.
		e.Log = exact.Log{Entries: []exact.Entry{{At: v + 1, Sum: 1}}}
	}
	move := e.Key.Brake(charges, &b, Now())
	e.Log = log
	m.Mu.Unlock()
	if move != nil {
		m.watchers.Tell(c.Scope, c.Key, move)
	}
	return nil
}

func (m *Store) WatchBrakes(f func(scope, key string, c store.Clock)) store.Watch {
	return m.watchers.Add(f)
}

func (m *Store) Release(_ context.Context, scope, key string, ids ...string) error {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	e := m.Entry(ID{scope, key}, Now())
	for _, id := range ids {
		delete(e.leases, id)
	}
	return nil
}

func (m *Store) Renew(_ context.Context, scope, key string, d time.Duration, ids ...string) (lost []string, err error) {
	if err := (store.Hold{Max: 1, ID: "id", Lease: d}).Validate(); err != nil {
		return nil, err
	}
	m.Mu.Lock()
	defer m.Mu.Unlock()
	e := m.Entry(ID{scope, key}, Now())
	for _, id := range ids {
		if _, ok := e.leases[id]; !ok {
			lost = append(lost, id)
			continue
		}
		e.leases[id] = Now() + d.Microseconds()
	}
	return lost, nil
}

// Keep holds a lease, however many there are.
func (m *Store) Keep(scope, key, lease string, d time.Duration) {
	m.Mu.Lock()
	defer m.Mu.Unlock()
	m.Entry(ID{scope, key}, Now()).leases[lease] = Now() + d.Microseconds()
}

// First returns the first key of the request.
func (r *Receipt) First() *Entry { return r.parts[0].key }
