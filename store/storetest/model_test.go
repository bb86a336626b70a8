package storetest_test

import "github.com/goweir/weir/internal/modelstore"

// model is a correct store. Mistakes change it.
type (
	model = modelstore.Store
	entry = modelstore.Entry
	id    = modelstore.ID
)
