package weirecho

import (
	"github.com/labstack/echo/v5"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
)

var bridge middleware.Bridge[*echo.Context]

// Key returns a KeyFunc whose key comes from the echo.Context, usually the user's ID
// that an authentication has put there with Set. Its error is weir.ErrNoKey if from
// reports false or returns the empty string. The key is as trustworthy as that
// authentication, which has to run before the middleware of [New].
//
// It serves wherever the Config has a key function, in weir.KeyFirst and
// weir.KeyJoin, and as a function that Config.Limits calls. In other middleware it
// returns a *weir.ConfigError. Once Key was called, requests take two more
// allocations, to carry the echo.Context.
func Key(from func(*echo.Context) (string, bool)) weir.KeyFunc { return bridge.Key(from) }
