package localstore

import (
	"context"
	"fmt"

	"github.com/goweir/weir/internal/exact"
)

// receipts is the receipt of a request with several keys. The receipt of one key is an
// *exact.Receipt. The owner of each is its entry.
type receipts struct {
	charges int
	keys    []*exact.Receipt
}

// Windows returns the windows of all keys, see [exact.Receipt].
func (r *receipts) Windows() (slot int64, list []*exact.Window) {
	for _, k := range r.keys {
		last, windows := k.Windows()
		slot, list = last, append(list, windows...)
	}
	return slot, list
}

// Cancel implements [store.Canceler]. If no call was charged on the key since, its state
// becomes the one before. Otherwise windows stop counting the units, and GCRA gives back as
// much as exceeds no limit. Cancel waits for nothing, so it ignores an ended context.
func (s *Store) Cancel(_ context.Context, receipt any) error {
	var one [1]*exact.Receipt
	r, err := s.receipts("cancel", receipt, one[:])
	if err != nil {
		return err
	}
	s.settle(r.keys, func(int) int64 { return 0 })
	return nil
}

// Settle implements [store.Settler]. It waits for nothing, so it ignores an ended context.
func (s *Store) Settle(_ context.Context, receipt any, costs ...int64) error {
	var one [1]*exact.Receipt
	r, err := s.receipts("settle", receipt, one[:])
	if err != nil {
		return err
	}
	cost, err := exact.Settled(r.charges, costs)
	if err != nil {
		return err
	}
	s.settle(r.keys, cost)
	return nil
}

// receipts returns the parts of a Decision's Receipt. A receipt of one key goes into one.
func (s *Store) receipts(op string, receipt any, one []*exact.Receipt) (all receipts, err error) {
	ok := false
	switch r := receipt.(type) {
	case *receipts:
		if ok = r != nil; ok {
			all = *r
		}
	case *exact.Receipt:
		if ok = r != nil; ok {
			one[0] = r
			all = receipts{r.Charges, one}
		}
	}
	for i := range all.keys {
		e, mine := all.keys[i].Owner.(*entry)
		ok = ok && mine && e.of == &s.shards
	}
	if !ok {
		err = fmt.Errorf("localstore: %s: a receipt of type %T is not of this store", op, receipt)
	}
	return all, err
}

func (s *Store) settle(keys []*exact.Receipt, cost func(charge int) int64) {
	for _, r := range keys {
		s.settleKey(r, cost)
	}
}

func (s *Store) settleKey(r *exact.Receipt, cost func(charge int) int64) {
	e := r.Owner.(*entry)
	sh := s.shard(e.id)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now := s.now()
	// Without this entry, the key has lapsed or was reset.
	if sh.keys[e.id] == e && e.key.Settle(r, now, cost) {
		s.changed(sh, e, now)
	}
}
