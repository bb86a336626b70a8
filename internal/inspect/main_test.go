package inspect

import (
	"testing"
	"time"

	"github.com/goweir/weir/internal/leaktest"
	"github.com/redis/go-redis/v9"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// patience is a client's maximum wait for an answer: a busy machine is no reason to fail.
const patience = 20 * time.Second

func patient(o *redis.Options) {
	o.DialTimeout, o.ReadTimeout, o.PoolTimeout = patience, patience, patience
}

func patientCluster(o *redis.ClusterOptions) {
	o.DialTimeout, o.ReadTimeout, o.PoolTimeout = patience, patience, patience
}
