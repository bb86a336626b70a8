package fallback

import (
	"errors"
	"fmt"
	"os"

	"github.com/goweir/weir/store"
)

// ErrAway is the error of calls under Closed in an outage, beside the primary's own error.
var ErrAway = errors.New("fallback: the primary store is away")

// errBudget is the error of a call without an answer within the budget.
var errBudget = fmt.Errorf("fallback: no answer within the budget: %w", os.ErrDeadlineExceeded)

// errAgain means that a started call has charged nothing, and has to be asked again.
var errAgain = errors.New("fallback: ask again")

// KeyError is an error of a primary store that may concern one key alone, such as a
// foreign value under that key. The primary has answered, so this is no outage. The
// policy decides calls for that key only.
type KeyError interface {
	error
	// OfOneKey reports whether calls for other keys are safe.
	OfOneKey() bool
}

// outage returns err if it means that the primary can't decide, or else nil.
func outage(err error) error {
	var ofKey KeyError
	if refused(err) || errors.Is(err, store.ErrLost) || errors.As(err, &ofKey) && ofKey.OfOneKey() {
		return nil
	}
	return err
}

// refused reports whether an error is a mistake in the request.
func refused(err error) bool {
	return errors.Is(err, store.ErrConfig) || errors.Is(err, store.ErrUnsupported)
}

func panicked(r any) error { return fmt.Errorf("fallback: the primary store panicked: %v", r) }
