package fallback

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/store"
)

// settlement makes the primary whole on one key. While one is under way, the
// other calls for that key wait for it: the primary would admit them on a state
// that lacks what is just being charged.
type settlement struct {
	spent    []store.Charge
	returned bool         // the primary may have lost its memory
	known    time.Time    // when it last told what was used
	sending  atomic.Int32 // whether the charge may have been made
	done     chan struct{}
	err      error // set before done is closed
}

// What settlement.sending is: the first of the two that comes.
const (
	sent  = iota + 1 // it may have been
	never            // it has not been and will not be
)

// due returns the settlement that has to come before the primary decides on a
// key, nil when there is none; mine, when it is the caller's to make.
func (l *ledger) due(k id, epoch uint64) (st *settlement, mine bool) {
	sh := l.shard(k)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	a := sh.accounts[k]
	switch {
	case a == nil:
		return nil, false
	case a.settling != nil:
		return a.settling, false
	case a.even(epoch):
		return nil, false
	case time.Now().After(a.until):
		delete(sh.accounts, k)
		return nil, false
	}
	a.settling = &settlement{spent: a.spent, returned: a.epoch < epoch, known: a.known, done: make(chan struct{})}
	a.spent = nil
	return a.settling, true
}

// even reports whether nothing is due on the keys of charges.
func (l *ledger) even(charges []store.Charge, epoch uint64) bool {
	for i := range charges {
		k := id{charges[i].Scope, charges[i].Key}
		sh := l.shard(k)
		sh.mu.Lock()
		a := sh.accounts[k]
		even := a == nil || a.even(epoch)
		sh.mu.Unlock()
		if !even {
			return false
		}
	}
	return true
}

func (a *account) even(epoch uint64) bool {
	return a.settling == nil && a.epoch >= epoch && len(a.spent) == 0
}

// resolve ends a settlement, once. A charge that may have been made is not made
// again: what is due after that is only what the primary is seen to lack.
func (l *ledger) resolve(k id, epoch uint64, st *settlement, err error) {
	sh := l.shard(k)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	select {
	case <-st.done:
		return
	default:
	}
	st.err = err
	close(st.done)
	a := sh.accounts[k]
	switch {
	case a == nil || a.settling != st: // forgotten
		return
	case err == nil:
		a.epoch = max(a.epoch, epoch)
	case !st.sending.CompareAndSwap(0, never):
		a.epoch, a.known = epoch-1, time.Now()
	default:
		for _, e := range st.spent {
			a.add(e)
		}
		if st.returned {
			a.epoch = epoch - 1
		}
	}
	a.settling = nil
}

// settle makes the primary whole on the keys of a request: it is charged what
// was admitted without it and, when it was away, what it was known to have used
// but has forgotten. Only what still counts locally is charged.
func (s *Store) settle(ctx context.Context, charges []store.Charge, epoch uint64) error {
	for first := range charges {
		k := id{charges[first].Scope, charges[first].Key}
		for {
			st, mine := s.ledger.due(k, epoch)
			if st == nil {
				break
			}
			if mine {
				s.makeGood(ctx, k, st, charges, first, epoch)
			}
			select {
			case <-st.done:
			case <-ctx.Done():
				return ctx.Err()
			}
			// Another's settlement that failed is tried again: it may have had
			// less time left than this call has.
			if st.err != nil && mine {
				return st.err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeGood makes a settlement. One that takes longer than the call is over all
// the same, so that one lost answer does not hold up a key.
func (s *Store) makeGood(ctx context.Context, k id, st *settlement, charges []store.Charge, first int, epoch uint64) {
	stop := context.AfterFunc(ctx, func() { s.ledger.resolve(k, epoch, st, errBudget) })
	defer stop()
	var mine []store.Charge
	for _, i := range group(charges, first) {
		mine = append(mine, charges[i])
	}
	err := errors.New("fallback: the primary store panicked")
	defer func() { s.ledger.resolve(k, epoch, st, err) }()
	err = s.charge(ctx, mine, st)
}

// charge charges the primary for one key.
func (s *Store) charge(ctx context.Context, charges []store.Charge, st *settlement) error {
	for i := range charges {
		charges[i].Cost = 0
	}
	shared := share(charges, s.cfg.ReplicasFunc())
	local, err := s.cfg.Local.Take(ctx, store.Request{Charges: shared})
	if err != nil {
		return nil // Nothing is known, so nothing is owed.
	}
	var primary store.Decision
	if st.returned {
		if primary, err = s.cfg.Primary.Take(ctx, store.Request{Charges: charges}); err != nil {
			return unlessRefused(err)
		}
	}
	owed := false
	debts := append([]store.Charge(nil), charges...)
	for i := range charges {
		most, part := charges[i].Limit.Max(), shared[i].Limit.Max()
		used := part - free(&shared[i].Limit, local.Charge(i))
		own := int64(0)
		if j := place(st.spent, charges[i].Limit); j >= 0 {
			own = min(st.spent[j].Cost, max(used, ahead(&shared[i].Limit, local.Charge(i))))
		}
		debts[i].Cost = own
		if st.returned {
			kept, now := used-own, primary.Charge(i)
			if charges[i].Limit.Algorithm == store.SlidingCounter && now.ResetAfter > 0 {
				kept = unfaded(kept, charges[i].Limit.Period, local.Charge(i).ResetAfter, time.Since(st.known))
			}
			debts[i].Cost += lost(kept, part, &charges[i].Limit, now)
		}
		debts[i].Cost = min(debts[i].Cost, most)
		owed = owed || debts[i].Cost > 0
	}
	if !owed {
		return nil
	}
	return s.collect(ctx, charges, debts, st)
}

// collect charges the primary with debts. What does not fit now is booked
// ahead, and later calls wait for it, unless the primary can't do that: then it
// is charged what fits.
func (s *Store) collect(ctx context.Context, charges, debts []store.Charge, st *settlement) error {
	if !st.sending.CompareAndSwap(0, sent) {
		return ctx.Err()
	}
	d, err := s.cfg.Primary.Take(ctx, store.Request{Charges: debts})
	switch {
	case err != nil:
		return unlessRefused(err)
	case d.Allowed:
		return nil
	}
	_, err = s.cfg.Primary.Take(ctx, store.Request{Charges: debts, MaxWait: store.MaxPeriod})
	if !errors.Is(err, store.ErrUnsupported) {
		return unlessRefused(err)
	}
	now, err := s.cfg.Primary.Take(ctx, store.Request{Charges: charges})
	if err != nil {
		return unlessRefused(err)
	}
	for i := range debts {
		debts[i].Cost = min(debts[i].Cost, now.Charge(i).Remaining)
	}
	_, err = s.cfg.Primary.Take(ctx, store.Request{Charges: debts})
	return unlessRefused(err)
}

// unlessRefused drops the error of a request that the primary can't take from
// anybody: that is for the call itself to find out.
func unlessRefused(err error) error {
	if refused(err) {
		return nil
	}
	return err
}
