// Package dashboard serves one live page over the state that weir keeps in Redis, and
// over the events of this process: admitted, refused and waiting calls, paused keys, busy
// keys, budgets of upstreams, and the health of Redis.
//
//	dash, err := dashboard.New(dashboard.Config{Client: client})
//	limiter, err := weir.New(weir.Config{…, Hook: dash})
//	mux.Handle("/admin/weir/", authenticate(dash))
//
// # Authentication
//
// The page has no users and no passwords: the caller must authenticate. All visitors see
// names of limiters, loads and errors. With Config.ShowKeys they also see keys, and with
// Config.AllowChanges they can pause, resume and reset keys.
//
// # Paths
//
// The last segment of a request's path chooses the answer, so a Dashboard works below any
// prefix, with or without http.StripPrefix:
//
//	path             method   answer
//	<prefix>/        GET      the page
//	<prefix>/events  GET      the page's data, live, as server-sent events
//	<prefix>/state   GET      the page's data as JSON, once
//	<prefix>/save    GET      the page with its data, as one HTML file to keep
//	<prefix>/change  POST     pauses, resumes or resets a key; 403 without AllowChanges
//
// # Costs
//
// One reader reads Redis, and only while a browser shows the page, however many browsers
// there are. A reading takes at most one GET for each of 3,000 keys, and a SCAN over as
// many: under 1 % of a core of Redis at one reading per second. With more keys, a reading
// has new keys first, then busy ones and those with waiting calls or brakes; the others
// take turns. The Hook takes 150 to 300 ns per decision, without allocations, and bounded
// memory.
package dashboard
