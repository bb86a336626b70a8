package fallback

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// id is a key in a scope.
type id struct{ scope, key string }

// ledger remembers, for each key that was asked for, when the primary last
// answered, and what was admitted since without it.
type ledger struct{ shards [64]ledgerShard }

type ledgerShard struct {
	mu       sync.Mutex
	accounts map[id]*account
}

const (
	// mostAccounts is the most accounts of a shard, as many keys as a local
	// store keeps by default. What is beyond is not remembered.
	mostAccounts = localstore.DefaultMaxKeys / 64
	// mostLimits is the most limits that are remembered of a key.
	mostLimits = 16
)

// account is what the ledger knows of a key.
type account struct {
	epoch    uint64    // in which the primary last answered
	until    time.Time // afterwards nothing of it counts any more
	known    time.Time // when the primary last told what the local store knows
	spent    []store.Charge
	settling *settlement // nil when nobody is at it
}

var seed = maphash.MakeSeed()

func (l *ledger) shard(k id) *ledgerShard {
	return &l.shards[(maphash.String(seed, k.key)^3*maphash.String(seed, k.scope))%64]
}

// account returns the account of a key, a new one if there is none, nil when
// there are too many. Each new one pays for looking at a few others. The shard
// is locked.
func (sh *ledgerShard) account(k id, epoch uint64) *account {
	a := sh.accounts[k]
	if a == nil {
		if sh.accounts == nil {
			sh.accounts = make(map[id]*account)
		}
		now, n := time.Now(), 4
		for other, b := range sh.accounts {
			if n--; n < 0 {
				break
			}
			if b.settling == nil && now.After(b.until) {
				delete(sh.accounts, other)
			}
		}
		if len(sh.accounts) >= mostAccounts {
			return nil
		}
		a = &account{epoch: epoch}
		sh.accounts[k] = a
	}
	return a
}

// seen notes that the primary answered, and what. It reports false when more
// is known here than the primary could know when it did: what was admitted
// without it.
func (l *ledger) seen(k id, epoch uint64, states []store.ChargeState) bool {
	var longest time.Duration
	for i := range states {
		longest = max(longest, states[i].ResetAfter)
	}
	sh := l.shard(k)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	a := sh.account(k, epoch)
	if a == nil {
		return true
	}
	now := a.keep(longest)
	if len(a.spent) > 0 || a.settling != nil {
		return false
	}
	a.known = now
	return true
}

// keep has an account count for at least so long from now on, and returns the time.
func (a *account) keep(d time.Duration) (now time.Time) {
	now = time.Now()
	if until := now.Add(d); until.After(a.until) {
		a.until = until
	}
	return now
}

// spend notes what was admitted without the primary.
func (l *ledger) spend(charges []store.Charge, epoch uint64, d *store.Decision) {
	for first := range charges {
		places := group(charges, first)
		if places == nil {
			continue
		}
		k := id{charges[first].Scope, charges[first].Key}
		sh := l.shard(k)
		sh.mu.Lock()
		if a := sh.account(k, epoch); a != nil {
			for _, i := range places {
				a.add(charges[i])
				a.keep(d.Charge(i).ResetAfter)
			}
		}
		sh.mu.Unlock()
	}
}

// settle corrects what spend noted to what it really cost, unless the primary has
// been charged since.
func (l *ledger) settle(charges []store.Charge, cost func(charge int) int64) {
	for i, c := range charges {
		if c.Cost == 0 {
			continue
		}
		more := cost(i) - c.Cost
		k := id{c.Scope, c.Key}
		sh := l.shard(k)
		sh.mu.Lock()
		if a := sh.accounts[k]; a != nil {
			if j := place(a.spent, c.Limit); j >= 0 {
				a.spent[j].Cost = max(a.spent[j].Cost+more, 0)
			}
		}
		sh.mu.Unlock()
	}
}

// add adds to what was spent on a limit. Of a key whose limits change all the time,
// the oldest is forgotten.
func (a *account) add(c store.Charge) {
	if i := place(a.spent, c.Limit); i >= 0 {
		a.spent[i].Cost += c.Cost
		return
	}
	if len(a.spent) == mostLimits {
		a.spent = append(a.spent[:0], a.spent[1:]...)
	}
	a.spent = append(a.spent, c)
}

func place(spent []store.Charge, l store.Limit) int {
	for i := range spent {
		if spent[i].Limit == l {
			return i
		}
	}
	return -1
}

func (l *ledger) forget(k id) {
	sh := l.shard(k)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	delete(sh.accounts, k)
}
