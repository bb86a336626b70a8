package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/benchmarks/contender"
	"github.com/goweir/weir/benchmarks/data"
)

func TestHistogram(t *testing.T) {
	for _, d := range []time.Duration{0, 1, 127, 128, 255, 256, 999, 12_345, time.Millisecond, 7 * time.Second, 20 * time.Minute, 36 * time.Minute} {
		t.Run(d.String(), func(t *testing.T) {
			got := middle(bucketOf(d))
			if off := math.Abs(float64(got - d)); off > float64(d)/128 {
				t.Errorf("kept as %v", got)
			}
		})
	}
	t.Run("a day goes to the last bucket", func(t *testing.T) {
		if got := bucketOf(24 * time.Hour); got != len(histogram{}.counts)-1 {
			t.Errorf("bucket %d", got)
		}
	})
	t.Run("quantiles", func(t *testing.T) {
		var a, b histogram
		for i := range 100 {
			a.add(time.Duration(i+1) * time.Millisecond)
			b.add(time.Duration(i+101) * time.Millisecond)
		}
		a.join(&b)
		for share, want := range map[float64]time.Duration{0.5: 101 * time.Millisecond, 0.99: 199 * time.Millisecond, 0: time.Millisecond} {
			got := a.quantile(share)
			if math.Abs(float64(got-want)) > float64(want)/100 {
				t.Errorf("%v: %v, want %v", share, got, want)
			}
		}
		if got := new(histogram).quantile(0.5); got != 0 {
			t.Errorf("of none: %v", got)
		}
	})
}

func TestCost(t *testing.T) {
	commands := map[string]string{
		"cmdstat_evalsha": "calls=100,usec=900,usec_per_call=9.00,rejected_calls=0,failed_calls=1",
		"cmdstat_eval":    "calls=1,usec=50,usec_per_call=50.00,rejected_calls=0,failed_calls=0",
		"cmdstat_get":     "calls=101,usec=30,usec_per_call=0.30,rejected_calls=0,failed_calls=0",
		"cmdstat_info":    "calls=7,usec=300,usec_per_call=42.86,rejected_calls=0,failed_calls=0",
		"# Commandstats":  "",
	}
	stats := map[string]string{"total_net_input_bytes": "1000", "total_net_output_bytes": "nonsense"}
	cpu := map[string]string{"used_cpu_user": "1.25", "used_cpu_sys": "0.5"}
	var got cost
	got.add(stats, cpu, commands)
	want := cost{commands: 202, scripts: 101, inScripts: 950, cpu: 1.75e6, in: 1000}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if spent := got.minus(want); spent != (cost{}) {
		t.Errorf("spent %+v, want nothing", spent)
	}
}

func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		hang := make(chan struct{})
		for _, test := range []struct {
			name string
			f    func() error
			want string
		}{
			{"ends in time", func() error { return nil }, "<nil>"},
			{"an error", func() error { return broken }, "broken"},
			{"a panic", func() error { panic("oh") }, "panic: oh"},
			{"fails in a scope", func() error { new(scope).Fatalf("no %s", "server"); return nil }, "no server"},
			{"hangs", func() error { <-hang; return nil }, "did not end in time: 1s"},
		} {
			if got := fmt.Sprint(within(time.Second, func(context.Context) error { return test.f() })); got != test.want {
				t.Errorf("%s: %s, want %s", test.name, got, test.want)
			}
		}
		close(hang)
	})
}

func TestScopeClosesAllInReverse(t *testing.T) {
	var order []int
	s := new(scope)
	s.Cleanup(func() { order = append(order, 1) })
	s.Cleanup(func() { panic("oh") })
	s.Cleanup(func() { order = append(order, 3) })
	s.close()
	s.close()
	if fmt.Sprint(order) != "[3 1]" {
		t.Errorf("closed %v", order)
	}
}

func TestDriveCountsEveryCall(t *testing.T) {
	var n atomic.Int64
	decide := func(_ context.Context, key string) (bool, error) {
		switch n.Add(1) % 4 {
		case 0:
			return false, errors.New("broken")
		case 1:
			return false, nil
		}
		return true, nil
	}
	o := drive(decide, load{keys: makeKeys(10), callers: 3, lasts: time.Millisecond, timed: true})
	if got := o.allowed + o.refused + o.failed; got != n.Load() {
		t.Errorf("%d counted of %d", got, n.Load())
	}
	if o.err == nil || o.calls.total == 0 || o.took < time.Millisecond {
		t.Errorf("error %v, %d timed, took %v", o.err, o.calls.total, o.took)
	}
}

func TestDriveComesToAllKeys(t *testing.T) {
	for _, n := range []int{1, 10, 1000} {
		seen := make(map[string]bool)
		drive(func(_ context.Context, key string) (bool, error) { seen[key] = true; return true, nil },
			load{keys: makeKeys(n), callers: 1, lasts: 5 * time.Millisecond})
		if len(seen) != n {
			t.Errorf("%d of %d keys", len(seen), n)
		}
	}
}

func TestOutcomeCheck(t *testing.T) {
	for _, test := range []struct {
		name    string
		o       outcome
		allowed bool
		want    string
	}{
		{"all is well", outcome{allowed: 100}, true, ""},
		{"some fail", outcome{allowed: 99, failed: 1}, true, ""},
		{"all fail", outcome{failed: 1, err: errors.New("oh")}, true, "every call failed: oh"},
		{"none ends", outcome{}, true, "no call"},
		{"refused far below the limit", outcome{allowed: 99, refused: 1}, true, "refused 1 of 100"},
		{"refused over the limit", outcome{allowed: 1, refused: 999}, false, ""},
		{"allowed over the limit", outcome{allowed: 10, refused: 90}, false, "allowed 10 of 100"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := test.o.check(test.allowed)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	start := time.Now()
	queue := func(change func([]turn)) []turn {
		turns := make([]turn, 21)
		for i := range turns {
			turns[i] = turn{came: start, went: start.Add(time.Duration(i) * interval)}
		}
		change(turns)
		return turns
	}
	for _, test := range []struct {
		name            string
		turns           []turn
		late, overtaken float64
		failed          int
	}{
		{"everybody in turn", queue(func([]turn) {}), 1, 0, 0},
		{"the last goes late", queue(func(t []turn) { t[20].went = start.Add(40 * interval) }), 2, 0, 0},
		{"a short wait that is late is not held against it", queue(func(t []turn) { t[1].went = start.Add(interval * 3 / 2) }), 1, 0, 0},
		{"two change places", queue(func(t []turn) { t[15].went, t[16].went = t[16].went, t[15].went }), 16. / 15, 1. / 21, 0},
		{"one has no turn", queue(func(t []turn) { t[20].err = context.Canceled }), 1, 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			late, overtaken, failed := judge(test.turns)
			if math.Abs(late-test.late) > 1e-9 || overtaken != test.overtaken || failed != test.failed {
				t.Errorf("late %v, overtaken %v, failed %d; want %v, %v, %d", late, overtaken, failed, test.late, test.overtaken, test.failed)
			}
		})
	}
}

func TestCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		slow := func(d time.Duration) contender.Decide {
			return func(ctx context.Context, _ string) (bool, error) {
				select {
				case <-time.After(d):
					return true, nil
				case <-ctx.Done():
					return false, ctx.Err()
				}
			}
		}
		deaf := func(context.Context, string) (bool, error) { <-hang; return true, nil }
		for _, test := range []struct {
			name    string
			decide  contender.Decide
			timeout time.Duration
			n       int
			longest time.Duration
			missing bool
		}{
			{"as many as asked for", slow(time.Second), 0, 5, time.Second, false},
			{"no more than there is time for", slow(4 * time.Second), 0, 2, 4 * time.Second, false},
			{"a context is honoured", slow(time.Second), 50 * time.Millisecond, 5, 50 * time.Millisecond, false},
			{"one that never ends", deaf, 50 * time.Millisecond, 1, 10 * time.Second, true},
		} {
			all := calls(test.decide, 5, test.timeout, 10*time.Second)
			last := all[len(all)-1]
			if len(all) != test.n || last.took != test.longest || last.missing != test.missing {
				t.Errorf("%s: %+v", test.name, all)
			}
		}
		close(hang)
		synctest.Wait()
	})
}

func TestAContenderThatFailsStopsNobody(t *testing.T) {
	fine := func(context.Context, string) (bool, error) { return true, nil }
	of := func(name string, decide contender.Decide, err error) contender.Contender {
		return contender.Contender{Name: name, Local: func(contender.Cleaner, contender.Limit) (contender.Decide, error) {
			if decide == nil && err == nil {
				panic("oh")
			}
			return decide, err
		}}
	}
	r := &Run{Results: &data.Results{Passes: 2}, Quick: true, Log: t.Logf, Contenders: []contender.Contender{
		of("broken", nil, errors.New("no store")), of("panics", nil, nil), of("fine", fine, nil),
	}}
	r.Do(Part{data.Local, Local})
	name := data.Decisions(1, 1, true)
	for who, want := range map[string]string{"broken": "no store", "panics": "panic: oh", "fine": ""} {
		if got := r.Results.Failed(data.Local, name, who); got != want {
			t.Errorf("%s: failure %q, want %q", who, got, want)
		}
	}
	if v, ok := r.Results.Median(data.Key{Part: data.Local, Case: name, Contender: "fine", Metric: data.NsPerOp}); !ok || v <= 0 {
		t.Errorf("fine: %v, %t", v, ok)
	}
	// This contender never refuses.
	if got := r.Results.Failed(data.Local, data.Decisions(1, 1, false), "fine"); !strings.Contains(got, "over the limit") {
		t.Errorf("fine when refused: failure %q", got)
	}
}

func TestPassesEndWhenTimeIsOver(t *testing.T) {
	for _, test := range []struct {
		name  string
		until time.Time
		want  int
		cut   bool
	}{
		{"all when there is time", time.Now().Add(time.Hour), 3, false},
		{"all when time does not matter", time.Time{}, 3, false},
		{"one when it is over", time.Now().Add(-time.Hour), 1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &Run{Results: &data.Results{Passes: 3}, Until: test.until}
			n := 0
			r.passes(func() { n++ })
			if n != test.want || r.Results.Cut != test.cut {
				t.Errorf("%d passes, cut %t", n, r.Results.Cut)
			}
		})
	}
}
