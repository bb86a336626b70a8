package limitfile

import (
	"errors"
	"slices"
	"strings"

	"github.com/goweir/weir"
	"go.yaml.in/yaml/v4"
)

// The right values, in words.
const (
	wantLimits     = "a list of limits, as [10/s, 1000/h]"
	wantLimit      = "a limit, as 10/s, 25 per 5 s or {rate: 10, per: 1s}"
	wantUnits      = "a whole number of 1 to 2^50"
	wantPeriod     = "a time of 1µs to 50 years with its unit, as 5s, 1m30s or 2 days"
	wantAlgorithms = "gcra, sliding_window, sliding_counter, fixed_window or aligned_window"
	wantName       = "1 to 64 characters of printable ASCII"
)

// mostLimits bounds the limits of a plan. Each is a charge of every request, and
// an entry of its headers.
const mostLimits = 16

func (r *reader) limits(n *yaml.Node, field string) []weir.Limit {
	switch {
	case n.Kind != yaml.SequenceNode:
		r.at(n, field, wantLimits, describe(n))
		return nil
	case len(n.Content) == 0:
		r.at(n, field, "at least one limit", "an empty list")
		return nil
	case len(n.Content) > mostLimits:
		r.at(n.Content[mostLimits], field, "at most 16 limits", "more")
		return nil
	}
	limits := make([]weir.Limit, 0, len(n.Content))
	for i, at := range n.Content {
		limit, ok := r.limit(at, element(field, i))
		if !ok {
			continue
		}
		if slices.ContainsFunc(limits, func(other weir.Limit) bool { return other.Name == limit.Name }) {
			r.at(at, element(field, i), "a name that no other limit of the list has", quote(limit.Name))
		}
		limits = append(limits, limit)
	}
	return slices.Clip(limits) // so that an append copies it
}

// limit reads one limit and names it.
func (r *reader) limit(n *yaml.Node, field string) (limit weir.Limit, ok bool) {
	if n.Kind == yaml.MappingNode {
		limit, ok = r.longLimit(n, field)
	} else {
		if n.Tag == tagText {
			limit, ok = shortLimit(n.Value)
		}
		if !ok {
			r.at(n, field, wantLimit, describe(n))
		}
	}
	if !ok {
		return weir.Limit{}, false
	}
	return limit.WithName(limit.Policy()), true
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

// longLimit reads a limit written as a mapping. It reports false if a field is
// wrong.
func (r *reader) longLimit(n *yaml.Node, field string) (limit weir.Limit, ok bool) {
	before := len(r.found)
	fields := r.fields(n, field, wantLimit, "algorithm", "burst", "name", "per", "rate")
	for name, value := range fields {
		at := child(field, name)
		switch name {
		case "rate":
			limit.Rate = r.units(value, at)
		case "burst":
			limit.Burst = r.units(value, at)
		case "per":
			limit.Period, ok = parsePeriod(value.Value)
			if !ok || !isText(value) {
				r.at(value, at, wantPeriod, describe(value))
			}
		case "algorithm":
			if err := limit.Algorithm.UnmarshalText([]byte(value.Value)); err != nil || !isText(value) || value.Value == "" {
				r.at(value, at, wantAlgorithms, describe(value))
			}
		case "name":
			limit.Name = value.Value
			if !isText(value) || limit.Name == "" {
				r.at(value, at, wantName, describe(value))
			}
		}
	}
	for _, required := range []string{"rate", "per"} {
		if fields[required] == nil {
			r.at(n, field, wantLimit, "none of the field "+required)
		}
	}
	if before < len(r.found) {
		return limit, false
	}
	e, invalid := errors.AsType[*weir.ConfigError](limit.Validate())
	if !invalid {
		return limit, true
	}
	// It is in the name or the burst: all else was checked as it was read.
	name, want := strings.ToLower(strings.TrimPrefix(e.Field, "Limit.")), e.Want
	if name == "burst" && limit.Algorithm != weir.GCRA {
		want = "none with a window algorithm"
	}
	r.at(fields[name], child(field, name), want, describe(fields[name]))
	return limit, false
}

func (r *reader) units(n *yaml.Node, field string) int64 {
	units, ok := parseUnits(n.Value)
	if !ok || n.Kind != yaml.ScalarNode || n.Tag != tagInt {
		r.at(n, field, wantUnits, describe(n))
	}
	return units
}
