package storetest_test

import "github.com/goweir/weir/internal/modelstore"

// model is a right store, which mistakes spoil.
type (
	model = modelstore.Store
	entry = modelstore.Entry
	id    = modelstore.ID
)
