package fallback

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/maphash"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// memory has an entry for each key of this process. An entry takes about 110 bytes, with
// one limit and a key of 12 bytes.
type memory struct {
	shards [64]shard
	seed   maphash.Seed
	secret [32]byte // for the hashes of long keys
	most   int      // maximum of entries in a shard
	limits known
	name   string // of this process, in the IDs of spendings
	ids    atomic.Int64
}

type shard struct {
	mu      sync.Mutex
	entries map[uint64]*entry
	_       [40]byte // Each shard fills a cache line.
}

// maxText is the maximum length of a key that is kept as it is.
const maxText = 120

// newLooks is the number of entries that a new key looks at, to drop lapsed ones.
const newLooks = 4

func (t *memory) open(maxKeys int) {
	t.seed, t.most = maphash.MakeSeed(), max(maxKeys/len(t.shards), 1)
	t.name = rand.Text()[:12] + "-"
	rand.Read(t.secret[:])
}

func (t *memory) id() string { return t.name + strconv.FormatInt(t.ids.Add(1), 36) }

// lock locks the shard of a key, and returns it with the key's hash.
func (t *memory) lock(scope, key string) (*shard, uint64) {
	h := maphash.String(t.seed, key) ^ 3*maphash.String(t.seed, scope)
	sh := &t.shards[h%64]
	sh.mu.Lock()
	return sh, h
}

// text returns the stored form of a key. A long key becomes a hash, which callers can't
// guess.
func (t *memory) text(key string) string {
	if len(key) <= maxText {
		return strings.Clone(key) // key may be part of a far longer string.
	}
	h := sha256.New()
	h.Write(t.secret[:])
	h.Write([]byte(key))
	return "\x00" + string(h.Sum(nil))
}

// hashed reports whether a stored text is the hash of a long key.
func hashed(text string) bool { return len(text) == 1+sha256.Size && text[0] == 0 }

func (e *entry) is(t *memory, scope, key string) bool {
	return e.limits.scope == scope && (e.key == key || len(key) > maxText && e.key == t.text(key))
}

// find returns the entry of a key, or nil. The shard is locked.
func (t *memory) find(sh *shard, h uint64, scope, key string) *entry {
	if e := sh.entries[h]; e != nil && e.is(t, scope, key) {
		return e
	}
	return nil
}

// entry returns the entry of the charges' key, with their limits. It returns nil for a
// new key if the shard is full. The shard is locked.
func (t *memory) entry(sh *shard, h uint64, charges []store.Charge, now int64) *entry {
	c := &charges[0]
	e := t.find(sh, h, c.Scope, c.Key)
	switch {
	case e != nil && e.limits.are(charges):
		return e
	case e != nil:
		e.be(t.limits.of(charges))
		return e
	}
	looks := newLooks
	for other, e := range sh.entries {
		if looks--; looks < 0 {
			break
		}
		if e.idle(now) {
			delete(sh.entries, other)
		}
	}
	if len(sh.entries) >= t.most {
		return nil
	}
	e = &entry{key: t.text(c.Key)}
	e.be(t.limits.of(charges))
	if sh.entries == nil {
		sh.entries = make(map[uint64]*entry)
	}
	sh.entries[h] = e
	return e
}

// recall sets the time of the primary's last answer for each charge's key. It leaves out
// answers that lapse before until, and keys that another call restores now. owes reports
// whether the primary lacks units, or a restore is under way.
func (t *memory) recall(charges []store.Charge, seen []store.Seen, until int64) (owes bool) {
	for i := range charges {
		c := &charges[i]
		seen[i] = store.Seen{}
		if i > 0 && c.Key == charges[i-1].Key && c.Scope == charges[i-1].Scope {
			seen[i] = seen[i-1]
			continue
		}
		sh, h := t.lock(c.Scope, c.Key)
		if e := t.find(sh, h, c.Scope, c.Key); e != nil {
			sending := e.more != nil && e.more.sending != nil
			owes = owes || e.owes() || e.lost() || sending
			if e.live(until) && !sending {
				seen[i].At = store.Instant(e.at)
			}
		}
		sh.mu.Unlock()
	}
	return owes
}

// lose notes that the primary may have lost its states of the charges' keys. The next
// call restores them in its one round trip: a budget may allow no more.
func (t *memory) lose(charges []store.Charge, seen []store.Seen) {
	for i := range charges {
		c := &charges[i]
		sh, h := t.lock(c.Scope, c.Key)
		if e := t.find(sh, h, c.Scope, c.Key); e != nil && e.at > 0 && e.at == int64(seen[i].At) {
			e.extra().lost = e.at
		}
		sh.mu.Unlock()
	}
}

// learn stores an answer of the primary.
func (t *memory) learn(charges []store.Charge, seen []store.Seen, now int64) {
	t.each(charges, seen, func(charges []store.Charge, seen []store.Seen) {
		if seen[0].At == 0 {
			return
		}
		sh, h := t.lock(charges[0].Scope, charges[0].Key)
		defer sh.mu.Unlock()
		if e := t.entry(sh, h, charges, now); e != nil {
			e.told(seen)
		}
	})
}

// each calls f once per key, with the key's charges and its part of the answer.
func (t *memory) each(charges []store.Charge, seen []store.Seen, f func([]store.Charge, []store.Seen)) {
	if oneKey(charges) {
		f(charges, seen)
		return
	}
	for first := range charges {
		places := group(charges, first)
		if places == nil {
			continue
		}
		var said []store.Seen
		for _, i := range places {
			said = append(said, seen[i])
		}
		f(pick(charges, places), said)
	}
}

// spend notes charges that were admitted here at an instant. shared are the same charges
// on this process's share, one of parts shares.
func (t *memory) spend(charges, shared []store.Charge, parts, at, now, outage int64) {
	for first := range charges {
		places := group(charges, first)
		if places == nil {
			continue
		}
		mine, share := pick(charges, places), pick(shared, places)
		sh, h := t.lock(mine[0].Scope, mine[0].Key)
		if e := t.entry(sh, h, mine, now); e != nil {
			e.spend(mine, share, parts, at, now, outage)
		}
		sh.mu.Unlock()
	}
}

// correct notes the real cost of charges that the primary, or this process, admitted at
// an instant.
func (t *memory) correct(charges []store.Charge, cost func(charge int) int64, at int64, primary bool) {
	for i := range charges {
		c, more := &charges[i], cost(i)-charges[i].Cost
		if c.Cost == 0 || more == 0 {
			continue
		}
		sh, h := t.lock(c.Scope, c.Key)
		if e := t.find(sh, h, c.Scope, c.Key); e != nil {
			e.correct(&c.Limit, at, more, primary)
		}
		sh.mu.Unlock()
	}
}

func (e *entry) correct(l *store.Limit, at, more int64, primary bool) {
	for i := range e.limits.rules {
		r := &e.limits.rules[i]
		switch {
		case !r.Is(l):
			continue
		case primary:
			correct(r, e.state(i), at, more)
		case e.more != nil && e.more.debt != nil:
			if r.Limit.Algorithm == store.GCRA {
				more *= e.more.parts // A unit takes parts times as long in the share.
			}
			correct(r, &e.more.debt[i], at, more)
			if p := e.last(); p != nil {
				p.version++
				correct(r, &p.used[i], at, more)
			}
		}
		return
	}
}

// seedOne gives the local store the primary's state of the charges' key. shared are the
// same charges on this process's share.
func (t *memory) seedOne(charges, shared []store.Charge, now int64, local Seeder) {
	c := &charges[0]
	sh, h := t.lock(c.Scope, c.Key)
	defer sh.mu.Unlock()
	e := t.find(sh, h, c.Scope, c.Key)
	if e == nil || e.at == 0 || !e.limits.are(charges) || e.more != nil && e.more.seeded {
		return
	}
	e.extra().seeded = true
	m := store.Memory{Scope: c.Scope, Key: c.Key, At: store.Instant(now), Last: store.Instant(e.more.last)}
	for i := range shared {
		m.Limits = append(m.Limits, shared[i].Limit)
		part := exact.RuleOf(&shared[i].Limit)
		u := stateOfShare(&e.limits.rules[i], &part, *e.state(i), now)
		if e.more.debt != nil {
			u = larger(&part, u, e.more.debt[i], now)
		}
		m.Known = append(m.Known, usedOf(&u))
	}
	local.Seed(m)
}

func (t *memory) forget(scope, key string) {
	sh, h := t.lock(scope, key)
	defer sh.mu.Unlock()
	if t.find(sh, h, scope, key) != nil {
		delete(sh.entries, h)
	}
}
