package weir

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

// names holds the limits of this process's limiters by name. It keeps neither a
// limiter nor a store alive.
var names struct {
	sync.Mutex
	users map[string][]weak.Pointer[nameUser]
}

// nameUser stands for the limiters of one name, one store and like limits. They alone
// keep it alive.
type nameUser struct {
	store  Store
	limits []Limit
}

// claimName returns the user that a new limiter has to hold, or a *[ConfigError] when
// another limiter has the name with other limits. Collected limiters don't count, so
// the garbage is collected before an error.
func (c *Config) claimName() (*nameUser, error) {
	if isStateless(c.Store) {
		return nil, nil
	}
	u, other := c.findUser()
	for collections := 0; other != nil && collections < 2; collections++ { // A sync.Pool outlives one.
		runtime.GC()
		u, other = c.findUser()
	}
	if other != nil {
		return nil, &store.ConfigError{
			Field: "Config.Name", Got: strconv.Quote(c.Name) + " of a limiter with " + describe(other),
			Want: "a name that no limiter with other limits has on the same store (where limits change: one limiter, with AllowLimits or ReserveLimits)",
		}
	}
	return u, nil
}

// findUser returns the user of a name, a new one if there is none; or the limits of
// another limiter, if they differ.
func (c *Config) findUser() (u *nameUser, other []Limit) {
	names.Lock()
	defer names.Unlock()
	for _, p := range names.users[c.Name] {
		switch u := p.Value(); {
		case u == nil || !sameStore(u.store, c.Store):
		case alike(u.limits, c.Limits):
			return u, nil
		default:
			return nil, u.limits
		}
	}
	if names.users == nil {
		names.users = make(map[string][]weak.Pointer[nameUser])
	}
	u = &nameUser{c.Store, c.Limits}
	names.users[c.Name] = append(names.users[c.Name], weak.Make(u))
	runtime.AddCleanup(u, forgetUsers, c.Name)
	return u, nil
}

// forgetUsers drops the collected users of a name.
func forgetUsers(name string) {
	names.Lock()
	defer names.Unlock()
	left := slices.DeleteFunc(names.users[name], func(p weak.Pointer[nameUser]) bool { return p.Value() == nil })
	if names.users[name] = left; len(left) == 0 {
		delete(names.users, name)
	}
}

// isStateless reports whether a store can't be told from others of its type: it has
// no fields, or can't be compared.
func isStateless(s Store) bool {
	v := reflect.ValueOf(s)
	if v.Kind() == reflect.Pointer {
		return v.Type().Elem().Size() == 0
	}
	return v.Type().Size() == 0 || !v.Comparable()
}

// sameStore reports whether two stores are one. Stores of a type that can't be
// compared are not known to be.
func sameStore(a, b store.Store) (same bool) {
	defer func() {
		if recover() != nil {
			same = false
		}
	}()
	return a == b
}

// alike reports whether limits count alike, in any order and under any policy name.
func alike(a, b []Limit) bool {
	within := func(a, b []Limit) bool {
		return !slices.ContainsFunc(a, func(x Limit) bool {
			return !slices.ContainsFunc(b, func(y Limit) bool {
				return x.Rate == y.Rate && x.Period == y.Period && x.Algorithm == y.Algorithm && x.Max() == y.Max()
			})
		})
	}
	return within(a, b) && within(b, a)
}

// describe writes limits out, as "10-in-1s gcra burst 20".
func describe(limits []Limit) string {
	texts := make([]string, len(limits))
	for i, l := range limits {
		texts[i] = Per(l.Rate, l.Period).Policy() + " " + l.Algorithm.String()
		if l.Max() != l.Rate {
			texts[i] += " burst " + strconv.FormatInt(l.Max(), 10)
		}
	}
	return strings.Join(texts, ", ")
}
