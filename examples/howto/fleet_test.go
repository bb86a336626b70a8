package howto

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/weirtest"
)

// fleet returns the clients of workers, and their provider.
func fleet(t *testing.T, stores []weir.Store) ([]*http.Client, *weirtest.Provider) {
	t.Helper()
	provider := newProvider(t,
		weir.Per(25, 5*time.Second).By(weir.SlidingWindow), weir.PerMinute(300).By(weir.SlidingWindow))
	clients := make([]*http.Client, len(stores))
	for i := range clients {
		var err error
		if clients[i], err = NewFleetClient(stores[i], provider.Transport()); err != nil {
			t.Fatal(err)
		}
	}
	return clients, provider
}

func TestFleet(t *testing.T) {
	for _, c := range []struct {
		name   string
		stores func(*testing.T, int) []weir.Store
		most   int           // in any 5 s
		took   time.Duration // for 600 calls
	}{
		{"over one store", shared, 25, 23 * 5200 * time.Millisecond},
		{"while Redis is away, on shares", away, 24, 24 * 5200 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				clients, provider := fleet(t, c.stores(t, 3))
				start := time.Now()
				sent, failed := send(t, clients, 200)
				if took := time.Since(start); took != c.took {
					t.Errorf("600 calls took %v, want %v", took, c.took)
				}
				if n := provider.Counts().Refused(); n != 0 || sent != 600 {
					t.Errorf("%d of 600 calls were sent, and the provider refused %d: %v", sent, n, failed)
				}
				if n := provider.MaxIn(5 * time.Second); n != c.most {
					t.Errorf("%d calls in 5 s, want %d", n, c.most)
				}
				if n := provider.MaxIn(time.Minute); n > 300 {
					t.Errorf("%d calls in a minute, want at most 300", n)
				}
			})
		})
	}
}

// A call is not sent if its slot lies past its deadline.
func TestFleetOverRedis(t *testing.T) {
	t.Parallel()
	clients, provider := fleet(t, overRedis(t, 3))
	for _, c := range clients {
		c.Timeout = 2 * time.Second
	}
	sent, failed := send(t, clients, 20)
	if n := provider.Counts().Refused(); n != 0 || sent != 25 {
		t.Errorf("%d of 60 calls were sent, want 25; the provider refused %d", sent, n)
	}
	for _, err := range failed {
		if !errors.Is(err, weir.ErrLimited) {
			t.Errorf("%v, want weir.ErrLimited", err)
		}
	}
}
