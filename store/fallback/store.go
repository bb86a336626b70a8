package fallback

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback/internal/brakes"
	"github.com/goweir/weir/store/fallback/internal/breaker"
	"github.com/goweir/weir/store/fallback/internal/memory"
	"github.com/goweir/weir/store/fallback/internal/patience"
	"github.com/goweir/weir/store/localstore"
)

// Store is a primary store with a local one behind it. It is safe for
// concurrent use.
type Store struct {
	cfg      Config
	primary  store.Store   // the primary, or plain around one that does not restore
	starter  store.Starter // the primary; nil: it is none
	local    *localstore.Store
	clock    clock
	breaker  breaker.Breaker
	ends     patience.Ends
	memory   memory.Memory
	searches atomic.Int32 // asked for by restoreAll and not ended
	tries    int          // searches that failed in a row
	took     atomic.Int64 // the shortest restore since the last outage, in nanoseconds; 0: none
	losses   atomic.Int64 // so far
	lostAt   atomic.Int64 // the last loss with a search, by this process's clock
	brakes   brakes.Pending
	failed   atomic.Pointer[[]store.Charge] // looks at the keys of the last failed call
	alone    sync.Once                      // logs the first decision without the primary
}

// within runs f until the budget ends. A slow f goes on without its caller and with an
// ended context: its caller must not read its results then, or change its arguments.
func (s *Store) within(ctx context.Context, f func(context.Context) error) error {
	return within(ctx, s.cfg.patience(), f)
}

func within(ctx context.Context, patience time.Duration, f func(context.Context) error) error {
	timed, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	end := make(chan error, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				end <- panicked(r)
			}
		}()
		end <- f(timed)
	}()
	select {
	case err := <-end:
		if err == nil || timed.Err() == nil || ctx.Err() != nil {
			return err
		}
	case <-timed.Done():
	}
	return cmp.Or(ctx.Err(), errBudget)
}

// try asks the primary for a decision without a caller.
func (s *Store) try(ctx context.Context, req *store.Request, patience time.Duration) error {
	return within(ctx, patience, func(ctx context.Context) error {
		_, err := s.cfg.Primary.Take(ctx, *req)
		return err
	})
}
