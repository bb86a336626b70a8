package weir_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/goweir/weir"
)

// TestZeroValues: every method of a zero Limiter and of a zero Reservation returns an
// error where it can, and none panics.
func TestZeroValues(t *testing.T) {
	t.Parallel()
	failure := reflect.TypeFor[error]()
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
