// Package dashboard serves one live page over the state that weir keeps in Redis, and
// over the events of this process: admitted, refused and waiting calls, paused keys, busy
// keys, budgets of upstreams, and the health of Redis.
//
//	dash, err := dashboard.New(dashboard.Config{Client: client})
//	limiter, err := weir.New(weir.Config{…, Hook: dash.Observe})
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
// To let only some visitors make changes, authorise requests by their method: each change
// is a POST. A rule for one path is too narrow, as <prefix>/x/change is a change too.
//
// # Costs
//
// Redis is read only while a browser shows the page, by one reader, however many browsers
// there are. A reading takes at most one GETRANGE for each of 3,000 keys, and a SCAN over as
// many: under 1 % of a core of Redis at one reading a second. With more keys, new ones come
// first, then those with waiting calls or brakes and the busiest; the others take turns. The
// Hook takes 150 to 300 ns a decision, without allocations, and bounded memory.
package dashboard
