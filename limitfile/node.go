package limitfile

import (
	"fmt"

	"go.yaml.in/yaml/v4"
)

// entry is a name in a mapping and what it stands for.
type entry struct {
	name       string
	key, value *yaml.Node
}

// entries reads a mapping, and leaves out names that are none or are there a
// second time, which are mistakes. Nil when it is no mapping, another mistake.
func (m *mistakes) entries(n *yaml.Node, field, want string) []entry {
	if n.Kind != yaml.MappingNode {
		m.at(n, field, want, describe(n))
		return nil
	}
	entries := make([]entry, 0, len(n.Content)/2)
	lines := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := resolve(n.Content[i])
		switch line, again := lines[key.Value]; {
		case key.Kind != yaml.ScalarNode:
			m.at(key, field, "a name", describe(key))
		case key.Value == "":
			m.at(key, field, "a name", "an empty one")
		case again:
			m.at(key, child(field, key.Value), "each name once", fmt.Sprintf("%s again, which is on line %d already", quote(key.Value), line))
		default:
			// A name is what is written: 42 and "42" are the same.
			lines[key.Value] = key.Line
			entries = append(entries, entry{key.Value, key, resolve(n.Content[i+1])})
		}
	}
	return entries
}

// lookup returns what a name stands for in a mapping, or nil.
func lookup(n *yaml.Node, name string) *yaml.Node {
	for i := 0; n.Kind == yaml.MappingNode && i+1 < len(n.Content); i += 2 {
		if resolve(n.Content[i]).Value == name {
			return resolve(n.Content[i+1])
		}
	}
	return nil
}

// resolve returns what an alias stands for. Whoever reads a node goes no
// deeper than the file's form, so an alias within itself ends nowhere.
func resolve(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// longestText is how long anything in a limit may be, in bytes.
const longestText = 256

// text returns what a scalar of a limit says, or nothing when it is too long to be
// right: aliases may have it read any number of times.
func text(n *yaml.Node) string {
	if len(n.Value) > longestText {
		return ""
	}
	return n.Value
}

// isText reports whether a node is a text, and not a number or nothing.
func isText(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && (n.Tag == tagText || n.Tag == tagTime)
}
