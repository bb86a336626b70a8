package redistest

import (
	"errors"
	"fmt"
)

// Stop halts the server with SIGSTOP. It answers nothing, but the kernel still accepts
// connections and data for it. Cont, Kill and Restart end the halt.
func (s *Server) Stop() {
	s.tb.Helper()
	if err := s.proc.stop(); err != nil {
		s.tb.Fatalf("redistest: stop: %v", err)
	}
	await(s.tb, "the server goes on after SIGSTOP", func() error {
		if !s.proc.halted() {
			return errors.New("still running")
		}
		return nil
	})
}

// Cont continues a stopped server, which then answers all that has arrived meanwhile.
func (s *Server) Cont() {
	s.tb.Helper()
	if err := s.proc.cont(); err != nil {
		s.tb.Fatalf("redistest: cont: %v", err)
	}
}

// Kill ends the server with SIGKILL, running or stopped, and returns when it is gone. Its
// connections are reset, and new ones refused. Killing it again does nothing.
func (s *Server) Kill() { s.proc.kill() }

// Restart starts the server again on the same port, without its data, and returns when it
// answers. It kills a running server first. A cluster node keeps its name and its slots,
// but no keys.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Kill()
	var fatal error
	// On systems where a port can't be claimed, any connection may have it as its local
	// port until it closes.
	err := poll(patience, nil, func() error {
		err := s.launch()
		if errors.Is(err, errPortTaken) {
			return err
		}
		fatal = err
		return nil
	})
	if err = errors.Join(err, fatal); err != nil {
		s.tb.Fatal(fmt.Errorf("redistest: restart: %w", err))
	}
}
