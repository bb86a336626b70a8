package fallback

import "github.com/goweir/weir/store"

// Change says that the primary store went away, as the breaker has opened, or came back.
type Change = store.Change

// State says which side decides.
type State uint8

const (
	StateClosed   State = iota // the primary decides
	StateOpen                  // the policy decides
	StateHalfOpen              // the policy decides while the primary is probed
)

var stateNames = [...]string{"closed", "open", "half_open"}

// String returns the state in lower case with underscores, fit for a metric's label.
func (s State) String() string {
	if int(s) >= len(stateNames) {
		return "unknown"
	}
	return stateNames[s]
}
