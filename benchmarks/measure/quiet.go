package measure

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// quiet drops go-redis' log: servers go away on purpose.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(quiet{}) }
