package limitfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

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
