package redistest

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"
)

// Info returns the fields of a section of the server's INFO, for example "stats". It
// costs one connection and one INFO, which the counters include.
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

// has returns nil if a field of INFO has the wanted value.
func (s *Server) has(section, field, want string) error {
	info, err := s.info(section, 5*time.Second)
	if err == nil && info[field] != want {
		err = fmt.Errorf("INFO %s: %s:%s, want %s", section, field, info[field], want)
	}
	return err
}

// Commands returns the number of calls of each command since the server's start. Names
// are in lower case, subcommands like "config|get". Calls from scripts count too, and so
// do the commands that clients send when they connect.
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

// CommandsDuring returns the number of calls of each command while f ran, without zeros.
// A client's first calls include the commands by which it connects, so it must make the
// same calls before: go-redis uses separate connections for pipelines.
func (s *Server) CommandsDuring(f func()) map[string]int {
	s.tb.Helper()
	before := s.Commands()
	f()
	during := s.Commands()
	for name, n := range before {
		during[name] -= n
	}
	// The first INFO counted itself after its answer.
	during["info"]--
	maps.DeleteFunc(during, func(_ string, n int) bool { return n == 0 })
	return during
}
