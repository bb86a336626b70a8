package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
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

// query sends one command to the server at addr and returns the reply as text, with a
// line for each element of an array. timeout is for all of that.
//
// It speaks the protocol itself, on a connection of its own: a client's handshake would
// add to the commands that a test counts.
func query(addr string, timeout time.Duration, args ...string) (string, error) {
	conn, err := net.DialTimeout("tcp", addr, timeout)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, arg := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(arg), arg)
	}
	if _, err := io.WriteString(conn, b.String()); err != nil {
		return "", err
	}
	return readReply(bufio.NewReader(conn))
}

// readReply reads one reply in the second version of the protocol. An error
// reply becomes an error.
func readReply(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return "", err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return "", errors.New("redistest: empty line in place of a reply")
	}
	rest := line[1:]
	switch line[0] {
	case '+', ':':
		return rest, nil
	case '-':
		return "", errors.New(rest)
	case '$':
		n, err := strconv.Atoi(rest)
		if err != nil || n < 0 {
			return "", err
		}
		bulk := make([]byte, n+len("\r\n"))
		_, err = io.ReadFull(r, bulk)
		return string(bulk[:n]), err
	case '*':
		n, err := strconv.Atoi(rest)
		if err != nil {
			return "", err
		}
		var lines []string
		for range n {
			element, err := readReply(r)
			if err != nil {
				return "", err
			}
			lines = append(lines, element)
		}
		return strings.Join(lines, "\n"), nil
	}
	return "", fmt.Errorf("redistest: not a reply: %q", line)
}

// fields parses the lines of INFO and of CLUSTER INFO, "name:value" each.
func fields(text string) map[string]string {
	m := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			m[name] = value
		}
	}
	return m
}
