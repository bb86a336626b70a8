// Package redisstate reads the state that package redisstore keeps in Redis. The grammar
// stands in store/redisstore/internal/script/lua/0_key.lua, beside the code that writes
// it. Bounds are those of the scripts: a value that the scripts refuse is an error here.
//
// It is no part of package script, as programs that only look at states need it too, and
// they stand outside of store/redisstore.
package redisstate

import (
	"errors"
	"fmt"
)

// ErrValue is returned for a value that no release of weir wrote.
var ErrValue = errors.New("the value is not weir's")

// ErrVersion is returned for a state of another version. It matches ErrValue.
var ErrVersion = fmt.Errorf("%w of this version", ErrValue)

func wrong(what string) error { return fmt.Errorf("%w: %s", ErrValue, what) }
