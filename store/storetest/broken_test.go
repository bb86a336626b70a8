package storetest_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/store/localstore"
	"github.com/goweir/weir/store/storetest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// take is a store's Take.
type take = func(ctx context.Context, req weir.Request) (weir.Decision, error)

// broken is a local store whose Take is spoiled.
type broken struct {
	*localstore.Store
	spoiled func(s *localstore.Store) take
	once    sync.Once
	take    take
}

func (b *broken) Take(ctx context.Context, req weir.Request) (weir.Decision, error) {
	b.once.Do(func() { b.take = b.spoiled(b.Store) })
	return b.take(ctx, req)
}

// after changes each decision.
func after(change func(req weir.Request, d *weir.Decision)) func(s *localstore.Store) take {
	return func(s *localstore.Store) take {
		return func(ctx context.Context, req weir.Request) (weir.Decision, error) {
			d, err := s.Take(ctx, req)
			if err == nil {
				change(req, &d)
			}
			return d, err
		}
	}
}

// before changes each request, on a copy.
func before(change func(req *weir.Request)) func(s *localstore.Store) take {
	return func(s *localstore.Store) take {
		return func(ctx context.Context, req weir.Request) (weir.Decision, error) {
			req.Charges = append([]weir.Charge(nil), req.Charges...)
			change(&req)
			return s.Take(ctx, req)
		}
	}
}

// mistakes are what a store can get wrong, and a case of the suite that must
// find it.
var mistakes = []struct {
	name, found string
	spoiled     func(s *localstore.Store) take
}{
	{"nothing", "", after(func(weir.Request, *weir.Decision) {})},
	{"everything is allowed", "vectors", after(func(_ weir.Request, d *weir.Decision) { d.Allowed = true })},
	{"one remaining too few", "Remaining_is_what_can_be_taken", after(func(_ weir.Request, d *weir.Decision) { d.Remaining = max(d.Remaining-1, 0) })},
	{"RetryAfter a microsecond short", "waiting_exactly_RetryAfter_succeeds", after(func(_ weir.Request, d *weir.Decision) {
		if d.RetryAfter > 0 && d.RetryAfter != weir.Never {
			d.RetryAfter -= time.Microsecond
		}
	})},
	{"ResetAfter too short", "Remaining_is_what_can_be_taken", after(func(_ weir.Request, d *weir.Decision) { d.ResetAfter /= 2 })},
	{"refused calls are charged", "refusals_change_nothing", func(s *localstore.Store) take {
		return func(ctx context.Context, req weir.Request) (weir.Decision, error) {
			d, err := s.Take(ctx, req)
			if err == nil && d.Reason == weir.Limited {
				again := req
				again.MaxWait = time.Hour
				_, _ = s.Take(ctx, again)
			}
			return d, err
		}
	}},
	{"a unit is lost now and then", "concurrent_calls", func(s *localstore.Store) take {
		calls := 0
		var mu sync.Mutex
		return func(ctx context.Context, req weir.Request) (weir.Decision, error) {
			mu.Lock()
			calls++
			lose := calls%50 == 0
			mu.Unlock()
			if lose {
				_, _ = s.Take(ctx, req)
			}
			return s.Take(ctx, req)
		}
	}},
	{"MaxWait is ignored", "slots_in_order", before(func(req *weir.Request) {
		if req.MaxWait > 0 {
			req.MaxWait = weir.MaxPeriod
		}
	})},
	{"only the first limit counts", "several_limits_and_keys", before(func(req *weir.Request) { req.Charges = req.Charges[:min(len(req.Charges), 1)] })},
	{"scope and key are joined", "keys", before(func(req *weir.Request) {
		for i := range req.Charges {
			c := &req.Charges[i]
			c.Scope, c.Key = "", c.Scope+":"+c.Key
		}
	})},
	{"keys are cut off", "keys", before(func(req *weir.Request) {
		for i := range req.Charges {
			c := &req.Charges[i]
			c.Key = c.Key[:min(len(c.Key), 100)]
		}
	})},
	{"other limits are another key", "changed_limits", before(func(req *weir.Request) {
		for i := range req.Charges {
			c := &req.Charges[i]
			c.Key += c.Limit.Policy()
		}
	})},
	{"what never fits is merely refused", "a_cost_that_never_fits", after(func(_ weir.Request, d *weir.Decision) {
		if d.Reason == weir.NeverFits {
			d.Reason, d.RetryAfter = weir.Limited, time.Hour
		}
	})},
	{"a receipt is another's", "cancel", func(s *localstore.Store) take {
		var first any
		return func(ctx context.Context, req weir.Request) (weir.Decision, error) {
			d, err := s.Take(ctx, req)
			if d.Receipt != nil {
				if first == nil {
					first = d.Receipt
				}
				d.Receipt = first
			}
			return d, err
		}
	}},
}

const which = "WEIR_TEST_BROKEN_STORE"

// TestBrokenStore is the body of a child process of TestSuiteFindsMistakes.
func TestBrokenStore(t *testing.T) {
	name := os.Getenv(which)
	for _, m := range mistakes {
		if m.name == name {
			storetest.Run(t, func(t *testing.T) weir.Store {
				s, err := localstore.New(localstore.Config{})
				if err != nil {
					t.Fatal(err)
				}
				return &broken{Store: s, spoiled: m.spoiled}
			})
		}
	}
}

// TestSuiteFindsMistakes runs the suite on stores that get something wrong: it
// must fail on each, in the case that is about it.
func TestSuiteFindsMistakes(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mistakes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(exe, "-test.run=^TestBrokenStore$", "-test.v")
			cmd.Env = append(os.Environ(), which+"="+m.name)
			out, err := cmd.CombinedOutput()
			if m.found == "" {
				if err != nil {
					t.Errorf("a right store fails: %v\n%.2000s", err, out)
				}
				return
			}
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestBrokenStore/"+m.found+" ") {
				t.Errorf("the case %s did not fail: %v\n%.2000s", m.found, err, out)
			}
		})
	}
}
