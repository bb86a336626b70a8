package llm

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/goweir/weir"
)

// ReadUsage returns the usage that the body of a response reports, from its beginning
// and end. It understands JSON, streams of server-sent events, and Bedrock's streams.
// False: the body reports none, or is broken, or compressed. A stream that broke may
// report its input alone.
func ReadUsage(p Provider, resp *http.Response, end *weir.BodyEnd) (Usage, bool) {
	none := Usage{-1, 0, -1}
	if resp == nil || end == nil || end.Bytes == 0 {
		return none, false
	}
	if c := resp.Header.Get("Content-Encoding"); c != "" && !strings.EqualFold(c, "identity") {
		return none, false
	}
	head, tail := pieces(end)
	kind := strings.ToLower(resp.Header.Get("Content-Type"))
	u, found := none, false
	switch {
	case strings.Contains(kind, "vnd.amazon.eventstream"):
		if u, found = inFrames(p, tail); !found {
			u, found = inFrames(p, head)
		}
	case isJSON(kind, head):
		u, found = inJSON(p, head, tail, end.Whole)
	default:
		u, found = inEvents(p, head, tail, end.Whole)
	}
	if !found {
		return none, false
	}
	return u, true
}

// pieces returns the kept parts of a body: all of it as head alone, or both without an
// overlap.
func pieces(end *weir.BodyEnd) (head, tail []byte) {
	missing := end.Bytes - int64(len(end.Head)) - int64(len(end.Tail))
	if missing > 0 {
		return end.Head, end.Tail
	}
	overlap := min(-missing, int64(len(end.Tail)))
	return append(bytes.Clone(end.Head), end.Tail[overlap:]...), nil
}

func isJSON(kind string, head []byte) bool {
	if strings.Contains(kind, "event-stream") {
		return false
	}
	start := bytes.TrimLeft(head, " \t\r\n")
	return len(start) > 0 && (start[0] == '{' || start[0] == '[')
}

// inJSON reads a body of JSON: an object, or an array of them as Gemini streams. An object that
// is not whole may end at its last brace: a json.Decoder reads no further.
func inJSON(p Provider, head, tail []byte, whole bool) (Usage, bool) {
	var m message
	var several []message
	u, depth := atEnd(p, tail)
	switch {
	case tail == nil && parse(head, &m):
		return m.read(p)
	case tail == nil && json.Unmarshal(head, &several) == nil && len(several) > 0:
		return several[len(several)-1].read(p)
	case whole && depth > 0, depth == 1 && startsObject(head) && bytes.HasSuffix(bytes.TrimSpace(tail), []byte("}")):
		return u, true
	}
	return atStart(p, head)
}

// parse reads a complete JSON object. A field of another type is left out.
func parse(data []byte, m *message) bool {
	err := json.Unmarshal(data, m)
	if _, other := err.(*json.UnmarshalTypeError); other {
		return startsObject(data)
	}
	return err == nil
}

func startsObject(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n"), []byte("{"))
}

// inFrames reads Bedrock's stream, whose last frame has the usage. Frames are binary, and
// other frames hold an object of that name in strings alone.
func inFrames(p Provider, data []byte) (u Usage, found bool) {
	members(data, func(_ int, value, _ []byte) {
		if c, ok := readCounts(p, value); ok && c.Input >= 0 && c.Output >= 0 {
			u, found = c, true
		}
	})
	return u, found
}

// maxDepth is the depth of a usage in a whole document: an object in it or in an array of such.
const maxDepth = 2

// atEnd looks for a usage in the end of a document, and returns its depth; 0: none. Few levels
// close behind it, unlike behind an object of that name in the model's answer.
func atEnd(p Provider, data []byte) (u Usage, depth int) {
	members(data, func(_ int, value, rest []byte) {
		opened, _ := nesting(rest)
		if opened > -1 || opened < -maxDepth || depth > 0 && opened < -depth {
			return
		}
		if c, ok := readCounts(p, value); ok {
			u, depth = c, -opened
		}
	})
	return u, depth
}

// atStart looks for a usage in the beginning of a document.
func atStart(p Provider, data []byte) (u Usage, found bool) {
	members(data, func(at int, value, _ []byte) {
		if depth, _ := nesting(data[:at]); depth != 1 {
			return
		}
		if c, ok := readCounts(p, value); ok {
			u, found = c, true
		}
	})
	return u, found
}

var usageNames = [][]byte{[]byte(`"usage"`), []byte(`"usageMetadata"`)}

// members calls f for each complete member with the name of a usage: its place, its
// value, and the text behind. Text in strings has no such names, as its quotes are
// escaped.
func members(data []byte, f func(at int, value, rest []byte)) {
	for _, name := range usageNames {
		for at, next := 0, 0; ; next = at + len(name) {
			i := bytes.Index(data[next:], name)
			if i < 0 {
				break
			}
			at = next + i
			if escaped(data[:at]) {
				continue
			}
			value, colon := bytes.CutPrefix(bytes.TrimLeft(data[at+len(name):], " \t\r\n"), []byte(":"))
			if value = bytes.TrimLeft(value, " \t\r\n"); !colon || len(value) == 0 || value[0] != '{' {
				continue
			}
			if _, n := nesting(value[:min(len(value), maxUsage)]); n > 0 {
				f(at, value[:n], value[n:])
			}
		}
	}
}

// maxUsage bounds a usage, in bytes: a response may nest hundreds of them.
const maxUsage = 2 << 10

// escaped reports whether a quote behind data is part of a string.
func escaped(data []byte) bool {
	n := len(data)
	for n > 0 && data[n-1] == '\\' {
		n--
	}
	return (len(data)-n)%2 == 1
}

// nesting returns the number of levels that JSON opens less those that it closes, and the
// length of the JSON until all are closed; 0: they are not. The text starts outside of a
// string.
func nesting(data []byte) (n, closed int) {
	inString := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			n++
		case c == '}' || c == ']':
			if n--; n == 0 && closed == 0 {
				closed = i + 1
			}
		}
	}
	return n, closed
}
