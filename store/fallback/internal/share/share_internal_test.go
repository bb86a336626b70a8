package share

import (
	"testing"
	"time"

	"github.com/goweir/weir/store"
)

// A valid limit has valid shares. Any cost that fits the limit can be booked in a bounded
// number of parts of a share.
func FuzzLimit(f *testing.F) {
	f.Add(int64(100), int64(time.Second), int64(0), uint8(0), int64(4))
	f.Add(int64(1), int64(time.Second), int64(1_500_000_000), uint8(0), int64(1000))
	f.Add(int64(3), int64(time.Hour), int64(0), uint8(1), int64(7))
	f.Add(int64(1), int64(store.MaxPeriod), int64(0), uint8(3), int64(9))
	f.Fuzz(func(t *testing.T, rate, period, burst int64, algorithm uint8, replicas int64) {
		l := store.Limit{Rate: rate, Period: time.Duration(period), Burst: burst, Algorithm: store.Algorithm(algorithm)}
		if l.Validate() != nil || replicas < 2 || replicas > 1<<31 {
			t.Skip()
		}
		s := limit(l, replicas)
		if err := s.Validate(); err != nil {
			t.Fatalf("the share of %+v by %d: %v", l, replicas, err)
		}
		if (l.Max()-1)/s.Max()+1 > 2*mostParts || s.Max() > l.Max() || s.Period < l.Period {
			t.Errorf("the share of %+v by %d is %+v", l, replicas, s)
		}
	})
}
