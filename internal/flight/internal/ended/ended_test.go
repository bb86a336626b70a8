package ended

import (
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// again returns the leases that are released again.
func again(l *Leases, key string) (list []string) {
	l.Again(key, func(of string, ids []string) error {
		if of != key {
			panic("released for " + of)
		}
		list = ids
		return nil
	})
	synctest.Wait()
	return list
}

// TestAgain: each lease is released five times more, a second apart, and for its own key.
// Leases that have ended at about the same time go together.
func TestAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l Leases
		l.Add("k", "a")
		time.Sleep(pause / 2)
		l.Add("other", "x")
		l.Add("k", "b")
		time.Sleep(step / 2)
		l.Add("k", "c")
		got := ""
		for range 14 {
			got += fmt.Sprint(again(&l, "k"))
			time.Sleep(pause / 2)
		}
		if want := "[][a][b c][a][b c][a][b c][a][b c][a][b c][][][]"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if got := fmt.Sprint(again(&l, "other")); got != "[x]" {
			t.Errorf("the other key: %s, want [x]", got)
		}
	})
}

// TestMost: the latest leases stay.
func TestMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var l Leases
		for i := range 3 * most {
			l.Add("k", strconv.Itoa(i))
		}
		time.Sleep(pause)
		if got := again(&l, "k"); len(got) != most || got[0] != strconv.Itoa(2*most) || cap(l.list) > 4*most {
			t.Errorf("%d leases from %s on, want %d from %d on; room for %d", len(got), got[0], most, 2*most, cap(l.list))
		}
	})
}
