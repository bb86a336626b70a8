package limitfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// The tags of scalars.
const (
	tagText  = "!!str"
	tagInt   = "!!int"
	tagFloat = "!!float"
	tagBool  = "!!bool"
	tagNull  = "!!null"
	tagTime  = "!!timestamp" // a text that happens to be a date
)

// describe returns a node in words.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind != yaml.ScalarNode:
		return "an alias" // A plan's name is enough. Aliases of aliases cost more than their size.
	case n.Tag == tagNull:
		return "nothing"
	case n.Tag == tagInt, n.Tag == tagFloat:
		return "the number " + shorten(n.Value)
	case n.Tag == tagBool:
		return shorten(n.Value)
	case n.Tag != tagText && n.Tag != tagTime:
		return "the tag " + quote(n.Tag)
	}
	return "the text " + quote(n.Value)
}

// entry is a name in a mapping and its value.
type entry struct {
	name       string
	key, value *yaml.Node
}

// entries reads a mapping. Anything else is a mistake, and its entries are nil.
// Repeated names and keys that are no names are mistakes and left out.
func (r *reader) entries(n *yaml.Node, field, want string) []entry {
	if n.Kind != yaml.MappingNode {
		r.at(n, field, want, describe(n))
		return nil
	}
	entries := make([]entry, 0, len(n.Content)/2)
	lines := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		switch line, again := lines[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			r.at(key, field, "a name", describe(key))
		case key.Value == "":
			r.at(key, field, "a name", "an empty one")
		case again:
			r.at(key, child(field, key.Value), "each name once", fmt.Sprintf("%s again, which is on line %d already", quote(key.Value), line))
		default:
			// A name is its text: 42 and "42" are the same.
			lines[key.Value] = key.Line
			entries = append(entries, entry{key.Value, key, n.Content[i+1]})
		}
	}
	return entries
}

// fields reads a mapping whose names are known, and returns the values by name. Unknown
// names are mistakes. Nil: n is no mapping.
func (r *reader) fields(n *yaml.Node, field, want string, known ...string) map[string]*yaml.Node {
	entries := r.entries(n, field, want)
	if entries == nil {
		return nil
	}
	fields := make(map[string]*yaml.Node, len(known))
	for _, e := range entries {
		if fields[e.name] = e.value; !slices.Contains(known, e.name) {
			last := len(known) - 1
			r.at(e.key, child(field, e.name), "one of "+strings.Join(known[:last], ", ")+" and "+known[last], quote(e.name))
		}
	}
	return fields
}

// isText reports whether a node is a text, and not a number or nothing.
func isText(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && (n.Tag == tagText || n.Tag == tagTime)
}

// maxSize bounds the size of a file, in bytes: the largest ConfigMap of Kubernetes,
// or about 30 000 keys.
const maxSize = 1 << 20

// wantFile is the form of a whole file, in words.
const wantFile = "a mapping with default, plans and keys"

// parse returns the tree of a file, or nil if the file is wrong or empty.
func (r *reader) parse(data []byte) *yaml.Node {
	if len(data) > maxSize {
		r.add(1, 1, "", fmt.Sprintf("at most %d bytes", maxSize), "more")
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if i := bytes.IndexFunc(data, unreadable); i >= 0 {
		line := bytes.LastIndexByte(data[:i], '\n') + 1
		r.add(1+bytes.Count(data[:i], []byte("\n")), 1+utf8.RuneCount(data[line:i]), "", "text in UTF-8", fmt.Sprintf("the byte %#02x", data[i]))
		return nil
	}
	return r.parseYAML(data)
}

// unreadable reports whether YAML allows no such character: broken UTF-8, UTF-16, controls.
func unreadable(r rune) bool {
	return strings.ContainsRune("\ufeff\ufffd\ufffe\uffff", r) || unicode.IsControl(r) && !strings.ContainsRune("\t\n\r\u0085", r)
}

// parseYAML returns the tree of the one document in data.
func (r *reader) parseYAML(data []byte) *yaml.Node {
	var document, second yaml.Node
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err == nil {
		err = loader.Load(&document)
	}
	if errors.Is(err, io.EOF) {
		r.add(1, 1, "", wantFile, "an empty file")
		return nil
	}
	if err == nil {
		err = loader.Load(&second)
	}
	switch {
	case err == nil:
		r.at(&second, "", "one document", "another one")
		return nil
	case !errors.Is(err, io.EOF):
		r.syntax(err)
		return nil
	}
	return document.Content[0]
}

// syntax adds a mistake that the YAML library found.
func (r *reader) syntax(err error) {
	e, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		r.add(1, 1, "", "YAML", err.Error())
		return
	}
	got := e.Message
	if begin := e.ContextMark.Line; begin > 0 && begin < e.Mark.Line {
		got += fmt.Sprintf(" (%s that begins on line %d)", e.ContextMsg, begin)
	}
	r.add(e.Mark.Line, e.Mark.Column, "", "YAML", "a syntax error: "+got)
}
