package limitfile

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/goweir/weir"
	"go.yaml.in/yaml/v4"
)

// What is wanted, in words.
const (
	wantFile       = "a mapping with default, plans and keys"
	wantPlans      = "a mapping of plans' names to lists of limits"
	wantKeys       = "a mapping of keys to plans' names or lists of limits"
	wantLimits     = "a list of limits, as [10/s, 1000/h]"
	wantLimit      = "a limit, as 10/s, 25 per 5 s or {rate: 10, per: 1s}"
	wantUnits      = "a whole number of 1 to 2^50"
	wantPeriod     = "a time of 1µs to 50 years with its unit, as 5s, 1m30s or 2 days"
	wantAlgorithms = "gcra, sliding_window, sliding_counter, fixed_window or aligned_window"
	wantName       = "1 to 64 characters of printable ASCII"
)

// mostLimits is how many limits a plan may have. Each is a charge of every
// request, and an entry of its headers.
const mostLimits = 16

// limits reads a list of limits.
func (m *mistakes) limits(n *yaml.Node, field string) []weir.Limit {
	n = resolve(n)
	if limits, known := m.lists[n]; known {
		return limits // the list of several aliases is one
	}
	switch {
	case n.Kind != yaml.SequenceNode:
		m.at(n, field, wantLimits, describe(n))
		return nil
	case len(n.Content) == 0:
		m.at(n, field, "at least one limit", "an empty list")
		return nil
	case len(n.Content) > mostLimits:
		m.at(n.Content[mostLimits], field, "at most 16 limits", "more")
		return nil
	}
	limits := make([]weir.Limit, 0, len(n.Content))
	for i, at := range n.Content {
		limit, ok := m.limit(at, element(field, i))
		if !ok {
			continue
		}
		for _, other := range limits {
			if other.Name == limit.Name {
				m.at(resolve(at), element(field, i), "a name that no other limit of the list has", quote(limit.Name))
				break
			}
		}
		limits = append(limits, limit)
	}
	limits = slices.Clip(limits) // so that nobody's append writes into it
	m.lists[n] = limits
	return limits
}

// readLimit is what a limit that has aliases was read as.
type readLimit struct {
	limit weir.Limit
	ok    bool
}

// limit reads one limit and names it. What is wrong with it is told once, however
// many aliases it has.
func (m *mistakes) limit(n *yaml.Node, field string) (weir.Limit, bool) {
	n = resolve(n)
	if n.Anchor == "" {
		return m.readLimit(n, field)
	}
	read, known := m.anchored[n]
	if !known {
		read.limit, read.ok = m.readLimit(n, field)
		m.anchored[n] = read
	}
	return read.limit, read.ok
}

func (m *mistakes) readLimit(n *yaml.Node, field string) (limit weir.Limit, ok bool) {
	switch {
	case n.Kind == yaml.MappingNode:
		limit, ok = m.longLimit(n, field)
	case n.Kind == yaml.ScalarNode && n.Tag == tagText:
		if limit, ok = shortLimit(text(n)); !ok {
			m.at(n, field, wantLimit, describe(n))
		}
	default:
		m.at(n, field, wantLimit, describe(n))
	}
	if !ok {
		return weir.Limit{}, false
	}
	if err := limit.Validate(); err != nil {
		m.invalid(n, field, limit, err)
		return weir.Limit{}, false
	}
	return limit.WithName(limit.Policy()), true
}

// invalid adds what [weir.Limit.Validate] found: a name, or a burst, as the
// other fields are right once they are read.
func (m *mistakes) invalid(n *yaml.Node, field string, limit weir.Limit, err error) {
	e := &weir.ConfigError{Want: wantLimit, Got: err.Error()}
	errors.As(err, &e)
	for _, name := range []string{"burst", "name"} {
		if strings.EqualFold(e.Field, "Limit."+name) && lookup(n, name) != nil {
			n, field = lookup(n, name), child(field, name)
		}
	}
	want, got := e.Want, describe(n)
	if limit.Burst > 0 && limit.Algorithm != weir.GCRA {
		want = "none with a window algorithm"
	}
	if n.Kind == yaml.MappingNode {
		got = e.Got
	}
	m.at(n, field, want, got)
}

// shortLimit reads a limit as 10/s or 25 per 5 s.
func shortLimit(s string) (limit weir.Limit, ok bool) {
	rate, per, ok := strings.Cut(s, "/")
	if !ok {
		if rate, per, ok = strings.Cut(s, " per "); !ok {
			return limit, false
		}
	}
	if limit.Rate, ok = parseUnits(strings.Trim(rate, " ")); !ok {
		return limit, false
	}
	limit.Period, ok = parsePeriod(strings.Trim(per, " "))
	return limit, ok
}

// mostNames is how many names of a limit are read: more than it has fields, so
// that a few mistakes are told each for itself.
const mostNames = 16

// longLimit reads a limit written as a mapping. It is not ok when a field is
// wrong.
func (m *mistakes) longLimit(n *yaml.Node, field string) (limit weir.Limit, ok bool) {
	if names := len(n.Content) / 2; names > mostNames {
		m.at(n, field, "algorithm, burst, name, per and rate", "a mapping of "+strconv.Itoa(names)+" names")
		return limit, false
	}
	before := len(m.told) + m.more
	for _, e := range m.entries(n, field, wantLimit) {
		at := child(field, e.name)
		switch e.name {
		case "rate":
			limit.Rate = m.units(e.value, at)
		case "burst":
			limit.Burst = m.units(e.value, at)
		case "per":
			limit.Period, ok = parsePeriod(text(e.value))
			if !ok || !isText(e.value) {
				m.at(e.value, at, wantPeriod, describe(e.value))
			}
		case "algorithm":
			if err := limit.Algorithm.UnmarshalText([]byte(text(e.value))); err != nil || !isText(e.value) || e.value.Value == "" {
				m.at(e.value, at, wantAlgorithms, describe(e.value))
			}
		case "name":
			limit.Name = text(e.value)
			if !isText(e.value) || limit.Name == "" {
				m.at(e.value, at, wantName, describe(e.value))
			}
		default:
			m.at(e.key, at, "one of algorithm, burst, name, per and rate", quote(e.name))
		}
	}
	for _, required := range []string{"rate", "per"} {
		if lookup(n, required) == nil {
			m.at(n, field, wantLimit, "none of the field "+required)
		}
	}
	return limit, before == len(m.told)+m.more
}

// units reads a rate or a burst.
func (m *mistakes) units(n *yaml.Node, field string) int64 {
	units, ok := parseUnits(text(n))
	if !ok || n.Kind != yaml.ScalarNode || n.Tag != tagInt {
		m.at(n, field, wantUnits, describe(n))
	}
	return units
}
