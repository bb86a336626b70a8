package fallback

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/goweir/weir/store"
)

// answered is a request that was decided with an error.
type answered struct{ err error }

func (answered) Done() <-chan struct{} { return nil }
func (answered) Leave() bool           { return false }

func (a answered) Decision() (store.Decision, bool, error) { return store.Decision{}, true, a.err }

// TestAnswerBesideTheEnd: an error that was there in time is what it is, however
// late it is heard of; only the end of a context is that of the patience.
func TestAnswerBesideTheEnd(t *testing.T) {
	t.Parallel()
	down := errors.New("WRONGTYPE")
	for _, c := range []struct{ err, want error }{
		{down, down},
		{nil, nil},
		{context.Canceled, errBudget},
		{fmt.Errorf("client: %w", context.DeadlineExceeded), errBudget},
	} {
		a := &attempt{end: &ending{over: make(chan struct{})}}
		close(a.end.over)
		if a.take(answered{c.err}); !errors.Is(a.err, c.want) || c.want == nil && a.err != nil {
			t.Errorf("%v became %v, want %v", c.err, a.err, c.want)
		}
	}
}
