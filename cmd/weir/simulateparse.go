package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/goweir/weir"
	"github.com/goweir/weir/cmd/weir/internal/simulate"
	"github.com/goweir/weir/limitfile"
	"github.com/goweir/weir/store"
)

// outbound is the kind of [weir.Outbound].
const outbound = "outbound"

const (
	wantLimit   = "a limit as 25/5s or 25/5s,sliding_window, see weir simulate --help"
	wantPattern = "constant, poisson, bursts or ramp with a rate, as poisson:8/s or ramp:1/s-20/s"
)

// parseRate reads n/period, as in limit files.
func parseRate(text string) (weir.Limit, bool) {
	quoted, err := json.Marshal(text)
	if err != nil {
		return weir.Limit{}, false
	}
	set, err := limitfile.Parse("", []byte(`{"default":"p","plans":{"p":[`+string(quoted)+`]}}`))
	if err != nil {
		return weir.Limit{}, false
	}
	l := set.For("", "p")[0]
	l.Name = ""
	return l, true
}

// parseLimit reads a limit and its kind, which is empty if the text names none.
func parseLimit(flag, text string) (l weir.Limit, kind string, err error) {
	rate, rest, more := strings.Cut(text, ",")
	l, ok := parseRate(rate)
	for ok && more {
		var word string
		word, rest, more = strings.Cut(rest, ",")
		if n, isBurst := strings.CutPrefix(word, "burst="); isBurst {
			l.Burst, err = strconv.ParseInt(n, 10, 64)
			if ok = err == nil && l.Burst > 0; kind == "" {
				kind = weir.GCRA.String()
			}
			continue
		}
		kind, ok = word, slices.Contains(kinds(true), word)
	}
	if !ok {
		return l, "", errFlag(flag, text, wantLimit)
	}
	if kind != "" && kind != outbound {
		if err = l.Algorithm.UnmarshalText([]byte(kind)); err == nil {
			err = l.Validate()
		}
	} else if kind == outbound && l.Burst > 0 {
		err = errors.New("no burst with outbound")
	}
	if err != nil {
		return l, "", errFlag(flag, text, wantLimit+" ("+err.Error()+")")
	}
	return l, kind, nil
}

// parseProvider reads the limits of a provider, which apply together.
func parseProvider(text string) (limits []store.Limit, err error) {
	for part := range strings.SplitSeq(text, "+") {
		l, kind, err := parseLimit("provider", part)
		switch kind {
		case "":
			l.Algorithm = weir.SlidingWindow
		case outbound:
			err = errFlag("provider", part, "one of the five algorithms")
		}
		if err != nil {
			return nil, err
		}
		limits = append(limits, store.Limit(l))
	}
	return limits, nil
}

// parseCandidates reads a limit, or several that apply together. If one of them names no
// kind, each kind makes a candidate.
func parseCandidates(text string, provider bool) (all []simulate.Candidate, err error) {
	label, rules, labelled := strings.Cut(text, ": ")
	if !labelled {
		label, rules = text, text
	}
	var limits []weir.Limit
	var named []string
	for part := range strings.SplitSeq(rules, "+") {
		l, kind, err := parseLimit("limit", part)
		if err != nil {
			return nil, err
		}
		limits, named = append(limits, l), append(named, kind)
	}
	if !slices.Contains(named, "") {
		return []simulate.Candidate{{Name: label, Limits: count(limits, named, "")}}, nil
	}
	for _, kind := range kinds(provider) {
		name := kind
		if labelled {
			name = label + ", " + kind
		}
		all = append(all, simulate.Candidate{Name: name, Limits: count(limits, named, kind)})
	}
	return all, nil
}

// count gives each limit its named kind, or else other.
func count(limits []weir.Limit, named []string, other string) (all []store.Limit) {
	for i, l := range limits {
		kind := cmp.Or(named[i], other)
		if kind == outbound {
			l = weir.Outbound(l.Rate, l.Period)
		} else if err := l.Algorithm.UnmarshalText([]byte(kind)); err != nil {
			panic(err) // Kinds are checked.
		}
		all = append(all, store.Limit(l))
	}
	return all
}

func parsePattern(text string) (p simulate.Pattern, err error) {
	shape, rate, _ := strings.Cut(text, ":")
	at := slices.Index(simulate.Shapes[:], shape)
	from, to, ramp := strings.Cut(rate, "-")
	l, ok := parseRate(from)
	if at < 0 || !ok || ramp != (at == int(simulate.Ramp)) {
		return p, errFlag("pattern", text, wantPattern)
	}
	p = simulate.Pattern{Shape: simulate.Shape(at), N: l.Rate, Period: l.Period}
	if ramp {
		last, ok := parseRate(to)
		if !ok || last.Period != l.Period {
			return p, errFlag("pattern", text, "two rates of one period, as ramp:1/s-20/s")
		}
		p.To = last.Rate
	}
	return p, nil
}
