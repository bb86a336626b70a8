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

// errBudget is the error of a call without an answer within the budget.
var errBudget = errors.New("fallback: no answer within the budget")

const (
	// maxPatience is the maximum time that a waiting call gives the primary.
	maxPatience = time.Second
	// firstPatience is the minimum time for the primary's first answer: connecting may
	// take several round trips.
	firstPatience = time.Second
)

// patience returns how long a call waits for the primary. The last tenth of the budget is
// for the local decision and for late timers.
func (c *Config) patience() time.Duration { return c.Budget - c.Budget/10 }

// ending returns the end of the patience of a call that starts now.
func (s *Store) ending(now time.Time, maxWait time.Duration) *ending {
	patience := s.cfg.patience()
	own := max(patience, min(maxWait/10, maxPatience))
	if !s.breaker.met.Load() {
		own = max(own, firstPatience)
	}
	if own == patience {
		return s.endings.next(now, patience)
	}
	return new(endings).next(now, own)
}

// attempt is a call of the primary. It may outlast its caller, which then reuses the
// request's charges, so the attempt has a copy.
type attempt struct {
	store *Store
	req   store.Request
	room  [1]store.Charge // for one charge, as seen is
	seen  [1]store.Seen
	owes  bool // the primary lacks a state of these keys
	began time.Time
	end   *ending // of its patience
	ctx   endingContext
	stage atomic.Int32
	heard chan struct{} // for besides: closed by an answer in time
	d     store.Decision
	err   error
}

// Stages of an attempt.
const (
	awaited  = iota // its caller waits
	orphaned        // its caller's context has ended; the outcome still counts
	settled         // answered, or too late
)

func (s *Store) attempt(req *store.Request) *attempt {
	a, now := attempts.Get().(*attempt), time.Now()
	*a = attempt{store: s, req: *req, began: now, end: s.ending(now, req.MaxWait)}
	a.req.Charges = append(a.room[:0], req.Charges...)
	a.req.Seen = append(a.seen[:0], make([]store.Seen, len(req.Charges))...)
	a.recall()
	return a
}

// recall sets the times of the primary's last answers for the keys. It leaves out states
// that lapse soon: they may be gone when the call arrives.
func (a *attempt) recall() {
	s := a.store
	a.owes = s.memory.recall(a.req.Charges, a.req.Seen, s.clock.now()+s.cfg.Budget.Microseconds())
}

// attempts keeps unused attempts.
var attempts = sync.Pool{New: func() any { return new(attempt) }}

// decision returns the primary's decision, if it comes in time.
//
// A context that ends says nothing about the primary, so the call goes on without its
// caller until the budget ends. Otherwise callers with less patience than the budget would
// never open the breaker, and each would wait for a silent primary.
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

// besides calls the primary on a goroutine of its own: a client may heed neither its
// context nor a budget.
//
// The client's context ends with the patience, so the client sends nothing late.
func (a *attempt) besides(ctx context.Context) (store.Decision, error) {
	a.heard = make(chan struct{})
	timed, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Until(a.end.at)+a.store.cfg.Budget)
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
		at := a.store.clock.now() + a.d.Delay.Microseconds()
		a.d.Receipt = receipt{primary: true, of: a.d.Receipt, at: at, charges: a.req.Charges}
	}
	return a.d, nil
}

// heldUp reports whether this process caused the delay, by garbage collection or on a
// busy machine. The timer is late as well then, and the answer may lie in the socket
// already. Such a stall must not open the breaker.
//
// heldUp takes the answer from the channel, if it comes.
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

// run calls the primary. It gives a grant without a caller back, if the primary can
// cancel.
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

// ask asks the primary for a decision, and passes the states that it lacks along. If the
// primary reports a loss, ask tries again with the lost states.
func (a *attempt) ask(ctx context.Context) (d store.Decision, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = panicked(r)
		}
	}()
	var lost []store.Seen
	for range maxLosses {
		var list []carried
		if a.owes || lost != nil {
			if list, err = a.store.carry(ctx, a.req.Charges, lost); err != nil {
				return d, err
			}
			a.recall()
		}
		err = a.store.telling(ctx, list, func(memories []store.Memory) (err error) {
			req := a.req
			req.Restore = memories
			d, err = a.store.primary.Take(ctx, req)
			return err
		})
		if !errors.Is(err, store.ErrLost) {
			return d, err
		}
		lost = append(lost[:0], a.req.Seen...)
		a.store.lost(a)
	}
	return d, err
}

// maxLosses is the maximum number of losses that one call may find.
const maxLosses = 3

// report passes an outcome to the breaker and the memory.
func (a *attempt) report() {
	switch s := a.store; {
	case a.err == nil:
		s.breaker.succeed()
		s.learn(a)
		s.heed(a)
		if s.brakes.some.Load() {
			go s.deliver()
		}
	case !outage(a.err):
		if s.breaker.succeed(); errors.Is(a.err, store.ErrLost) {
			s.lost(a)
		}
	default:
		a.fail(a.err)
	}
}

// learn stores the states in the primary's answer.
func (s *Store) learn(a *attempt) {
	if at := a.req.Seen[0].At; at > 0 {
		s.clock.heard(int64(at))
	}
	s.memory.learn(a.req.Charges, a.req.Seen, s.clock.now())
}

func (a *attempt) fail(err error) {
	a.store.failed.Store(look(&a.req))
	a.store.breaker.fail(a.began, err)
}

func panicked(r any) error { return fmt.Errorf("fallback: the primary store panicked: %v", r) }

// within runs f until the budget ends. A slow f goes on without its caller and with an
// ended context, so it must not touch the caller's data.
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
