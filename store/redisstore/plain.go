package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir"
)

type plain struct{ client redis.UniversalClient }

func (p *plain) take(ctx context.Context, s *Store, req *weir.Request) (weir.Decision, error) {
	return weir.Decision{}, ErrNeedsScripts
}
