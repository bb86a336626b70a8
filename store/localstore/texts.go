package localstore

import "strings"

// texts holds long keys, by their indices.
type texts struct {
	all  []string
	free []uint32 // indices without a key
}

// keep keeps a key and returns its index.
func (t *texts) keep(key string) uint32 {
	key = strings.Clone(key) // The text may be part of a far longer one.
	if n := len(t.free); n > 0 {
		i := t.free[n-1]
		t.free = t.free[:n-1]
		t.all[i] = key
		return i
	}
	t.all = append(t.all, key)
	return uint32(len(t.all) - 1)
}

func (t *texts) drop(i uint32) {
	t.all[i] = ""
	t.free = append(t.free, i)
}
