package redisstate

import (
	"testing"

	"github.com/goweir/weir/internal/exact"
)

func TestParseClock(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]*exact.Clock{
		"5.6":                    {At: 5, V: 6, Unit: 1},
		"5.6.7.8.9.0.0.0.0.0.0":  {At: 5, V: 6, Until: 7, Stand: 8, Unit: 9},
		"1.2.3.4.5.6.7.8.9.10.1": {At: 1, V: 2, Until: 3, Stand: 4, Unit: 5, Gap: 6, Ends: 7, Share: 8, Since: 9, Step: 10, Next: 1},
		"":                       nil, "5": nil, "5.": nil, "5.6.7": nil, "0.6": nil, "-5.6": nil, "5.x": nil, "5.6.7.8.9.0.0.0.0.0.0.0": nil,
		"5.9007199254740992": nil, "5.6.0.0.1.0.0.65.1.1.0": nil, "5.6.0.0.1.0.0.5.1.0.0": nil,
	} {
		got, ok := ParseClock(text)
		if ok != (want != nil) || ok && got != *want {
			t.Errorf("%q: %+v, %t, want %+v", text, got, ok, want)
		}
	}
}
