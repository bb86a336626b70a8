package store

import (
	"strconv"
	"strings"
)

// CheckName returns a *[ConfigError] for field unless the name of a limit or limiter has at
// most 64 bytes of printable ASCII.
func CheckName(field, name string) error {
	if len(name) > 64 || strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c > '~' }) {
		return &ConfigError{Field: field, Want: "at most 64 bytes of printable ASCII", Got: strconv.QuoteToASCII(name)}
	}
	return nil
}
