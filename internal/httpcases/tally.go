package httpcases

import (
	"fmt"
	"sync"
)

// tally counts statuses.
type tally struct {
	mu sync.Mutex
	n  map[int]int
}

func (t *tally) add(status int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n == nil {
		t.n = map[int]int{}
	}
	t.n[status]++
}

func (t *tally) of(status int) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n[status]
}

func (t *tally) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprint(t.n)
}
