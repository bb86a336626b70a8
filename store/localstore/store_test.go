package localstore_test

import (
	"context"
	"testing"

	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func open(t testing.TB) *localstore.Store { return openFor(t, 0) }

func openFor(t testing.TB, keys int) *localstore.Store {
	t.Helper()
	s, err := localstore.New(localstore.Config{MaxKeys: keys})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// charge returns a request for cost units of key under limits.
func charge(key string, cost int64, limits ...store.Limit) store.Request {
	var req store.Request
	for _, l := range limits {
		req.Charges = append(req.Charges, store.Charge{Key: key, Limit: l, Cost: cost})
	}
	return req
}

func take(t testing.TB, s *localstore.Store, req store.Request) store.Decision {
	d, err := s.Take(context.Background(), req)
	if err != nil {
		t.Helper()
		t.Fatal(err)
	}
	return d
}
