package redistest

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"
)

// Info returns a section of the server's INFO, "stats" for example, by field.
// Asking costs one connection and one INFO, which the counters include.
func (s *Server) Info(section string) map[string]string {
	s.tb.Helper()
	info, err := s.info(section, 5*time.Second)
	if err != nil {
		s.tb.Fatalf("redistest: INFO %s: %v", section, err)
	}
	return info
}

func (s *Server) info(section string, timeout time.Duration) (map[string]string, error) {
	text, err := query(s.Addr, timeout, "INFO", section)
	return fields(text), err
}

// has returns nil when a field of INFO has the wanted value.
func (s *Server) has(section, field, want string) error {
	info, err := s.info(section, 5*time.Second)
	if err == nil && info[field] != want {
		err = fmt.Errorf("INFO %s: %s:%s, want %s", section, field, info[field], want)
	}
	return err
}

// Commands returns how often each command was called since the server was
// started, by its name in lower case, a subcommand as "config|get". Calls from
// within scripts count as well, and so does what clients send of their own when
// they connect.
func (s *Server) Commands() map[string]int {
	s.tb.Helper()
	calls := make(map[string]int)
	for field, value := range s.Info("commandstats") {
		name, ok := strings.CutPrefix(field, "cmdstat_")
		if !ok {
			continue
		}
		count, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
		n, err := strconv.Atoi(count)
		if err != nil {
			s.tb.Fatalf("redistest: INFO commandstats: %s:%s", field, value)
		}
		calls[name] = n
	}
	return calls
}

// CommandsDuring returns how often each command was called while f ran; those
// that were not are missing. A client must have done the same before, or else
// the commands by which it connects are among them: go-redis has pipelines use
// connections of their own.
func (s *Server) CommandsDuring(f func()) map[string]int {
	s.tb.Helper()
	before := s.Commands()
	f()
	during := s.Commands()
	for name, n := range before {
		during[name] -= n
	}
	// The first INFO counted itself only after it had answered.
	during["info"]--
	maps.DeleteFunc(during, func(_ string, n int) bool { return n == 0 })
	return during
}
