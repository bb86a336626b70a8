package middleware

import (
	"strconv"
	"time"
)

// Delay queues requests briefly instead of refusing them. A request that can't be served
// now books its slot and is served at that slot, in order across all processes (see
// weir.WaitLevels). With Config.Levels it waits for its own limits first and then for each
// wider level. A later pause delays it too. A client that leaves gives its slot back,
// except that over HTTP/1 a server does not notice while the request has an unread body.
// The zero value is off: requests are served now or refused.
//
// If the store books nothing ahead, as a redisstore without scripts, every request is
// answered with 500.
type Delay struct {
	// Max bounds the wait. A request with a later slot is refused at once. Above 0,
	// and below the timeouts of the server and the clients.
	Max time.Duration
	// MaxWaiting bounds the requests of this middleware that wait at once, over all
	// keys. Further ones are served now or refused. A request counts from its start,
	// so also while the store is asked. Required with Max: each waiting request
	// keeps a connection and a goroutine.
	MaxWaiting int
}

func (d *Delay) validate() error {
	switch {
	case d.Max < 0:
		return invalid("Delay.Max", "0 or more", d.Max.String())
	case d.Max > 0 && d.MaxWaiting < 1:
		return invalid("Delay.MaxWaiting", "1 or more, with Delay.Max", strconv.Itoa(d.MaxWaiting))
	case d.Max == 0 && d.MaxWaiting != 0:
		return invalid("Delay.MaxWaiting", "0 without Delay.Max", strconv.Itoa(d.MaxWaiting))
	}
	return nil
}
