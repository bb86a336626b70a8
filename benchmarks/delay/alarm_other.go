//go:build !linux

package delay

import "time"

// timer is one of package time.
type timer struct {
	*time.Timer
	ended chan struct{}
}

func newAlarm() (alarm, error) { return timer{time.NewTimer(time.Hour), make(chan struct{})}, nil }

func (t timer) set(d time.Duration) { t.Reset(d) }

func (t timer) wait() bool {
	select {
	case <-t.C:
		return true
	case <-t.ended:
		return false
	}
}

func (t timer) end() { close(t.ended) }
