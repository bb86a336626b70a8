package storetest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// model is a store on the arithmetic of internal/exact and nothing else.
type model struct {
	mu       sync.Mutex
	keys     map[id]*entry
	tags     int64
	watchers map[*watch]func(scope, key string, c store.Clock)
}

type id struct{ scope, key string }

type entry struct {
	exact.Key
	leases map[string]int64 // the end of each
}

func newModel() *model {
	return &model{keys: map[id]*entry{}, watchers: map[*watch]func(scope, key string, c store.Clock){}}
}

func now() int64 { return time.Now().UnixMicro() }

// entry returns a key, as if it were new when it has lapsed.
func (m *model) entry(k id, now int64) *entry {
	e := m.keys[k]
	if e == nil {
		e = &entry{leases: map[string]int64{}}
		m.keys[k] = e
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

// ticket is a receipt: a part for each key.
type ticket struct {
	*exact.Receipt // of the first
	charges        int
	parts          []part
}

type part struct {
	key     *entry
	charges []int // of the request
	receipt *exact.Receipt
}

func (m *model) Take(ctx context.Context, req store.Request) (store.Decision, error) {
	if err := errors.Join(req.Validate(), ctx.Err()); err != nil {
		return store.Decision{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	t := now()
	var groups []exact.Group
	var entries []*entry
	for i, c := range req.Charges {
		e := m.entry(id{c.Scope, c.Key}, t)
		at := slices.Index(entries, e)
		if at < 0 {
			at = len(entries)
			entries = append(entries, e)
			groups = append(groups, exact.Group{Key: &e.Key, Places: []int{}})
		}
		groups[at].Charges = append(groups[at].Charges, c)
		groups[at].Places = append(groups[at].Places, i)
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
	if d.Allowed && req.Cancelable {
		receipt := &ticket{Receipt: v.Keys[0].Receipt, charges: len(req.Charges)}
		for i := range groups {
			if k := v.Keys[i].Receipt; k != nil {
				receipt.parts = append(receipt.parts, part{entries[i], groups[i].Places, k})
			}
		}
		d.Receipt = receipt
	}
	return d, nil
}

// hold takes a lease, or returns the instant from which there is room for it.
func (e *entry) hold(h store.Hold, now int64) int64 {
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

func (m *model) Cancel(ctx context.Context, receipt any) error { return m.Settle(ctx, receipt, 0) }

func (m *model) Settle(_ context.Context, receipt any, costs ...int64) error {
	t, ok := receipt.(*ticket)
	if !ok {
		return errors.New("not a receipt")
	}
	cost, err := exact.Settled(t.charges, costs)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range t.parts {
		p.key.Settle(p.receipt, now(), func(charge int) int64 { return cost(p.charges[charge]) })
	}
	return nil
}

func (m *model) Reset(_ context.Context, scope, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.keys[id{scope, key}]; e != nil {
		e.Key = exact.Key{}
		clear(e.leases)
	}
	return nil
}

// forget forgets all keys.
func (m *model) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.keys)
}

func (m *model) Brake(_ context.Context, charges []store.Charge, b store.Brake) error {
	if err := errors.Join(b.Validate(), store.Request{Charges: charges}.Validate()); err != nil {
		return err
	}
	c := charges[0]
	for i := range charges {
		if charges[i].Scope != c.Scope || charges[i].Key != c.Key {
			return &store.ConfigError{Field: "charges", Want: "one key", Got: "several"}
		}
	}
	m.mu.Lock()
	move := m.entry(id{c.Scope, c.Key}, now()).Brake(charges, &b, now())
	var all []func(scope, key string, c store.Clock)
	for _, f := range m.watchers {
		all = append(all, f)
	}
	m.mu.Unlock()
	for _, f := range all {
		if move != nil {
			f(c.Scope, c.Key, move)
		}
	}
	return nil
}

type watch struct{ m *model }

func (m *model) WatchBrakes(f func(scope, key string, c store.Clock)) store.Watch {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := &watch{m}
	m.watchers[w] = f
	return w
}

func (w *watch) Covers(time.Time) bool { return true }

func (w *watch) Stop() {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	delete(w.m.watchers, w)
}

func (m *model) Release(_ context.Context, scope, key string, ids ...string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry(id{scope, key}, now())
	for _, id := range ids {
		delete(e.leases, id)
	}
	return nil
}

func (m *model) Renew(_ context.Context, scope, key string, d time.Duration, ids ...string) (lost []string, err error) {
	if err := (store.Hold{Max: 1, ID: "id", Lease: d}).Validate(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	e := m.entry(id{scope, key}, now())
	for _, id := range ids {
		if _, ok := e.leases[id]; !ok {
			lost = append(lost, id)
			continue
		}
		e.leases[id] = now() + d.Microseconds()
	}
	return lost, nil
}

// Keep holds a lease, however many there are.
func (m *model) Keep(scope, key, lease string, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.entry(id{scope, key}, now()).leases[lease] = now() + d.Microseconds()
}
