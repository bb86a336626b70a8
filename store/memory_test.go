package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/goweir/weir/store"
)

// TestMemoryValidate checks that the error names the first wrong field, in the order of the
// fields.
func TestMemoryValidate(t *testing.T) {
	t.Parallel()
	limits := []store.Limit{store.Per(10, time.Second)}
	used := []store.Used{{At: 1}}
	for name, tt := range map[string]struct {
		m    store.Memory
		want string // the field; "": none
	}{
		"spent alone":             {store.Memory{Limits: limits, Spent: used}, ""},
		"an answer":               {store.Memory{Limits: limits, At: 1, Known: used}, ""},
		"no limits":               {store.Memory{At: -1}, "Memory.Limits"},
		"a wrong limit":           {store.Memory{Limits: []store.Limit{{}}, At: -1}, "Limit.Rate"},
		"all instants wrong":      {store.Memory{Limits: limits, At: -1, Last: -1, Ahead: -1, SpentAt: -1}, "Memory.At"},
		"two instants wrong":      {store.Memory{Limits: limits, Ahead: 1 << 53, SpentAt: -1}, "Memory.Ahead"},
		"an answer without Known": {store.Memory{Limits: limits, At: 1, Spent: []store.Used{}}, "Memory.Known"},
		"too many spent":          {store.Memory{Limits: limits, Spent: append(used, used...)}, "Memory.Spent"},
		"units below 0":           {store.Memory{Limits: limits, Known: []store.Used{{Units: -1}}, Spent: []store.Used{{Units: -1}}}, "Memory.Known"},
	} {
		for range 10 {
			err := tt.m.Validate()
			var wrong *store.ConfigError
			switch {
			case tt.want == "" && err != nil, tt.want != "" && (!errors.As(err, &wrong) || wrong.Field != tt.want):
				t.Errorf("%s: %v, want an error about %q", name, err, tt.want)
			}
		}
	}
}
