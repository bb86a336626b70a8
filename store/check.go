package store

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// anyLimit is a Limit, or a type with its fields.
type anyLimit interface {
	~struct {
		Name      string
		Rate      int64
		Period    time.Duration
		Burst     int64
		Algorithm Algorithm
	}
}

// CheckStore returns a *[ConfigError] for field when s is nil or a nil pointer, as a
// constructor returns with an error.
func CheckStore(field string, s Store) error {
	if v := reflect.ValueOf(s); s == nil || v.Kind() == reflect.Pointer && v.IsNil() {
		return &ConfigError{Field: field, Want: "a store", Got: fmt.Sprintf("%#v", s)}
	}
	return nil
}

// CheckLimits validates limits for one key: at least one, each valid, no two with the same
// policy name. The *[ConfigError] names field and the index of the wrong one. L is Limit, or has its fields.
func CheckLimits[L anyLimit](field string, limits []L) error {
	if len(limits) == 0 {
		return &ConfigError{Field: field, Want: "at least one limit", Got: "none"}
	}
	for i := range limits {
		limit := Limit(limits[i])
		at := func() string { return field + "[" + strconv.Itoa(i) + "]" }
		if wrong, ok := errors.AsType[*ConfigError](limit.Validate()); ok {
			return &ConfigError{Field: at() + strings.TrimPrefix(wrong.Field, "Limit"), Want: wrong.Want, Got: wrong.Got}
		}
		for j := range i {
			other := Limit(limits[j])
			if limit.samePolicy(&other) {
				return &ConfigError{Field: at() + ".Name", Want: "a name that no other of the limits has", Got: strconv.Quote(limit.Policy())}
			}
		}
	}
	return nil
}

// samePolicy reports whether two limits have one policy name. It seldom allocates.
func (l *Limit) samePolicy(other *Limit) bool {
	named, derived := l, other
	switch {
	case l.Name != "" && other.Name != "":
		return l.Name == other.Name
	case l.Name == "" && other.Name == "":
		return l.Rate == other.Rate && l.Period == other.Period
	case l.Name == "":
		named, derived = other, l
	}
	var room [64]byte
	return string(derived.appendRule(room[:0])) == named.Name
}
