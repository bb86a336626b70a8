package weir

import (
	"context"
	"strconv"

	"github.com/goweir/weir/store"
)

// checkLevels reports what keeps levels from being decided at all.
func checkLevels(ctx context.Context, levels []Level) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(levels) == 0 {
		return &store.ConfigError{Field: "levels", Want: "at least one level", Got: "none"}
	}
	for i := range levels {
		if err := levels[i].check(i, levels[:i]); err != nil {
			return err
		}
	}
	return nil
}

// check reports the first field that is wrong of the i-th level.
func (v *Level) check(i int, before []Level) error {
	if err := v.checkLimiter(i, before); err != nil {
		return err
	}
	switch {
	case v.Cost < 0:
		return &store.ConfigError{Field: levelField(i, "Cost"), Want: "0 or more", Got: strconv.FormatInt(v.Cost, 10)}
	case v.Peek && v.Cost != 0:
		return &store.ConfigError{Field: levelField(i, "Cost"), Want: "0 with Peek", Got: strconv.FormatInt(v.Cost, 10)}
	}
	if v.Limits != nil {
		if err := store.CheckLimits(levelField(i, "Limits"), v.Limits); err != nil {
			return err
		}
	}
	return v.Limiter.checkKey(v.Key)
}

// checkLimiter reports what keeps the i-th level's Limiter from deciding with those
// before it.
func (v *Level) checkLimiter(i int, before []Level) error {
	want, got := "", "nil"
	switch {
	case v.Limiter == nil:
		want = "a limiter"
	case v.Limiter.store == nil:
		want, got = "a limiter made by New", "a zero one"
	case v.Limiter.flights != nil:
		want = "a limiter without Config.InFlight"
	case len(before) > 0 && !sameStore(before[0].Limiter.store, v.Limiter.store):
		want = "a limiter over the first level's store, which can be compared"
	}
	for j := range before {
		if want == "" && before[j].Limiter.name == v.Limiter.name {
			want = "a limiter with a name that no other level's has"
		}
	}
	if want == "" {
		return nil
	}
	if got == "nil" && v.Limiter != nil {
		got = strconv.Quote(v.Limiter.name)
	}
	return &store.ConfigError{Field: levelField(i, "Limiter"), Want: want, Got: got}
}

// DecidesWith returns nil when l and a wider Limiter can be levels of one call, or
// a *[ConfigError] that says why they can't. See [Level].
func (l *Limiter) DecidesWith(wider *Limiter) error {
	levels := [2]Level{{Limiter: l}, {Limiter: wider}}
	for i := range levels {
		if err := levels[i].checkLimiter(i, levels[:i]); err != nil {
			return err
		}
	}
	return nil
}

func levelField(i int, field string) string { return "levels[" + strconv.Itoa(i) + "]." + field }

// sameStore reports whether two stores are one. Stores of a type that can't be
// compared are not known to be.
func sameStore(a, b Store) (same bool) {
	defer func() {
		if recover() != nil {
			same = false
		}
	}()
	return a == b
}
