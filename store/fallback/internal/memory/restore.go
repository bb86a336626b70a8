package memory

import (
	"sync"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/fallback/internal/keys"
)

// Restore is a restore of a key under way. Other calls of the key wait for its end.
type Restore struct {
	keys.Key
	Memories []store.Memory

	spendings []*spending // in Memories, in their versions
	versions  []int
	over      chan struct{}
	once      sync.Once
}

// Over is closed when the restore has ended.
func (r *Restore) Over() <-chan struct{} { return r.over }

func (r *Restore) end() { r.once.Do(func() { close(r.over) }) }
