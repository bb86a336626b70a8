package main

import (
	"net/http"
	"sync"
	"time"
)

// lateness measures how late the machine runs this process, and how long its calls take: the
// providers answer at once.
type lateness struct {
	mu        sync.Mutex
	worst     time.Duration
	end, done chan struct{}
}

func watchLateness() *lateness {
	l := &lateness{end: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		const nap = 2 * time.Millisecond
		for {
			start := time.Now()
			select {
			case <-l.end:
				return
			case <-time.After(nap):
				l.note(time.Since(start) - nap)
			}
		}
	}()
	return l
}

func (l *lateness) note(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.worst = max(l.worst, d)
}

// stop returns the maximum delay. It is called once.
func (l *lateness) stop() time.Duration {
	close(l.end)
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.worst
}

// timed notes how long its calls take.
type timed struct {
	*http.Transport
	late *lateness
}

func (t timed) RoundTrip(req *http.Request) (*http.Response, error) {
	start := time.Now()
	defer func() { t.late.note(time.Since(start)) }()
	return t.Transport.RoundTrip(req)
}
