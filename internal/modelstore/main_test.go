package modelstore_test

import (
	"testing"

	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/internal/modelstore"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/storetest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestConformance(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return modelstore.New() })
}
