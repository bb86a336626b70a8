package limitfile

import (
	"maps"
	"slices"
)

// MaxSize bounds the size of a file, in bytes.
const MaxSize = maxSize

// Plans returns the names of a set's plans, sorted.
func Plans(s *Set) []string { return slices.Sorted(maps.Keys(s.plans)) }
