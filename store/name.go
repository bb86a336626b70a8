package store

import "strconv"

// ValidName reports whether a name has at most 64 bytes of printable ASCII, as
// names of limits and limiters must. The empty name is valid.
func ValidName(name string) bool {
	for i := range len(name) {
		if name[i] < 0x20 || name[i] > 0x7e {
			return false
		}
	}
	return len(name) <= 64
}

// CheckName returns a *[ConfigError] for field unless the name is valid.
func CheckName(field, name string) error {
	if !ValidName(name) {
		return &ConfigError{Field: field, Want: "at most 64 bytes of printable ASCII", Got: strconv.QuoteToASCII(name)}
	}
	return nil
}
