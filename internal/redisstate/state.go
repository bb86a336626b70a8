package redisstate

import (
	"slices"
	"strings"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
)

// State is a key's state as it is stored. A log has no entries yet: see [State.ReadLog].
type State struct {
	exact.Key
	// At is the latest server time in the state. A server behind it has stepped its clock back.
	At int64
	// Logged says that the key has a log, for a sliding window.
	Logged bool
	// Reset says that the key was reset. Restored says that a loss was restored.
	Reset, Restored bool

	log logHead
}

// MaxSize is above the number of bytes of any state: 64 limits with all their numbers.
const MaxSize = 128 << 10

// maxParts is the maximum number of limits, as in the scripts.
const maxParts = 64

// Parse reads the value of a key's state.
func Parse(value string) (*State, error) {
	switch {
	case len(value) > MaxSize:
		return nil, wrong("it is too long")
	case value == "" || value[0] < '0' || value[0] > '9':
		return nil, wrong("it starts with no version")
	case value[0] != '1':
		return nil, ErrVersion
	}
	parts := strings.Split(value[1:], "|")
	if len(parts) < 2 {
		return nil, wrong("it has no birth")
	}
	s := &State{}
	var ok bool
	if s.Born, ok = number(parts[1]); !ok {
		return nil, wrong("its birth is out of bounds")
	}
	s.At = s.Born
	if parts[0] != "" {
		for text := range strings.SplitSeq(parts[0], ";") {
			if err := s.readPart(text); err != nil {
				return nil, err
			}
		}
	}
	seen := ""
	for _, text := range parts[2:] {
		if text == "" || strings.Contains(seen, text[:1]) {
			return nil, wrong("it has an unknown part")
		}
		seen += text[:1]
		if err := s.readOptional(text[0], text[1:]); err != nil {
			return nil, err
		}
	}
	slides := func(p exact.Part) bool { return p.Rule.Limit.Algorithm == store.SlidingWindow }
	if !s.Logged && slices.ContainsFunc(s.Parts, slides) {
		return nil, wrong("a sliding window has no log")
	}
	return s, nil
}

// readPart reads limit=numbers~left.
func (s *State) readPart(text string) error {
	spec, rest, ok := strings.Cut(text, "=")
	if !ok || len(s.Parts) == maxParts {
		return wrong("a limit has no numbers, or there are too many limits")
	}
	l, err := ParseLimit(spec)
	if err != nil {
		return err
	}
	p := exact.Part{Rule: exact.RuleOf(&l)}
	if slices.ContainsFunc(s.Parts, func(p exact.Part) bool { return p.Rule.Is(&l) }) {
		return wrong("a limit stands there twice")
	}
	rest, left, leaves := strings.Cut(rest, "~")
	if leaves {
		if p.Left, ok = number(left); !ok || p.Left == 0 {
			return wrong("the end of a limit is out of bounds")
		}
	}
	if !readNumbers(&p, rest, s.Born) {
		return wrong("numbers of a limit are out of bounds")
	}
	s.Parts = append(s.Parts, p)
	return nil
}

// readNumbers reads the numbers of a limit. Those of GCRA count from the birth.
func readNumbers(p *exact.Part, text string, born int64) bool {
	a, b, c := &p.State.A, &p.State.B, &p.State.C
	switch p.Rule.Limit.Algorithm {
	case store.GCRA:
		ok := numbers(text, a, b) > 0 && *a < maxAfterBirth && *b < p.Rule.Pace.Den
		*a += born
		return ok
	case store.SlidingWindow:
		return numbers(text, a, b) == 2
	case store.SlidingCounter:
		n := numbers(text, a, b, c, &p.Opened[0], &p.Opened[1])
		return (n == 3 || n == 5) && max(*b, *c) <= exact.MostUnits
	default:
		n := numbers(text, a, b, &p.Opened[0])
		return n >= 2 && *b <= exact.MostUnits
	}
}

// maxAfterBirth bounds times counted from the birth, in µs.
const maxAfterBirth = 1 << 52

// readOptional reads a part behind the birth, by its letter.
func (s *State) readOptional(kind byte, text string) error {
	switch kind {
	case 'q':
		return s.readQueue(text)
	case 'c':
		var ok bool
		if s.Clock, ok = storedClock(text); !ok {
			return wrong("its clock is out of bounds")
		}
		s.At = max(s.At, s.Clock.At)
	case 'l':
		s.Logged = true
		return s.log.read(text, s.Born)
	case 'r':
		s.Reset, s.Restored = text == "", text != ""
		if strings.Trim(text, "0123456789.;") != "" {
			return wrong("restored units are no numbers")
		}
	default:
		return wrong("it has an unknown part")
	}
	return nil
}

// readQueue reads the queue. It leaves out the credits behind it, which only settling needs.
func (s *State) readQueue(text string) error {
	text, credits, _ := strings.Cut(text, ",")
	q := &s.Queue
	var at int64
	if numbers(text, &q.Last, &q.First, &q.Cost, &q.Tag, &q.Seq, &at) != 6 || max(q.Last, q.First) >= maxAfterBirth || q.Cost > store.MaxUnits {
		return wrong("its queue is out of bounds")
	}
	if strings.Trim(credits, "0123456789.,") != "" {
		return wrong("its credits are no numbers")
	}
	if q.Last > 0 {
		q.Last += s.Born
	}
	if q.First > 0 {
		q.First += s.Born
	}
	s.At = max(s.At, at)
	return nil
}
