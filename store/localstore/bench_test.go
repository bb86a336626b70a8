package localstore_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/goweir/weir/store"
	"github.com/goweir/weir/store/localstore"
)

// BenchmarkTake measures calls for one key or for one of many. All are admitted or all
// refused, one after another or at the same time.
func BenchmarkTake(b *testing.B) {
	for _, keys := range []int{1, 1000, 1_000_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			allowed := requests(keys, store.Per(1<<50, 24*time.Hour))
			refused := requests(keys, store.Per(1, 24*time.Hour))
			b.Run("allowed", func(b *testing.B) { serial(b, allowed, true) })
			b.Run("allowed/parallel", func(b *testing.B) { parallel(b, allowed, true) })
			b.Run("refused", func(b *testing.B) { serial(b, refused, false) })
			b.Run("refused/parallel", func(b *testing.B) { parallel(b, refused, false) })
		})
	}
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		// A million per second: a log of all admitted calls must stay as short as a log of the last
		// moment.
		allowed := requests(1, store.Per(1_000_000, 10*time.Millisecond).By(a))
		refused := requests(1, store.Per(1, 24*time.Hour).By(a))
		b.Run(a.String()+"/allowed", func(b *testing.B) { serial(b, allowed, true) })
		b.Run(a.String()+"/refused", func(b *testing.B) { serial(b, refused, false) })
	}
}

// BenchmarkReserve books a slot that is far away, and gives it back.
func BenchmarkReserve(b *testing.B) {
	for a := store.GCRA; a <= store.AlignedWindow; a++ {
		b.Run(a.String(), func(b *testing.B) {
			s := open(b)
			req := charge("key", 1, store.Per(100, time.Second).By(a))
			req.MaxWait, req.Cancelable = time.Hour, true
			for range 1000 {
				take(b, s, req)
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Cancel(context.Background(), take(b, s, req).Receipt); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTakeMany charges a user, an organisation and a global limit together.
func BenchmarkTakeMany(b *testing.B) {
	s := open(b)
	l := store.Per(1<<40, time.Second)
	req := store.Request{Charges: []store.Charge{{Key: "user", Limit: l, Cost: 1}, {Key: "org", Limit: l, Cost: 1}, {Limit: l, Cost: 1}}}
	b.ReportAllocs()
	for b.Loop() {
		take(b, s, req)
	}
}

// BenchmarkNewKeys uses a new key for every call, as an attacker may.
func BenchmarkNewKeys(b *testing.B) {
	for _, room := range []int{1 << 16, 1 << 30} {
		b.Run(fmt.Sprintf("room=%d", room), func(b *testing.B) {
			s := openFor(b, room)
			req := charge("", 1, store.Per(1, time.Minute))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				req.Charges[0].Key = fmt.Sprint(i)
				s.Take(context.Background(), req)
			}
		})
	}
}

// BenchmarkSeed seeds 100 000 new keys, as a fallback store does, and reports the memory of
// each.
func BenchmarkSeed(b *testing.B) {
	const keys = 100_000
	reqs := requests(keys, store.Per(100, time.Hour))
	states := []store.ChargeState{{Remaining: 50, ResetAfter: time.Hour}}
	bytes := 0.0
	for b.Loop() {
		before := heap()
		s := openFor(b, keys)
		for _, req := range reqs {
			s.Seed(told(req.Charges, states, store.Instant(time.Now().UnixMicro())))
		}
		bytes = float64(heap()-before) / keys
		runtime.KeepAlive(s)
	}
	b.ReportMetric(bytes, "B/key")
}

func requests(keys int, l store.Limit) []store.Request {
	all := make([]store.Request, keys)
	for i := range all {
		all[i] = charge(fmt.Sprint("user:", i), 1, l)
	}
	rand.Shuffle(keys, func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// busy returns a store in which half of each key's units are used. They lapse in half a day.
func busy(b *testing.B, reqs []store.Request) *localstore.Store {
	s := openFor(b, 2*len(reqs))
	for _, req := range reqs {
		half := charge(req.Charges[0].Key, (req.Charges[0].Limit.Rate+1)/2, req.Charges[0].Limit)
		take(b, s, half)
	}
	return s
}

func serial(b *testing.B, reqs []store.Request, allowed bool) {
	s := busy(b, reqs)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if d := take(b, s, reqs[i%len(reqs)]); d.Allowed != allowed {
			b.Fatalf("%+v", d)
		}
	}
}

func parallel(b *testing.B, reqs []store.Request, allowed bool) {
	s := busy(b, reqs)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for i := rand.IntN(len(reqs)); pb.Next(); i++ {
			if d := take(b, s, reqs[i%len(reqs)]); d.Allowed != allowed {
				b.Errorf("%+v", d)
				return
			}
		}
	})
}

// BenchmarkSeveralLimits uses keys under three limits each, and reports the memory of each
// key.
func BenchmarkSeveralLimits(b *testing.B) {
	for _, keys := range []int{1, 1000, 100_000} {
		for name, rate := range map[string]int64{"allowed": 1 << 40, "refused": 1} {
			b.Run(fmt.Sprintf("keys=%d/%s", keys, name), func(b *testing.B) {
				reqs := make([]store.Request, keys)
				for i := range reqs {
					reqs[i] = charge(fmt.Sprint("user:", i), 1, store.Per(rate, 24*time.Hour), store.Per(rate, time.Hour), store.Per(1<<40, time.Minute).By(store.FixedWindow))
				}
				before := heap()
				s := open(b)
				for _, req := range reqs {
					take(b, s, req)
				}
				kept := float64(heap()-before) / float64(keys)
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					take(b, s, reqs[i%keys])
				}
				b.ReportMetric(kept, "B/key")
			})
		}
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
