package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// clf is the time of the common format, as 10/Oct/2000:13:55:36 -0700.
const clf = "02/Jan/2006:15:04:05 -0700"

// timeFields are the fields of a JSON line that may hold its time, in order of trial.
var timeFields = []string{"time", "ts", "timestamp", "@timestamp", "time_iso8601", "time_local", "msec", "start_time"}

// Fields are the names of the fields in the common and combined format.
var Fields = []string{"remote_addr", "remote_user", "method", "path", "status", "referer", "user_agent"}

var errFormat = errors.New("neither common nor combined format, nor a JSON object")

// parseLine returns the time of a line, whether the log writes whole seconds, and the
// value of a field.
func parseLine(line []byte, field string) (at time.Time, whole bool, key string, err error) {
	if line = bytes.TrimSpace(line); len(line) > 0 && line[0] == '{' {
		return parseJSON(line, field)
	}
	return parseCommon(string(line), field)
}

// parseCommon parses: address ident user [time] "request" status size "referer" "agent".
// The last two are of the combined format.
func parseCommon(line, field string) (at time.Time, whole bool, key string, err error) {
	who, rest, ok := strings.Cut(line, " [")
	when, rest, ok2 := strings.Cut(rest, "] ")
	names := strings.SplitN(who, " ", 3)
	if !ok || !ok2 || len(names) != 3 {
		return at, false, "", errFormat
	}
	if at, err = time.Parse(clf, when); err != nil {
		return at, false, "", fmt.Errorf("time %q: want as %q", when, "10/Oct/2000:13:55:36 -0700")
	}
	if field == "" {
		return at, true, "", nil
	}
	request, rest := quoted(rest)
	method, path, _ := strings.Cut(request, " ")
	path, _, _ = strings.Cut(path, " ")
	path, _, _ = strings.Cut(path, "?")
	status, rest, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	_, rest, _ = strings.Cut(rest, " ")
	referer, rest := quoted(rest)
	agent, _ := quoted(strings.TrimLeft(rest, " "))
	for i, v := range []string{names[0], names[2], method, path, status, referer, agent} {
		if Fields[i] == field && v != "" {
			return at, true, strings.Clone(v), nil
		}
	}
	return at, false, "", fmt.Errorf("no field %q", field)
}

// quoted splits s after a text in quotes, in which \ comes before a quote.
func quoted(s string) (text, rest string) {
	if !strings.HasPrefix(s, `"`) {
		return "", s
	}
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return s[1:i], s[i+1:]
		}
	}
	return "", ""
}

func parseJSON(line []byte, field string) (at time.Time, whole bool, key string, err error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(line, &object); err != nil {
		return at, false, "", errFormat
	}
	err = errors.New("no time in " + strings.Join(timeFields, ", "))
	for _, name := range timeFields {
		if raw, ok := object[name]; ok {
			at, whole, err = parseTime(text(raw))
			break
		}
	}
	if err != nil || field == "" {
		return at, whole, "", err
	}
	raw, ok := object[field]
	for name, rest, more := strings.Cut(field, "."); !ok && more; name, rest, more = strings.Cut(rest, ".") {
		var inner map[string]json.RawMessage
		if json.Unmarshal(object[name], &inner) != nil {
			break
		}
		object = inner
		raw, ok = object[rest]
	}
	if key = text(raw); !ok || key == "" || key == "null" {
		return at, false, "", fmt.Errorf("no field %q", field)
	}
	return at, whole, key, nil
}

// text returns a JSON string's text, or any other value as it is written.
func text(raw json.RawMessage) (s string) {
	if json.Unmarshal(raw, &s) != nil {
		return string(raw)
	}
	return s
}

// parseTime reads RFC 3339, the common format, or a number since the Unix epoch of
// seconds, or by its size of ms, µs or ns.
func parseTime(s string) (at time.Time, whole bool, err error) {
	n, err := strconv.ParseFloat(s, 64)
	if err == nil && n > 0 && n < math.MaxInt64 {
		for n >= 1e11 {
			n /= 1000
		}
		return time.UnixMicro(int64(math.Round(n * 1e6))), !strings.Contains(s, ".") && len(s) < 12, nil
	}
	for _, layout := range []string{time.RFC3339, clf} {
		if at, err = time.Parse(layout, s); err == nil {
			return at, !strings.Contains(s, "."), nil
		}
	}
	return at, false, fmt.Errorf("time %q: want RFC 3339 or a number since 1970", s)
}
