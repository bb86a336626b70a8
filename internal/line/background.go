package line

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goweir/weir/store"
)

type backgroundKey struct{}

// anyBackground spares programs without background calls the search in a context, which
// may be a long chain.
var anyBackground atomic.Bool

// WithBackground returns a context of calls of the background class.
func WithBackground(ctx context.Context) context.Context {
	anyBackground.Store(true)
	return context.WithValue(ctx, backgroundKey{}, true)
}

// InBackground reports whether the calls of a context are of the background class.
func InBackground(ctx context.Context) bool {
	return anyBackground.Load() && ctx.Value(backgroundKey{}) != nil
}

// Background holds the lines of background calls, one for each key. They book nothing
// ahead: the first call of a line has the token and asks the store again when there may be
// room, and the others wait for the token. The zero Background is ready.
type Background struct {
	mu    sync.Mutex
	lines map[string]*Turns
}

// Turns is the line of one key.
type Turns struct {
	of      *Background
	key     string
	calls   int
	token   chan struct{}
	refusal store.Decision // the last one; zero: none
	free    time.Time      // when its RetryAfter is over
}

// Enter counts a call of a key until Exit.
func (b *Background) Enter(key string) *Turns {
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.lines[key]
	if t == nil {
		t = &Turns{of: b, key: key, token: make(chan struct{}, 1)}
		t.token <- struct{}{}
		if b.lines == nil {
			b.lines = make(map[string]*Turns)
		}
		b.lines[key] = t
	}
	t.calls++
	return t
}

// Exit undoes Enter.
func (t *Turns) Exit() {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	if t.calls--; t.calls == 0 {
		delete(t.of.lines, t.key)
	}
}

// Take takes the line's token. If another call has it, Take calls waits and waits for the
// token, until ctx ends or the instant end; the zero end: no bound. After an error the call
// does not have the token.
func (t *Turns) Take(ctx context.Context, end time.Time, waits func()) error {
	select {
	case <-t.token:
		return nil
	default:
	}
	waits()
	if !end.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end)
		defer cancel()
	}
	select {
	case <-t.token:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Pass hands the token on.
func (t *Turns) Pass() { t.token <- struct{}{} }

// Refused keeps a refusal for the calls behind.
func (t *Turns) Refused(d *store.Decision) {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	t.refusal, t.free = *d, time.Now().Add(d.RetryAfter)
}

// Refusal returns the last refusal, with RetryAfter as of now: at least 1 ms. The
// zero Reason: there was none.
func (t *Turns) Refusal() store.Decision {
	t.of.mu.Lock()
	defer t.of.mu.Unlock()
	d := t.refusal
	d.RetryAfter = max(time.Until(t.free), time.Millisecond)
	return d
}
