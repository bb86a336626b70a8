package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/goweir/weir"
)

// cancelSome: when those behind leave, the next gets the slot after those who stay,
// whatever was settled meanwhile.
func cancelSome(r *run) {
	canceler, ok := r.store.(weir.Canceler)
	if _, settles := r.store.(weir.Settler); !ok || !settles {
		return
	}
	for _, disturb := range []bool{false, true} {
		for _, l := range each(2, 24*time.Hour) {
			if l.Algorithm == weir.GCRA || l.Algorithm == weir.SlidingCounter {
				continue // Of what lies between a store knows less: it may be later.
			}
			for _, waiters := range []int{3, 6, 30} {
				for _, stay := range []int{1, 2, 3} {
					if stay >= waiters {
						continue
					}
					key := fmt.Sprint("cancel some ", disturb, l.Algorithm, waiters, stay)
					r.reserve(key, 1, 0, l)
					first := r.reserve(key, 1, 0, l)
					var slots []weir.Decision
					for range waiters {
						d := r.reserve(key, 1, 90*24*time.Hour, l)
						if !d.Allowed || d.Delay <= 0 {
							r.Fatalf("%s, %v: %+v", key, l, d)
						}
						slots = append(slots, d)
					}
					if disturb {
						r.settle(first, 0)
					}
					for n := len(slots) - 1; n >= stay; n-- {
						if err := canceler.Cancel(context.Background(), slots[n].Receipt); err != nil {
							r.Error(err)
						}
					}
					d := r.reserve(key, 1, 90*24*time.Hour, l)
					if d.Delay != slots[stay].Delay {
						r.Errorf("%s, %v: after %d of %d left: %v, want %v", key, l, waiters-stay, waiters, d.Delay, slots[stay].Delay)
					}
				}
			}
		}
	}
}
