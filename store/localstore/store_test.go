package localstore_test

import (
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/store/storetest"
)

func open(t testing.TB) *localstore.Store {
	s, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) weir.Store { return open(t) })
}
