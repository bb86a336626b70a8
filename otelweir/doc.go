// Package otelweir exports weir's events and numbers to OpenTelemetry: metrics, and events
// and attributes on the caller's span. [Instruments.Observe] is a [weir.Hook]:
//
//	instruments, err := otelweir.New(otelweir.Config{})
//	…
//	limiter, err := weir.New(weir.Config{Store: store, Name: "github", Limits: limits, Hook: instruments.Observe})
//	…
//	instruments.Watch(limiter)
//
// One value serves all limiters of a process. Its instruments are
//
//	name                       unit          kind           attributes
//	weir.decisions             {decision}    counter        weir.limiter, weir.limit, weir.result, weir.source
//	weir.near_limit            {decision}    counter        weir.limiter, weir.limit
//	weir.other_limits          {decision}    counter        weir.limiter
//	weir.wait.duration         s             histogram      weir.limiter, weir.result
//	weir.waiting               {call}        updowncounter  weir.limiter
//	weir.in_flight             {call}        updowncounter  weir.limiter
//	weir.leases.lost           {lease}       counter        weir.limiter
//	weir.store.duration        s             histogram      weir.limiter, weir.operation, weir.source, error.type
//	weir.store.errors          {error}       counter        weir.limiter, weir.operation
//	weir.upstream.refusals     {response}    counter        weir.limiter, http.response.status_code, weir.said
//	weir.upstream.limit        {unit}        gauge          weir.limiter, weir.budget
//	weir.upstream.remaining    {unit}        gauge          weir.limiter, weir.budget
//	weir.pause.duration        s             histogram      weir.limiter, weir.by
//	weir.slowdowns             {slowdown}    counter        weir.limiter, weir.by
//	weir.lifts                 {lift}        counter        weir.limiter, weir.by
//	weir.retries               {attempt}     counter        weir.limiter
//	weir.estimated.units       {unit}        counter        weir.limiter
//	weir.settled.units         {unit}        counter        weir.limiter
//	weir.fallback.state        1             gauge          weir.store
//	weir.fallback.away         s             gauge          weir.store
//	weir.fallback.changes      {change}      counter        weir.store, weir.to
//
// The span of the call's context, if it records, gets
//
//	attributes   weir.limiter, weir.result, weir.degraded   of the last decision
//	event        weir.wait     weir.limiter, weir.result, weir.wait.seconds
//
// No decision makes a span. The file docs/watching.md of the repository says when each
// instrument moves. Every attribute of a metric is bounded: a key never is one. The
// first 64 limits of a limiter and the first 16 budgets that its upstream names have
// series of their own. Further limits count as "other"; further budgets are left out.
package otelweir
