package fallback

// Policy says how calls are decided while the primary store is away.
type Policy uint8

const (
	// Local decides on this process's share of the limits.
	Local Policy = iota
	// Open allows every call.
	Open
	// Closed fails every call with [ErrAway].
	Closed
	// LocalThenClosed is Local for Config.Grace, then Closed.
	LocalThenClosed

	policies
)

var policyNames = [policies]string{"local", "open", "closed", "local_then_closed"}

// String returns the policy in lower case with underscores, fit for a metric's label.
func (p Policy) String() string {
	if p >= policies {
		return "unknown"
	}
	return policyNames[p]
}

var strictness = [policies]int{Open: 0, Local: 1, LocalThenClosed: 2, Closed: 3}
