package storetest_test

import (
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback"
	"github.com/goweir/weir/store/leasestore"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/store/plainstore"
	"github.com/goweir/weir/store/redisstore"
)

// correcting stores take back and settle what they have granted.
type correcting interface {
	store.Store
	store.Canceler
	store.Settler
	store.Resetter
	store.Braker
	store.Holder
}

// The stores and the interfaces that they implement.
var (
	_ correcting = (*fallback.Store)(nil)
	_ correcting = (*leasestore.Store)(nil)
	_ correcting = (*localstore.Store)(nil)
	_ correcting = (*redisstore.Store)(nil)

	_ store.Preparer = (*leasestore.Store)(nil)
	_ store.Preparer = (*localstore.Store)(nil)
	_ store.Starter  = (*redisstore.Store)(nil)
	_ store.Restorer = (*redisstore.Store)(nil)

	_ store.Store    = (*plainstore.Store)(nil)
	_ store.Resetter = (*plainstore.Store)(nil)
)
