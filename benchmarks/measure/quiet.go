package measure

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// quiet drops what go-redis logs when servers are away, as they are on purpose.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

func init() { redis.SetLogger(quiet{}) }
