package redisstore

import (
	"context"
	"fmt"
)

// receipt is what cancelling takes: the call that was made, and what each key
// held before and after it.
type receipt struct {
	call   *call
	values []string
	slot   int64
}

// Cancel implements [weir.Canceler]. When nobody was charged on the key since,
// its value is put back as it was. Otherwise windows take the units out of
// their counts or log, and GCRA takes them back as far as that admits nothing
// too much: not beyond a moment at which the bucket was full anyway.
func (s *Store) Cancel(ctx context.Context, of any) error {
	r, ok := of.(*receipt)
	if !ok || r == nil {
		return fmt.Errorf("redisstore: cancel: a receipt of type %T is not of this store", of)
	}
	c := &call{head: [3]any{s.clock(), 0, "cancel"}, groups: make([]group, len(r.call.groups))}
	for i, g := range r.call.groups {
		g.argv = append(g.argv[:len(g.argv):len(g.argv)], r.slot, r.values[2*i], r.values[2*i+1])
		c.groups[i] = g
	}
	_, err := s.run(ctx, c)
	return err
}
