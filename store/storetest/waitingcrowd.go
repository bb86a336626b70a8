package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/goweir/weir"
)

// cancelCrowd: when most of a crowd leave, those who are left keep their slots for
// themselves, however far the crowd had come by then.
func cancelCrowd(r *run) {
	canceler, ok := r.store.(weir.Canceler)
	if _, settles := r.store.(weir.Settler); !ok || !settles {
		return
	}
	for _, l := range each(2, time.Second) {
		if l.Algorithm == weir.GCRA || l.Algorithm == weir.SlidingWindow {
			continue // Their states tell.
		}
		for pass := 1; pass < 8; pass += 3 {
			for left := 2*pass + 1; left < 20; left += 3 {
				key := fmt.Sprint("cancel crowd ", l.Algorithm, pass, " ", left)
				r.reserve(key, 1, 0, l)
				var slots []weir.Decision
				book := func(n int) {
					for range n {
						slots = append(slots, r.reserve(key, 1, time.Hour, l))
					}
				}
				book(100)
				r.sleep(time.Duration(pass)*time.Second + time.Millisecond)
				book(20)
				// Who leaves out of order has nobody find the state that was before.
				slots[len(slots)-1], slots[len(slots)-2] = slots[len(slots)-2], slots[len(slots)-1]
				for n := len(slots) - 1; n >= left; n-- {
					if err := canceler.Cancel(context.Background(), slots[n].Receipt); err != nil {
						r.Error(err)
					}
				}
				end := slots[left-1].Delay - time.Duration(pass)*time.Second - time.Millisecond
				if d := r.reserve(key, 1, time.Hour, l); d.Delay < end {
					r.Errorf("%s: a slot in %v, where the last who is left has one in %v", key, d.Delay, end)
				}
			}
		}
	}
}

// cancelAdded: who booked before a limit was added keeps the slot when those who came
// after that leave.
func cancelAdded(r *run) {
	canceler, ok := r.store.(weir.Canceler)
	if !ok {
		return
	}
	for _, l := range each(2, time.Second) {
		if l.Algorithm != weir.FixedWindow && l.Algorithm != weir.AlignedWindow {
			continue // The last slot before is not that of the others.
		}
		key := "cancel added " + l.Algorithm.String()
		r.reserve(key, 2, 0, l)
		r.reserve(key, 2, time.Hour, l)
		more := []weir.Limit{l, weir.PerSecond(1000)}
		slots := []weir.Decision{r.reserve(key, 1, time.Hour, more...), r.reserve(key, 1, time.Hour, more...)}
		for _, d := range slots {
			if err := canceler.Cancel(context.Background(), d.Receipt); err != nil {
				r.Error(err)
			}
		}
		if d := r.reserve(key, 1, time.Hour, more...); d.Delay != slots[0].Delay {
			r.Errorf("%s: a slot in %v, want that of those who left, in %v", key, d.Delay, slots[0].Delay)
		}
	}
}
