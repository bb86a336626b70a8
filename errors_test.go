package weir_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
	"github.com/goweir/weir/weirtest"
)

func TestLimitedErrorText(t *testing.T) {
	t.Parallel()
	limit := weir.Per(25, 5*time.Second)
	tests := []struct {
		name string
		err  weir.LimitedError
		want string
	}{
		{
			"refused",
			weir.LimitedError{Key: "k", Limit: limit, Reason: weir.ReasonLimited, RetryAfter: 200 * time.Millisecond},
			`weir: client-side limit 25-in-5s: retry after 200ms`,
		},
		{
			"a longest wait",
			weir.LimitedError{Key: "k", Limit: limit, Reason: weir.ReasonLimited, RetryAfter: 59_999_991 * time.Microsecond, MaxWait: 10 * time.Second},
			`weir: client-side limit 25-in-5s: retry after 1m, which is past the MaxWait of 10s`,
		},
		{
			"the rest of a longest wait",
			weir.LimitedError{Key: "k", Limit: limit, Reason: weir.ReasonLimited, RetryAfter: 192 * time.Millisecond, MaxWait: 3 * time.Second},
			`weir: client-side limit 25-in-5s: retry after 192ms, which is past the MaxWait of 3s`,
		},
		{
			"deadline",
			weir.LimitedError{Key: "k", Limit: limit, Reason: weir.ReasonLimited, RetryAfter: time.Second, PastDeadline: true},
			`weir: client-side limit 25-in-5s: retry after 1s, which is past the context's deadline`,
		},
		{
			"never fits",
			weir.LimitedError{Key: "k", Limit: limit, Reason: weir.ReasonNeverFits, RetryAfter: store.Never},
			`weir: client-side limit 25-in-5s: the cost never fits`,
		},
		{
			"a cost that never fits",
			weir.LimitedError{Key: "k", Cost: 26, Limit: limit, Reason: weir.ReasonNeverFits, RetryAfter: store.Never},
			`weir: client-side limit 25-in-5s: a cost of 26 never fits, the maximum is 25`,
		},
		{
			"a cost that never fits a burst",
			weir.LimitedError{Key: "k", Cost: 3, Limit: limit.WithBurst(2), Reason: weir.ReasonNeverFits, RetryAfter: store.Never},
			`weir: client-side limit 25-in-5s: a cost of 3 never fits, the maximum is 2`,
		},
		{
			"a cost of the background class that never fits",
			weir.LimitedError{Key: "k", Cost: 25, Limit: limit, Reason: weir.ReasonNeverFits, RetryAfter: store.Never},
			`weir: client-side limit 25-in-5s: a cost of 25 never fits`,
		},
		{
			"paused",
			weir.LimitedError{Key: "k", Limit: limit, Reason: weir.ReasonPaused, RetryAfter: 15_371_004 * time.Microsecond},
			`weir: client-side limit 25-in-5s: paused, retry after 15.4s`,
		},
		{
			"too many waiters",
			weir.LimitedError{Key: "k", Limit: limit, Reason: weir.ReasonTooManyWaiters},
			`weir: client-side limit 25-in-5s: too many calls are waiting`,
		},
		{
			"in flight",
			weir.LimitedError{Key: "k", Limit: limit, Reason: weir.ReasonInFlight, RetryAfter: time.Second},
			`weir: client-side limit 25-in-5s: too many calls are in flight, retry after at most 1s`,
		},
		{
			"in flight, max wait",
			weir.LimitedError{Key: "k", Limit: limit, Reason: weir.ReasonInFlight, RetryAfter: time.Second, MaxWait: time.Minute},
			`weir: client-side limit 25-in-5s: too many calls are in flight for longer than the MaxWait of 1m, retry after at most 1s; are leases released and response bodies closed?`,
		},
		{
			"scope",
			weir.LimitedError{Scope: "api", Key: "secret", Limit: limit, Reason: weir.ReasonNeverFits, RetryAfter: store.Never},
			`weir: client-side limit 25-in-5s of api: the cost never fits`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.err.Error(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestReadableDurations rounds up, and never to another order of magnitude.
func TestReadableDurations(t *testing.T) {
	t.Parallel()
	for in, want := range map[time.Duration]string{
		0: "0s", 1: "1ns", time.Microsecond: "1µs", 999_001: "1ms", 1_234_567: "1.24ms",
		200 * time.Millisecond: "200ms", 200*time.Millisecond + 1: "201ms", 9_999_999 * time.Microsecond: "10s",
		59_999_991 * time.Microsecond: "1m", 61*time.Second + 1: "1m1.1s", 101*time.Second + 1: "1m42s", 999*time.Second + 1: "16m40s",
		1000*time.Second + 1: "17m", time.Hour: "1h", 23*time.Hour + 59*time.Minute + 59_900*time.Millisecond: "24h",
		store.Never: store.Never.String(), -time.Second: "-1s",
	} {
		if got := weir.Readable(in); got != want {
			t.Errorf("%v is written %s, want %s", in, got, want)
		}
	}
}

// kinds are the sentinels of errors. Each error matches exactly one.
var kinds = map[string]error{
	"limited":  weir.ErrLimited,
	"store":    weir.ErrStore,
	"config":   weir.ErrConfig,
	"key":      weir.ErrNoKey,
	"canceled": context.Canceled,
	"deadline": context.DeadlineExceeded,
}

func wantKind(t *testing.T, err error, want string) {
	t.Helper()
	var got []string
	for kind, sentinel := range kinds {
		if errors.Is(err, sentinel) {
			got = append(got, kind)
		}
	}
	if len(got) != 1 || got[0] != want {
		t.Errorf("%v is %v, want %s alone", err, got, want)
	}
}

func TestErrorsAreOneKind(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	tests := []struct {
		name  string
		err   error
		want  string
		cause error // also matched, when not nil
	}{
		{"limited", &weir.LimitedError{}, "limited", nil},
		{"config", &weir.ConfigError{}, "config", nil},
		{"empty key", weir.ErrEmptyKey, "key", weir.ErrEmptyKey},
		{"store", &weir.StoreError{Op: "take", Err: broken}, "store", broken},
		{"store, wrapped", fmt.Errorf("x: %w", &weir.StoreError{Op: "take", Err: broken}), "store", broken},
		{"store, end of file", &weir.StoreError{Op: "take", Err: io.EOF}, "store", io.EOF},
		{"store, timeout of its own", &weir.StoreError{Op: "take", Err: context.DeadlineExceeded}, "store", nil},
		{"store, wrapped timeout", &weir.StoreError{Op: "take", Err: fmt.Errorf("x: %w", context.DeadlineExceeded)}, "store", nil},
		{"store, canceled by itself", &weir.StoreError{Op: "take", Err: context.Canceled}, "store", nil},
		{"store, socket timeout", &weir.StoreError{Op: "take", Err: &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}}, "store", os.ErrDeadlineExceeded},
		{"store, limited itself", &weir.StoreError{Op: "take", Err: &weir.LimitedError{}}, "store", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			wantKind(t, tt.err, tt.want)
			if tt.cause != nil && !errors.Is(tt.err, tt.cause) {
				t.Errorf("%v is not %v", tt.err, tt.cause)
			}
		})
	}
}

func TestStoreErrorText(t *testing.T) {
	t.Parallel()
	err := &weir.StoreError{Op: "take", Err: context.DeadlineExceeded}
	if got, want := err.Error(), "weir: store: take: context deadline exceeded"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// deadlined is a context that ends later than its deadline.
type deadlined struct {
	context.Context
	deadline time.Time
}

func (d deadlined) Deadline() (time.Time, bool) { return d.deadline, true }

// TestDeadlineThatTheStoreHearsOfFirst: a connection has the deadline of the call's
// context, and its timer may fire before the context's.
func TestDeadlineThatTheStoreHearsOfFirst(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		deadline, end time.Duration
		want          error
	}{
		"the context is about to end": {0, time.Millisecond, context.DeadlineExceeded},
		"it does not end":             {0, time.Hour, weir.ErrStore},
		"its deadline is yet to come": {time.Second, time.Second, weir.ErrStore},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := weirtest.NewStore(nil)
				store.Always(weirtest.Fail(&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}))
				l, err := weir.New(weir.Config{Name: "api", Store: store, Limits: []weir.Limit{weir.PerSecond(1)}})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), test.end)
				defer cancel()
				_, err = l.Allow(deadlined{ctx, time.Now().Add(test.deadline)}, "k")
				if !errors.Is(err, test.want) || errors.Is(err, weir.ErrStore) != (test.want == weir.ErrStore) {
					t.Errorf("got %v, want %v", err, test.want)
				}
			})
		})
	}
}

// TestZeroValues: every method of a zero Limiter and of a zero Reservation returns an
// error where it can, and none panics.
func TestZeroValues(t *testing.T) {
	t.Parallel()
	failure := reflect.TypeFor[error]()
	if text := new(weir.StoreError).Error(); text != "weir: store: : <nil>" {
		t.Errorf("a zero StoreError says %q", text)
	}
	for _, zero := range []any{new(weir.Limiter), new(weir.Reservation), new(weir.Lease), new(weir.Transport)} {
		v := reflect.ValueOf(zero)
		for i := range v.NumMethod() {
			name := fmt.Sprintf("%T.%s", zero, v.Type().Method(i).Name)
			if name == "*weir.Limiter.Waiting" || name == "*weir.Limiter.Flights" {
				continue // of export_test.go
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				method := v.Method(i)
				results := method.Call(arguments(method.Type()))
				last := len(results) - 1
				if last < 0 || method.Type().Out(last) != failure {
					return
				}
				if err, _ := results[last].Interface().(error); err == nil || !errors.Is(err, weir.ErrConfig) {
					t.Errorf("the error is %v, want a ConfigError", err)
				}
			})
		}
	}
}

// arguments returns valid arguments of a function.
func arguments(f reflect.Type) (args []reflect.Value) {
	for i := range f.NumIn() {
		of := f.In(i)
		if f.IsVariadic() && i == f.NumIn()-1 {
			of = of.Elem()
		}
		var arg any
		switch of {
		case reflect.TypeFor[context.Context]():
			arg = context.Background()
		case reflect.TypeFor[string]():
			arg = "key"
		case reflect.TypeFor[int64]():
			arg = int64(1)
		case reflect.TypeFor[time.Duration]():
			arg = time.Second
		case reflect.TypeFor[[]weir.Limit]():
			arg = []weir.Limit{weir.PerSecond(1)}
		default:
			if of.Kind() == reflect.Func {
				args = append(args, reflect.MakeFunc(of, func([]reflect.Value) []reflect.Value { panic("called") }))
			} else {
				args = append(args, reflect.New(of.Elem())) // a *Limiter, a *http.Request
			}
			continue
		}
		args = append(args, reflect.ValueOf(arg))
	}
	return args
}
