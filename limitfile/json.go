package limitfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"go.yaml.in/yaml/v4"
)

// parseJSON returns the tree of the one value in data. YAML's parser would take
// most JSON too, but it neither refuses what is none nor knows pairs of
// surrogates.
func (m *mistakes) parseJSON(data []byte) *yaml.Node {
	var whole json.RawMessage
	err := json.Unmarshal(data, &whole)
	if err == nil {
		r := &jsonReader{data: data, decoder: json.NewDecoder(bytes.NewReader(data)), line: 1, column: 1}
		r.decoder.UseNumber()
		var root *yaml.Node
		if root, err = r.value(); err == nil {
			return root
		}
	}
	if len(bytes.TrimSpace(data)) == 0 {
		m.add(1, 1, "", wantFile, "an empty file")
		return nil
	}
	offset := len(data)
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) && !strings.Contains(err.Error(), "unexpected end") {
		offset = int(syntax.Offset) - 1 // it counts the wrong byte
	}
	line, column := position(data, offset)
	m.add(line, column, "", "JSON", "a syntax error: "+err.Error())
	return nil
}

// jsonReader makes the tree of a text that is JSON.
type jsonReader struct {
	data    []byte
	decoder *json.Decoder
	// The place of offset, from where the next one is found.
	offset, line, column int
}

// value reads the next value.
func (r *jsonReader) value() (*yaml.Node, error) {
	r.advance()
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: r.line, Column: r.column}
	token, err := r.decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		n.Kind = yaml.SequenceNode
		if token == '{' {
			n.Kind = yaml.MappingNode
		}
		for r.decoder.More() {
			child, err := r.value() // keys are values too
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, child)
		}
		_, err = r.decoder.Token()
	case string:
		n.Tag, n.Value = tagText, token
	case json.Number:
		n.Tag, n.Value = tagInt, token.String()
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag = tagFloat
		}
	case bool:
		n.Tag, n.Value = tagBool, "false"
		if token {
			n.Value = "true"
		}
	default:
		n.Tag = tagNull
	}
	return n, err
}

// advance goes to where the next token begins.
func (r *jsonReader) advance() {
	next := int(r.decoder.InputOffset())
	for next < len(r.data) && bytes.IndexByte([]byte(" \t\r\n:,"), r.data[next]) >= 0 {
		next++
	}
	passed := r.data[r.offset:next]
	// The next token begins no line in the middle of a \r\n.
	line, column := position(passed, len(passed))
	if line == 1 {
		column += r.column - 1
	}
	r.line, r.column, r.offset = r.line+line-1, column, next
}
