package llm

import "bytes"

// inEvents reads a stream of server-sent events.
func inEvents(p Provider, head, tail []byte, whole bool) (u Usage, found bool) {
	s := stream{provider: p, usage: Usage{-1, 0, -1}, last: whole}
	s.read(head)
	if line, rest, ended := bytes.Cut(lines(tail), []byte("\n")); ended || whole {
		s.torn(line)
		s.read(rest)
	}
	if !s.last {
		s.usage.Output = -1 // It broke, and its counts are of an earlier moment.
	}
	return s.usage, s.usage.Input >= 0 || s.usage.Output >= 0
}

// stream is the usage that the events of a stream report so far.
type stream struct {
	provider Provider
	usage    Usage
	last     bool // no later event tells usage
}

// lines returns text with ends of lines of one kind.
func lines(text []byte) []byte {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	return bytes.ReplaceAll(text, []byte("\r"), []byte("\n"))
}

// read reads events. The last one may lack its empty line, as some servers write it.
func (s *stream) read(text []byte) {
	var data []byte
	for line := range bytes.SplitSeq(lines(bytes.TrimPrefix(text, []byte("\ufeff"))), []byte("\n")) {
		value, ok := bytes.CutPrefix(line, []byte("data:"))
		switch {
		case ok && data != nil:
			data = append(append(data, '\n'), value...)
		case ok:
			data = bytes.Clone(value)
		case len(line) == 0:
			s.event(data)
			data = nil
		}
	}
	s.event(data)
}

// event reads the data of an event, and reports whether it is JSON.
func (s *stream) event(data []byte) bool {
	var m message
	if !parse(data, &m) {
		s.last = s.last || string(bytes.TrimSpace(data)) == "[DONE]"
		return false
	}
	if u, found := m.read(s.provider); found {
		s.usage.add(u)
	}
	s.last = s.last || m.last()
	return true
}

// torn reads a line without its beginning, or all of it.
func (s *stream) torn(line []byte) {
	if data, whole := bytes.CutPrefix(line, []byte("data:")); whole && s.event(data) {
		return
	}
	if u, depth := atEnd(s.provider, line); depth > 0 {
		s.usage.add(u)
		s.last = s.last || s.provider == OpenAI && depth == 2 // response.completed
	}
}
