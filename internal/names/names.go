// Package names makes sure that limiters of one name on one store have equal limits, and
// the same maximum of calls in flight.
package names

import (
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"weak"

	"github.com/goweir/weir/store"
)

// users holds the users of each name. It keeps neither a limiter nor a store alive.
var users struct {
	sync.Mutex
	of map[string][]weak.Pointer[User]
}

// User stands for the limiters of one name, one store and equal rules. They alone keep it
// alive.
type User struct {
	store store.Store
	rules Rules
}

// Rules are equal for all limiters of one name. A limiter without InFlight, or with a
// larger one, would let more calls of a key be in flight than the other's maximum.
type Rules struct {
	Limits   []store.Limit
	InFlight int64 // 0: no maximum
}

// Claim returns the User that a new limiter has to hold, or a *[store.ConfigError] if
// another limiter has the name with other rules. Collected limiters don't count, so
// Claim collects the garbage before an error. For a store without fields, or one that
// can't be compared, the User is nil.
func Claim(name string, on store.Store, rules Rules) (*User, error) {
	if isStateless(on) {
		return nil, nil
	}
	u, other := find(name, on, rules)
	for collections := 0; other != nil && collections < 5; collections++ { // A dropped limiter outlives one, now and then.
		runtime.GC()
		u, other = find(name, on, rules)
	}
	if other != nil {
		return nil, &store.ConfigError{
			Field: "Config.Name", Got: strconv.Quote(name) + " of a limiter with " + other.describe(rules),
			Want: "a name that no limiter with other limits or another InFlight has on the same store (where limits change: one limiter, with AllowLimits or Level.Limits)",
		}
	}
	return u, nil
}

// find returns the user of a name, a new one if there is none; or the rules of another
// limiter, if they differ.
func find(name string, on store.Store, rules Rules) (u *User, other *Rules) {
	users.Lock()
	defer users.Unlock()
	for _, p := range users.of[name] {
		switch u := p.Value(); {
		case u == nil || !SameStore(u.store, on):
		case u.rules.InFlight == rules.InFlight && alike(u.rules.Limits, rules.Limits):
			return u, nil
		default:
			return nil, &u.rules
		}
	}
	if users.of == nil {
		users.of = make(map[string][]weak.Pointer[User])
	}
	u = &User{on, rules}
	users.of[name] = append(users.of[name], weak.Make(u))
	runtime.AddCleanup(u, forget, name)
	return u, nil
}

// forget drops the collected users of a name.
func forget(name string) {
	users.Lock()
	defer users.Unlock()
	left := slices.DeleteFunc(users.of[name], func(p weak.Pointer[User]) bool { return p.Value() == nil })
	if users.of[name] = left; len(left) == 0 {
		delete(users.of, name)
	}
}

// isStateless reports whether a store is equal to all others of its type, because it has
// no fields, or can't be compared.
func isStateless(s store.Store) bool {
	v := reflect.ValueOf(s)
	if v.Kind() == reflect.Pointer {
		return v.Type().Elem().Size() == 0
	}
	return v.Type().Size() == 0 || !v.Comparable()
}

// SameStore reports whether two stores are one. Stores of a type that can't be
// compared are not known to be.
func SameStore(a, b store.Store) (same bool) {
	defer func() {
		if recover() != nil {
			same = false
		}
	}()
	return a == b
}

// alike reports whether limits count alike, in any order and under any policy name.
func alike(a, b []store.Limit) bool {
	within := func(a, b []store.Limit) bool {
		return !slices.ContainsFunc(a, func(x store.Limit) bool {
			return !slices.ContainsFunc(b, func(y store.Limit) bool {
				return x.Rate == y.Rate && x.Period == y.Period && x.Algorithm == y.Algorithm && x.Max() == y.Max()
			})
		})
	}
	return within(a, b) && within(b, a)
}

// describe writes the rules out, as "10-in-1s gcra burst 20". InFlight follows if the
// other rules have another one.
func (r *Rules) describe(other Rules) string {
	texts := make([]string, len(r.Limits))
	for i, l := range r.Limits {
		texts[i] = store.Per(l.Rate, l.Period).Policy() + " " + l.Algorithm.String()
		if l.Max() != l.Rate {
			texts[i] += " burst " + strconv.FormatInt(l.Max(), 10)
		}
	}
	if r.InFlight != other.InFlight {
		texts = append(texts, "InFlight "+strconv.FormatInt(r.InFlight, 10))
	}
	return strings.Join(texts, ", ")
}
