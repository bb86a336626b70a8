package measure

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/data"
)

// Memory measures the process's memory per tracked key, with its text of 17 characters.
// Each text is new, and the contender alone keeps it.
func Memory(r *Run) {
	n := size(r, 500_000, 20_000)
	name := data.Keys(n)
	for range min(r.Results.Passes, 3) {
		for _, c := range r.those(func(c contender.Contender) bool { return c.Local != nil }) {
			if r.gaveUp(data.Memory, name, c.Name) {
				continue
			}
			if err := memoryOnce(r, c, name, n); err != nil {
				r.fail(data.Memory, name, c.Name, err)
			}
		}
	}
}

func memoryOnce(r *Run, c contender.Contender, name string, n int) error {
	s := new(scope)
	defer s.close()
	before := heap()
	var decide contender.Decide
	err := within(time.Minute, func(ctx context.Context) (err error) {
		if decide, err = c.Local(s, contender.Roomy(n)); err != nil {
			return err
		}
		for i := range n {
			if _, err := decide(ctx, fmt.Sprintf("customer-%08d", i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	after := heap()
	runtime.KeepAlive(decide)
	r.add(data.Memory, name, c.Name, data.BytesPerKey, float64(int64(after-before))/float64(n))
	return nil
}

// heap returns the bytes in use.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
