// Package data holds measured values: series with one value per pass.
package data

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Results are the values of one run.
type Results struct {
	Machine    Machine
	Command    string
	Started    time.Time
	Took       time.Duration
	Passes     int
	Quick      bool
	Cut        bool // the time ended before all passes
	Contenders []Info
	Series     []*Series
	Failures   []Failure
	Later      []Later `json:",omitempty"`

	index map[Key]*Series
}

// Info describes a contender.
type Info struct {
	Name, Module, Version, Note string
	Own, Physical               bool
}

// Key names a series: a contender's metric in a case of a part.
type Key struct{ Part, Case, Contender, Metric string }

// Series are the values of one key, one per pass.
type Series struct {
	Key
	Values []float64
}

// Failure is a call or a case in which a contender failed, or took too long.
type Failure struct{ Part, Case, Contender, Text string }

// Add adds the value of one pass, rounded to six digits.
func (r *Results) Add(k Key, value float64) {
	value, _ = strconv.ParseFloat(strconv.FormatFloat(value, 'g', 6, 64), 64)
	r.reindex()
	s := r.index[k]
	if s == nil {
		s = &Series{Key: k}
		r.index[k] = s
		r.Series = append(r.Series, s)
	}
	s.Values = append(s.Values, value)
}

// Median returns the median of a series, and whether the series exists.
func (r *Results) Median(k Key) (float64, bool) {
	r.reindex()
	s := r.index[k]
	if s == nil || len(s.Values) == 0 {
		return 0, false
	}
	return Median(s.Values), true
}

func (r *Results) reindex() {
	if r.index != nil {
		return
	}
	r.index = make(map[Key]*Series, len(r.Series))
	for _, s := range r.Series {
		r.index[s.Key] = s
	}
}

// Cases returns the cases of a part with the metric, in the order of measurement.
func (r *Results) Cases(part, metric string) []string {
	return r.names(part, metric, func(k Key) string { return k.Case })
}

// Who returns the contenders with the metric in a part, in the order of the run's list.
func (r *Results) Who(part, metric string) []Info {
	names := r.names(part, metric, func(k Key) string { return k.Contender })
	var who []Info
	for _, c := range r.Contenders {
		if slices.Contains(names, c.Name) {
			who = append(who, c)
		}
	}
	return who
}

func (r *Results) names(part, metric string, of func(Key) string) []string {
	var names []string
	seen := make(map[string]bool)
	for _, s := range r.Series {
		if name := of(s.Key); s.Part == part && s.Metric == metric && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// Failed returns the reason for a contender's missing value, or "".
func (r *Results) Failed(part, caseName, contender string) string {
	for _, f := range r.Failures {
		if f.Part == part && f.Case == caseName && f.Contender == contender {
			return f.Text
		}
	}
	return ""
}

// Median returns the middle value, or the mean of the two middle values of an even
// number; 0 without values.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Write writes the results as JSON, with a line for each series.
func (r *Results) Write(path string) error {
	head := *r
	head.Series = nil
	text, err := json.MarshalIndent(&head, "", "\t")
	if err != nil {
		return err
	}
	var lines []string
	for _, s := range r.Series {
		line, err := json.Marshal(s)
		if err != nil {
			return fmt.Errorf("%v: %w", s.Key, err)
		}
		lines = append(lines, "\n\t\t"+string(line))
	}
	series := `"Series": [` + strings.Join(lines, ",") + "\n\t]"
	whole := strings.Replace(string(text), `"Series": null`, series, 1)
	return os.WriteFile(path, []byte(whole+"\n"), 0o644)
}

// Read reads a file of Write.
func Read(path string) (*Results, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := new(Results)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}
