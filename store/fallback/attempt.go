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

// errBudget is the error of a call that took too long.
var errBudget = errors.New("fallback: no answer within the budget")

const (
	// maxPatience is the longest that a call which may wait asks the primary.
	maxPatience = time.Second
	// firstPatience is the shortest until the primary has answered for the first time:
	// connecting may take several round trips.
	firstPatience = time.Second
)

// patience is how long a call waits for the primary. The last tenth of the
// budget is kept for deciding locally, and for timers that are late.
func (c *Config) patience() time.Duration { return c.Budget - c.Budget/10 }

// ending returns the end of the patience of a call that comes now.
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

// attempt is a call of the primary. It may outlast its caller, who then uses the
// request's charges for another.
type attempt struct {
	store *Store
	req   store.Request
	room  [1]store.Charge // of the common case, as seen
	seen  [1]store.Seen
	owes  bool // the primary does not know all that it has to
	began time.Time
	end   *ending // of its patience
	ctx   endingContext
	stage atomic.Int32
	heard chan struct{} // closed when answered in time, on a goroutine of its own
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

// recall sets when the primary last spoke of the keys. A state that lapses soon does not
// count: it may be gone when the call arrives.
func (a *attempt) recall() {
	s := a.store
	a.owes = s.memory.recall(a.req.Charges, a.req.Seen, s.clock.now()+s.cfg.Budget.Microseconds())
}

// attempts keeps unused attempts.
var attempts = sync.Pool{New: func() any { return new(attempt) }}

// decision returns the primary's decision, if it comes in time.
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
// At the end of the patience the client's context ends. So the client sends nothing late.
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

// run asks the primary. A grant without a caller is given back, if that is possible.
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

// ask asks the primary, and first makes good its losses.
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

// maxLosses is how often a call may find a state that was lost.
const maxLosses = 3

// report tells the breaker, and the memory, of an answer.
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

// learn notes the primary's answer.
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

// within runs f for as long as the budget lasts. f goes on by itself when it is
// not done by then, so it must not touch anything of the caller's; its context
// is over.
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
