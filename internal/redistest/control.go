package redistest

import (
	"errors"
	"fmt"
)

// Stop halts the server with SIGSTOP: it answers nothing any more, while the
// kernel goes on accepting connections and data for it. Cont, Kill and Restart
// end that.
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

// Cont lets a stopped server go on. It then answers what has arrived meanwhile.
func (s *Server) Cont() {
	s.tb.Helper()
	if err := s.proc.cont(); err != nil {
		s.tb.Fatalf("redistest: cont: %v", err)
	}
}

// Kill ends the server with SIGKILL, running or stopped, and returns when it is
// gone: connections to it are reset, new ones refused. A killed server may be
// killed again.
func (s *Server) Kill() { s.proc.kill() }

// Restart starts the server again, after killing it if it runs, on the same
// port and with an empty memory, and returns when it answers. A cluster node
// keeps its name and its slots, but no keys.
func (s *Server) Restart() {
	s.tb.Helper()
	s.Kill()
	var fatal error
	// Where a port cannot be kept, a connection from anywhere to anywhere may
	// have got it for its own end, and lets it go when it closes.
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
