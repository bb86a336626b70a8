// Package plancache keeps the answers of a plan lookup, as from a database, for
// a while: the limits of a customer, the name of their plan, or whatever else a
// request's limits are made from.
//
//	plans, err := plancache.New(plancache.Config[string]{
//		Lookup: planOfUser, // func(ctx context.Context, user string) (string, error)
//		TTL:    time.Minute,
//		Stale:  time.Hour,
//	})
//
// Caching is a choice: without it a plan is looked up for every request, and a
// change of a plan holds from the next request on. With it a change holds once
// the TTL is over, or at once where [Cache.Forget] is called: in the process that
// learns of the change, and in the others when they are told.
//
// A customer who has no plan is an answer, not an error: return the zero value,
// or the plan of those who have none. It is kept as any other. An error means
// that nothing is known; what is known from before is then returned instead, for
// as long as Config.Stale says.
//
// A Cache starts no goroutine and needs no Close. It is bounded by
// Config.MaxEntries whatever keys are asked for.
package plancache
