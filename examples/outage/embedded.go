package main

import (
	"fmt"

	"github.com/alicebob/miniredis/v2"
)

// embedded is a Redis inside this process.
type embedded struct {
	memory *miniredis.Miniredis
	at     string
	hung   bool
}

// startEmbedded starts one at an address from free. If another program has taken the
// address meanwhile, it tries another one.
func startEmbedded(free func() (string, error)) (e *embedded, err error) {
	for range 10 {
		at, none := free()
		if none != nil {
			return nil, none
		}
		e = &embedded{at: at}
		if err = e.restart(false); err == nil {
			return e, nil
		}
	}
	return nil, err
}

func (e *embedded) describe() string {
	return "embedded in this process, at " + e.at + " (-real takes a real redis-server)"
}

func (e *embedded) addr() string { return e.at }

func (e *embedded) kill() error {
	e.memory.Close()
	return nil
}

// hang takes the lock that every command needs. Commands that arrive meanwhile run after
// wake, like those in the sockets of a stopped process.
func (e *embedded) hang() error {
	e.memory.Lock()
	e.hung = true
	return nil
}

func (e *embedded) wake() error {
	e.hung = false
	e.memory.Unlock()
	return nil
}

func (e *embedded) restart(keep bool) error {
	if !keep {
		e.memory = miniredis.NewMiniRedis()
		e.memory.ClockTTL(true) // keys expire over time, as in a real Redis
	}
	if err := e.memory.StartAddr(e.at); err != nil {
		return fmt.Errorf("the embedded redis: %w", err)
	}
	return nil
}

func (e *embedded) close() {
	if e.hung {
		_ = e.wake()
	}
	e.memory.Close()
}
