package measure

import (
	"context"
	"runtime"
	"time"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/data"
)

// Local measures decisions within the process: wall time in nanoseconds, divided by the
// decisions of all callers. There is one caller per core.
func Local(r *Run) {
	local := r.those(func(c contender.Contender) bool { return c.Local != nil })
	for _, n := range size(r, []int{1, 1000, 1_000_000}, []int{1, 1000}) {
		keys := makeKeys(n)
		for _, allowed := range []bool{true, false} {
			r.passes(func() {
				for _, c := range local {
					if c.Variant && (n > 1000 || !allowed) {
						continue
					}
					localOnce(r, c, keys, allowed)
				}
			})
		}
	}
}

// localOnce opens a contender, uses all keys once, and measures it on one core and on
// two.
func localOnce(r *Run, c contender.Contender, keys []string, allowed bool) {
	s := new(scope)
	defer runtime.GC()
	defer s.close()
	limit := contender.Tight()
	if allowed {
		limit = contender.Roomy(len(keys))
	}
	var decide contender.Decide
	var err error
	for _, cores := range []int{1, 2} {
		name := data.Decisions(len(keys), cores, allowed)
		if r.gaveUp(data.Local, name, c.Name) {
			continue
		}
		if decide == nil {
			err = within(time.Minute, func(ctx context.Context) (err error) {
				if decide, err = c.Local(s, limit); err != nil {
					return err
				}
				return preload(ctx, decide, keys, 1)
			})
		}
		if err != nil {
			r.fail(data.Local, name, c.Name, err)
			continue
		}
		// This collects the garbage of opening, which the measurement would pay for
		// otherwise.
		runtime.GC()
		before := runtime.GOMAXPROCS(cores)
		var o *outcome
		err := within(10*time.Second, func(context.Context) error {
			drive(decide, load{keys: keys, callers: cores, lasts: 5 * time.Millisecond})
			o = drive(decide, load{keys: keys, callers: cores, lasts: size(r, 100*time.Millisecond, 10*time.Millisecond)})
			return o.check(allowed)
		})
		runtime.GOMAXPROCS(before)
		if err != nil {
			r.fail(data.Local, name, c.Name, err)
			continue
		}
		r.add(data.Local, name, c.Name, data.NsPerOp, float64(o.took.Nanoseconds())/o.decided())
		// Starting and stopping allocate too.
		r.add(data.Local, name, c.Name, data.Allocs, float64(int64(float64(o.mallocs)/o.decided()+0.05)))
		r.add(data.Local, name, c.Name, data.Errors, 100*float64(o.failed)/(o.decided()+float64(o.failed)))
	}
}
