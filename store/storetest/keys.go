package storetest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/goweir/weir/store"
)

// keys: any text is a key of its own.
func keys(r *run) {
	l := store.Per(1, time.Hour)
	texts := []string{
		"", " ", "\n", "\x00", "a", "A", "b", "c", "b:c", "a:b", "a:b:c", "{", "}", "{}", "{a}", "}{", "%", "%7B", "#", "a b", "a\nb",
		"ключ", "\xff\xfe", strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20-1) + "y", strings.Repeat("{", 500),
		strings.Repeat("x", 119), strings.Repeat("x", 120), strings.Repeat("x", 121), strings.Repeat("}", 121),
	}
	for _, scope := range []string{"", "a", "a:b", "b:c", "{", "%3A"} {
		for _, key := range texts {
			req := charge(key, 1, l)
			req.Charges[0].Scope = scope
			if d := r.take(req); !d.Allowed {
				r.Errorf("scope %q key %.40q collides with an earlier one", scope, key)
			}
			if d := r.take(req); d.Allowed {
				r.Errorf("scope %q key %.40q is not found again", scope, key)
			}
		}
	}
}

// several: charges of one key are made all or none.
func several(r *run) {
	wide, narrow := store.Per(10, time.Hour), store.Per(3, time.Hour)
	for range 3 {
		if d := r.take(charge("k", 1, wide, narrow)); !d.Allowed || d.Limit != narrow || len(d.Charges) != 2 {
			r.Fatalf("two limits: %+v", d)
		}
	}
	for range 3 {
		d := r.take(charge("k", 1, wide, narrow))
		if d.Allowed || d.Limit != narrow || d.Charge(0).Remaining != 7 || d.Charge(0).RetryAfter != 0 || d.Charge(1).RetryAfter != d.RetryAfter {
			r.Fatalf("refused by one of two: %+v", d)
		}
	}
}

// takesAhead reports whether the store books a request ahead. Not all book several keys.
func (r *run) takesAhead(req store.Request) bool {
	r.Helper()
	req.MaxWait = 1
	_, err := r.store.Take(context.Background(), req)
	if err != nil {
		r.Logf("charges of several keys are not booked ahead: %v", err)
	}
	return err == nil
}

// severalKeys: charges of several keys are made all or none, at one instant.
func severalKeys(r *run) {
	org, user := store.Per(4, time.Hour), store.Per(3, time.Hour).By(store.FixedWindow)
	both := func(name string) store.Request {
		return charges(store.Charge{Key: "user " + name, Limit: user}, store.Charge{Key: "org", Limit: org})
	}
	if !r.takesKeys("user a", "user b", "org") {
		return
	}
	for range 3 {
		r.take(both("a"))
	}
	if d := r.take(both("a")); d.Allowed || d.Limit != user || d.Charge(1).Remaining != 1 || d.Charge(1).RetryAfter != 0 {
		r.Errorf("refused by the user's limit: %+v", d)
	}
	r.take(both("b"))
	if d := r.take(both("b")); d.Allowed || d.Limit != org || d.Charge(0).Remaining != 2 || d.Charge(0).RetryAfter != 0 {
		r.Errorf("refused by the organisation's limit: %+v", d)
	}
	// Both keys count a slot booked ahead. After a cancel neither does.
	if !r.takesAhead(both("b")) {
		return
	}
	before := []store.Decision{r.take(charge("user b", 0, user)), r.take(charge("org", 0, org))}
	req := both("b")
	req.MaxWait, req.Cancelable = time.Hour, true
	granted := r.take(req)
	if !granted.Allowed || granted.Delay != 15*time.Minute {
		r.Fatalf("the slot that suits both: %+v, want a delay of 15m", granted)
	}
	if d := r.take(charge("user b", 1, user)); d.Allowed || d.RetryAfter != granted.Delay {
		r.Errorf("before the slot of the user: %+v", d)
	}
	if canceler, ok := r.store.(store.Canceler); ok {
		r.must(canceler.Cancel(context.Background(), granted.Receipt))
		after := []store.Decision{r.take(charge("user b", 0, user)), r.take(charge("org", 0, org))}
		if fmt.Sprint(after) != fmt.Sprint(before) {
			r.Errorf("taken back: %+v, before %+v", after, before)
		}
	}
}

// transfers: concurrent requests for two keys, in any order, take the same from both.
func transfers(r *run) {
	// Key a has room for all at once. A store that takes key after key may refuse because of
	// units that another call is about to give back.
	a, b := store.Per(160, time.Hour), store.Per(40, time.Hour).By(store.SlidingWindow)
	if !r.takesKeys("a", "b") {
		return
	}
	admitted := 0
	for _, d := range r.together(100, func(i int) store.Request {
		req := charges(store.Charge{Key: "a", Limit: a}, store.Charge{Key: "b", Limit: b})
		if i%2 == 0 {
			req.Charges[0], req.Charges[1] = req.Charges[1], req.Charges[0]
		}
		return req
	}) {
		if d.Allowed {
			admitted++
		}
	}
	left := r.take(charge("a", 0, a)).Remaining
	if right := r.take(charge("b", 0, b)).Remaining; admitted != 40 || left != 120 || right != 0 {
		r.Errorf("%d admitted, %d and %d remain, want 40, 120 and 0", admitted, left, right)
	}
}
