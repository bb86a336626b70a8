package fallback

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/store"
)

// The ledger forgets keys whose state has lapsed while new ones come.
func TestLedgerForgetsLapsedKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		for i := range 20_000 {
			l.seen(id{"", strconv.Itoa(i)}, 0, []store.ChargeState{{ResetAfter: 100 * time.Millisecond}})
			time.Sleep(time.Millisecond)
		}
		n := 0
		for i := range l.shards {
			n += len(l.shards[i].accounts)
		}
		if n > 3000 {
			t.Errorf("%d accounts of 100 keys in use", n)
		}
	})
}

// It is bounded even when no key ever lapses, and so is what it keeps of one.
func TestLedgerIsBounded(t *testing.T) {
	t.Parallel()
	var sh ledgerShard
	for i := range mostAccounts + 10 {
		if a := sh.account(id{"", strconv.Itoa(i)}, 0); a != nil {
			a.keep(time.Hour)
		}
	}
	if len(sh.accounts) != mostAccounts {
		t.Errorf("%d accounts of at most %d", len(sh.accounts), mostAccounts)
	}
	var a account
	for i := range 100 {
		a.add(store.Charge{Limit: store.Per(int64(i+1), time.Hour), Cost: 1})
	}
	if len(a.spent) != mostLimits || a.spent[mostLimits-1].Limit != store.Per(100, time.Hour) {
		t.Errorf("%d limits kept of one key, the last %v", len(a.spent), a.spent[len(a.spent)-1].Limit)
	}
}

// A full ledger remembers nothing, and settles nothing, for the keys beyond.
func TestFullLedger(t *testing.T) {
	t.Parallel()
	var l ledger
	k := id{"", "k"}
	sh := l.shard(k)
	sh.accounts = make(map[id]*account)
	for i := range mostAccounts {
		sh.accounts[id{"other", strconv.Itoa(i)}] = &account{until: time.Now().Add(time.Hour)}
	}
	c := []store.Charge{{Key: "k", Limit: store.Per(1, time.Hour), Cost: 1}}
	l.spend(c, 0, &store.Decision{})
	if !l.seen(k, 0, nil) {
		t.Error("the answer of the primary is not believed")
	}
	if st, _ := l.due(k, 1); st != nil {
		t.Error("something is due")
	}
	l.settle(c, func(int) int64 { return 0 })
}
