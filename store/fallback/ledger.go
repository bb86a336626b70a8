package fallback

import (
	"context"
	"hash/maphash"
	"sync"
	"time"

	"github.com/goweir/weir"
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

// account is what the ledger knows of a key.
type account struct {
	epoch uint64    // in which the primary last answered
	until time.Time // afterwards nothing of it counts any more
	spent []weir.Charge
}

var seed = maphash.MakeSeed()

func (l *ledger) shard(k id) *ledgerShard {
	return &l.shards[(maphash.String(seed, k.key)^3*maphash.String(seed, k.scope))%64]
}

// account returns the account of a key, a new one if there is none. Each new
// one pays for looking at a few others. The shard is locked.
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
			if now.After(b.until) {
				delete(sh.accounts, other)
			}
		}
		a = &account{epoch: epoch}
		sh.accounts[k] = a
	}
	return a
}

// seen notes that the primary answered, and what.
func (l *ledger) seen(k id, epoch uint64, states []weir.ChargeState) {
	var longest time.Duration
	for i := range states {
		longest = max(longest, states[i].ResetAfter)
	}
	sh := l.shard(k)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	a := sh.account(k, epoch)
	if epoch > a.epoch {
		a.epoch = epoch
	}
	if until := time.Now().Add(longest); until.After(a.until) {
		a.until = until
	}
}

// spend notes what was admitted without the primary.
func (l *ledger) spend(charges []weir.Charge, epoch uint64, states func(i int) weir.ChargeState) {
	for first := range charges {
		places := group(charges, first)
		if places == nil {
			continue
		}
		k := id{charges[first].Scope, charges[first].Key}
		sh := l.shard(k)
		sh.mu.Lock()
		a := sh.account(k, epoch)
		for _, i := range places {
			a.add(charges[i])
			if until := time.Now().Add(states(i).ResetAfter); until.After(a.until) {
				a.until = until
			}
		}
		sh.mu.Unlock()
	}
}

// add adds a charge to what was spent on its limit.
func (a *account) add(c weir.Charge) {
	for i := range a.spent {
		if a.spent[i].Limit == c.Limit {
			a.spent[i].Cost += c.Cost
			return
		}
	}
	a.spent = append(a.spent, c)
}

// spentOn returns the units that were spent on a limit.
func spentOn(spent []weir.Charge, l weir.Limit) int64 {
	for i := range spent {
		if spent[i].Limit == l {
			return spent[i].Cost
		}
	}
	return 0
}

// due takes what has to be made good before the primary decides on a key again.
func (l *ledger) due(k id, epoch uint64) (spent []weir.Charge, returned, ok bool) {
	sh := l.shard(k)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	a := sh.accounts[k]
	if a == nil || a.epoch >= epoch && len(a.spent) == 0 {
		return nil, false, false
	}
	if time.Now().After(a.until) {
		delete(sh.accounts, k)
		return nil, false, false
	}
	spent, returned = a.spent, a.epoch < epoch
	a.spent, a.epoch = nil, epoch
	return spent, returned, true
}

// undo puts back what due took.
func (l *ledger) undo(k id, epoch uint64, spent []weir.Charge, returned bool) {
	sh := l.shard(k)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	a := sh.account(k, epoch)
	for _, c := range spent {
		a.add(c)
	}
	if returned {
		a.epoch = epoch - 1
	}
	if a.until.IsZero() {
		a.until = time.Now().Add(time.Minute)
	}
}

func (l *ledger) forget(k id) {
	sh := l.shard(k)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	delete(sh.accounts, k)
}

// settle makes the primary whole on the keys of a request: it is charged what
// was admitted without it and, when it was away, what it was known to have used
// but has forgotten. Only what still counts locally is charged.
func (s *Store) settle(ctx context.Context, charges []weir.Charge, epoch uint64) error {
	for first := range charges {
		k := id{charges[first].Scope, charges[first].Key}
		spent, returned, ok := s.ledger.due(k, epoch)
		if !ok {
			continue
		}
		mine := make([]weir.Charge, 0, len(charges))
		for _, i := range group(charges, first) {
			mine = append(mine, charges[i])
		}
		if err := s.within(ctx, func(ctx context.Context) error { return s.makeGood(ctx, mine, spent, returned) }); err != nil {
			s.ledger.undo(k, epoch, spent, returned)
			return err
		}
	}
	return nil
}

// lost returns the units that the primary has forgotten of those in use, which
// are counted in parts of its limit. What both know is rounded alike; where
// that can be off by one, one is not taken for lost.
func lost(parts, part, most int64, primary weir.ChargeState) int64 {
	parts -= part - scale(primary.Remaining, part, most)
	if part != most && primary.ResetAfter > 0 {
		parts--
	}
	return scale(max(parts, 0), most, part)
}

// makeGood charges the primary for one key.
func (s *Store) makeGood(ctx context.Context, charges, spent []weir.Charge, returned bool) error {
	for i := range charges {
		charges[i].Cost = 0
	}
	shared := share(charges, s.cfg.ReplicasFunc())
	local, err := s.cfg.Local.Take(ctx, weir.Request{Charges: shared})
	if err != nil {
		return nil // Nothing is known, so nothing is owed.
	}
	var primary weir.Decision
	if returned {
		if primary, err = s.cfg.Primary.Take(ctx, weir.Request{Charges: charges}); err != nil {
			return err
		}
	}
	owed := false
	for i := range charges {
		most, part := charges[i].Limit.Max(), shared[i].Limit.Max()
		used := part - local.Charge(i).Remaining
		own := min(spentOn(spent, charges[i].Limit), used)
		charges[i].Cost = own
		if returned {
			charges[i].Cost += lost(used-own, part, most, primary.Charge(i))
		}
		charges[i].Cost = min(charges[i].Cost, most)
		owed = owed || charges[i].Cost > 0
	}
	if !owed {
		return nil
	}
	// What does not fit now is booked ahead, and later calls wait for it.
	_, err = s.cfg.Primary.Take(ctx, weir.Request{Charges: charges, MaxWait: weir.MaxPeriod})
	return err
}
