package weir

import "context"

// Starter is a Store that can begin to decide a request and go on by itself, so
// that its caller may wait for other things as well, and leave when it likes. For a
// store around it that spares a goroutine for each call.
type Starter interface {
	// Start begins what Take does with a valid request, and returns without waiting
	// for anybody. It keeps nothing of the request but its texts. ctx is what goes
	// to the server: when it ends nobody is told of that.
	//
	// It returns nil where only Take can decide, and has charged nothing then: for
	// requests that are Cancelable or ask for a lease always. of is the store that
	// the caller would ask otherwise: nil is returned as well when it is not this
	// one but something around it, which would be passed by.
	Start(ctx context.Context, of Store, req *Request) Started
}

// Started is a request that is being decided. It is for one caller, and over after
// Decision, or when Leave has reported true.
type Started interface {
	// Done gets one value, when the request is decided.
	Done() <-chan struct{}
	// Decision returns what Take would have returned, once after the value of Done.
	// done is false where Take is needed after all: nothing was charged.
	Decision() (d Decision, done bool, err error)
	// Leave says that nobody waits any more, so that what was not sent need not be.
	// It reports false, and does nothing, when the value of Done is there or about
	// to come.
	Leave() bool
}
