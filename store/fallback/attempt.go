package fallback

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/store"
)

// errBudget is what a call that took too long fails with.
var errBudget = errors.New("fallback: no answer within the budget")

// patience is how long a call waits for the primary. The last tenth of the
// budget is kept for deciding locally, and for timers that are late.
func (c *Config) patience() time.Duration { return c.Budget - c.Budget/10 }

// attempt is a call of the primary. It may outlast its caller, who then uses the
// request's charges for another.
type attempt struct {
	store *Store
	req   store.Request
	room  [1]store.Charge // of the common case, as state
	state [1]store.ChargeState
	epoch uint64
	turn  turn    // of the breaker
	end   *ending // of its patience
	stage atomic.Int32
	heard chan struct{} // closed when answered in time, on a goroutine of its own
	d     store.Decision
	err   error
}

// Stages of an attempt.
const (
	awaited  = iota // its caller waits
	orphaned        // its caller's context has ended; what it shows of the primary still counts
	settled         // answered, or too late
)

func (s *Store) attempt(req *store.Request, t turn) *attempt {
	a := attempts.Get().(*attempt)
	*a = attempt{store: s, req: *req, epoch: s.breaker.epoch.Load(), turn: t, end: s.endings.next(s.cfg.patience())}
	a.req.Charges = append(a.room[:0], req.Charges...)
	return a
}

// attempts keeps those that nobody has any more.
var attempts = sync.Pool{New: func() any { return new(attempt) }}

// decision returns what the primary decides in time.
//
// The end of the caller's context says nothing about the primary, and must not
// keep the breaker from opening either: where all callers have less patience
// than the budget, a silent primary would stall each of them for ever. So the
// call goes on without its caller, for as long as the budget lasts.
func (a *attempt) decision(ctx context.Context) (store.Decision, error) {
	if st := a.start(ctx); st != nil {
		if d, done, err := a.await(ctx, st); done {
			if err == nil {
				*a = attempt{}
				attempts.Put(a)
			}
			return d, err
		}
	}
	return a.besides(ctx)
}

// besides has the primary decide on a goroutine of its own, since a client may heed
// neither its context nor any budget.
//
// What goes to the client is cancelled when the patience is over, which keeps
// it from sending what it has not sent.
func (a *attempt) besides(ctx context.Context) (store.Decision, error) {
	a.heard = make(chan struct{})
	timed, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*a.store.cfg.Budget)
	go a.run(timed, cancel)
	select {
	case <-a.heard:
	case <-a.end.over:
		if !a.heldUp(a.heard) && a.stage.CompareAndSwap(awaited, settled) {
			cancel()
			a.fail(errBudget)
			return store.Decision{}, errBudget
		}
		<-a.heard
	case <-ctx.Done():
		if a.stage.CompareAndSwap(awaited, orphaned) {
			time.AfterFunc(time.Until(a.end.at), func() {
				if a.stage.CompareAndSwap(orphaned, settled) {
					cancel()
					a.fail(errBudget)
				}
			})
			return store.Decision{}, ctx.Err()
		}
		<-a.heard
	}
	a.report()
	if a.err != nil {
		return store.Decision{}, a.err
	}
	a.store.keep(a)
	if a.d.Receipt != nil {
		a.d.Receipt = receipt{primary: true, of: a.d.Receipt, charges: a.req.Charges}
	}
	return a.d, nil
}

// heldUp reports whether the answer is only late because this process was held
// up, by the garbage collector or a busy machine: then the timer is late as
// well, and the answer may lie in the socket already. A stall of ours must not
// open the breaker.
//
// It takes the answer from the channel, if that comes.
func (a *attempt) heldUp(answered <-chan struct{}) bool {
	if time.Since(a.end.at) < time.Millisecond {
		return false
	}
	grace := time.NewTimer(a.store.cfg.Budget / 25)
	defer grace.Stop()
	select {
	case <-answered:
		return true
	case <-grace.C:
		return false
	}
}

// run asks the primary. An answer that nobody waits for any more is given back
// if that is possible.
func (a *attempt) run(ctx context.Context, cancel context.CancelFunc) {
	a.d, a.err = a.ask(ctx)
	if a.err != nil && ctx.Err() != nil {
		a.err = errBudget
	}
	if a.stage.CompareAndSwap(awaited, settled) {
		close(a.heard)
		cancel()
		return
	}
	if a.stage.CompareAndSwap(orphaned, settled) {
		a.report()
	}
	cancel()
	a.store.forfeit(ctx, a)
	if c, ok := a.store.cfg.Primary.(store.Canceler); ok && a.err == nil && a.d.Receipt != nil {
		receipt := a.d.Receipt
		_ = a.store.within(context.WithoutCancel(ctx), func(ctx context.Context) error { return c.Cancel(ctx, receipt) })
	}
}

func (a *attempt) ask(ctx context.Context) (d store.Decision, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicked(r)
		}
	}()
	if err := a.store.settle(ctx, a.req.Charges, a.epoch); err != nil {
		return d, err
	}
	return a.store.cfg.Primary.Take(ctx, a.req)
}

// report tells the breaker, and the local store, of an answer.
func (a *attempt) report() {
	switch {
	case a.err == nil:
		a.turn.done(nil)
		a.store.learn(a)
		a.store.heed(a)
	case !outage(a.err):
		a.turn.done(nil)
	default:
		a.fail(a.err)
	}
}

func (a *attempt) fail(err error) {
	a.store.failed.Store(look(&a.req))
	a.turn.done(err)
}

func panicked(r any) error { return fmt.Errorf("fallback: the primary store panicked: %v", r) }

// within runs f for as long as the budget lasts. f goes on by itself when it is
// not done by then, so it must not touch anything of the caller's; its context
// is over.
func (s *Store) within(ctx context.Context, f func(context.Context) error) error {
	timed, cancel := context.WithTimeout(ctx, s.cfg.patience())
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
		if err != nil && timed.Err() != nil && ctx.Err() == nil {
			return errBudget
		}
		return err
	case <-timed.Done():
		if err := ctx.Err(); err != nil {
			return err
		}
		return errBudget
	}
}
