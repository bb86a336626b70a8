package storetest_test

import (
	"testing"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/storetest"
)

func TestSuitePasses(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return newModel() })
}
