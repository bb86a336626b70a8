package storetest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/goweir/weir/internal/long"

	"github.com/goweir/weir/store"
)

// cancelCrowd: when most of a crowd leave, those who are left keep their slots for
// themselves, however far the crowd had come by then.
func cancelCrowd(r *run) {
	if r.canceler() == nil || r.settler() == nil {
		return
	}
	rng := rand.New(rand.NewPCG(17, 18))
	for _, l := range each(2, time.Second) {
		if l.Algorithm == store.GCRA || l.Algorithm == store.SlidingWindow {
			continue // Their states tell.
		}
		var crowds [][2]int
		for pass := 1; pass < 8; pass += 3 {
			for left := 2*pass + 1; left < 20; left += 3 {
				crowds = append(crowds, [2]int{pass, left})
			}
		}
		for _, n := range long.Some(rng, len(crowds)) {
			pass, left := crowds[n][0], crowds[n][1]
			key := fmt.Sprint("cancel crowd ", l.Algorithm, pass, " ", left)
			r.reserve(key, 1, 0, l)
			var slots []store.Decision
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
				r.giveBack(slots[n])
			}
			end := slots[left-1].Delay - time.Duration(pass)*time.Second - time.Millisecond
			if d := r.reserve(key, 1, time.Hour, l); d.Delay < end {
				r.Errorf("%s: a slot in %v, where the last who is left has one in %v", key, d.Delay, end)
			}
		}
	}
}

// leaveCrowd: when most of a crowd leave, in any order, those who stay keep their
// slots to themselves, and nobody waits for the others'.
func leaveCrowd(r *run) {
	if r.canceler() == nil {
		return
	}
	for _, l := range each(1, time.Second) {
		if l.Algorithm == store.GCRA || l.Algorithm == store.SlidingCounter {
			continue // A bucket keeps credit, and each of a counter's slots depends on the one before.
		}
		key := "leave crowd " + l.Algorithm.String()
		var slots []store.Decision
		for range 21 {
			slots = append(slots, r.reserve(key, 1, time.Hour, l))
		}
		// The tenth is next, and many are made one with others.
		r.sleep(9*time.Second + slots[1].Delay/2)
		slots = append(slots, r.reserve(key, 1, time.Hour, l))
		r.giveBack(slots[11:]...)
		tenth := slots[1].Delay - slots[1].Delay/2
		if d := r.reserve(key, 1, time.Hour, l); d.Delay != tenth+time.Second {
			r.Errorf("%v: a slot in %v, want the one after that in %v", l, d.Delay, tenth)
		}
	}
}

// cancelSome: when those behind leave, the next gets the slot after those who stay,
// whatever was settled meanwhile.
func cancelSome(r *run) {
	if r.canceler() == nil || r.settler() == nil {
		return
	}
	for _, disturb := range []bool{false, true} {
		for _, l := range each(2, 24*time.Hour) {
			if l.Algorithm == store.GCRA || l.Algorithm == store.SlidingCounter {
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
					var slots []store.Decision
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
						r.giveBack(slots[n])
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
