package watch

import (
	"strconv"
	"strings"
)

// Name returns the name of a key in messages: the length of the scope, scope and key.
func Name(scope, key string) string { return strconv.Itoa(len(scope)) + ":" + scope + key }

// parse reads a Name.
func parse(name string) (scope, key string, ok bool) {
	length, rest, ok := strings.Cut(name, ":")
	n, err := strconv.Atoi(length)
	if !ok || err != nil || n < 0 || n > len(rest) {
		return "", "", false
	}
	return rest[:n], rest[n:], true
}
