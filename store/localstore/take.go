package localstore

import (
	"context"

	"github.com/goweir/weir/store"
)

// Take implements [store.Store].
func (s *Store) Take(ctx context.Context, req store.Request) (d store.Decision, err error) {
	if err = ctx.Err(); err != nil {
		return d, err
	}
	if err = req.Validate(); err != nil {
		return d, err
	}
	if !req.Cancelable && !req.Hold.Asked() && areSmall(req.Charges) {
		done := false
		if len(req.Charges) == 1 {
			d, done, err = s.takeOne(&req)
		} else {
			d, done, err = s.takeSeveral(&req)
		}
		if done {
			return d, err
		}
	}
	return s.take(&req)
}
