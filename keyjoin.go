package weir

import (
	"net/http"
	"strings"
)

// KeyJoin returns a KeyFunc that counts by several functions together, as by
// user and route: its key is their keys with | between them. A | or \ within a
// key is written \| or \\, so that different keys never join to the same one,
// empty keys and nested joins included.
//
// The functions are called in order; the first error is returned as it is. The
// joined key is as easy to invent as the easiest of its parts: joining what a
// client controls to a user's ID gives the user one allowance per invention.
func KeyJoin(fs ...KeyFunc) KeyFunc {
	fs, err := keyFuncs("KeyJoin", fs)
	if err != nil {
		return keyError(err)
	}
	return func(r *http.Request) (string, error) {
		joined := make([]byte, 0, 128)
		for i, f := range fs {
			key, err := f(r)
			if err != nil {
				return "", err
			}
			if i > 0 {
				joined = append(joined, '|')
			}
			joined = appendEscaped(joined, key)
		}
		return string(joined), nil
	}
}

func appendEscaped(to []byte, key string) []byte {
	for {
		i := strings.IndexAny(key, `|\`)
		if i < 0 {
			return append(to, key...)
		}
		to = append(to, key[:i]...)
		to = append(to, '\\', key[i])
		key = key[i+1:]
	}
}
