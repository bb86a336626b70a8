package combine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir/internal/long"
	"github.com/goweir/weir/store/redisstore/internal/combine"
)

// TestStories starts calls at random, which leave at random, with a server that fails
// and panics at random.
func TestStories(t *testing.T) {
	t.Parallel()
	for seed := range long.Of(600) {
		synctest.Test(t, func(t *testing.T) {
			newStory(uint64(seed)).tell(t)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		})
	}
}

// randomStory is a server that checks the batches, and the callers in front of it.
type randomStory struct {
	config

	mu       sync.Mutex
	rng      *rand.Rand
	faults   []string
	trips    int            // under way
	underWay map[string]int // keys
	last     map[string]int // number sent of each key
	sent     map[int]bool   // whether the batch of a number succeeded
	left     []int          // numbers whose callers left after they were sent
	unsent   []int          // numbers whose callers left before
}

func newStory(seed uint64) *randomStory {
	r := &randomStory{rng: rand.New(rand.NewPCG(seed, 0)), underWay: map[string]int{}, last: map[string]int{}, sent: map[int]bool{}}
	r.config = config{Send: r.send, RoundTrips: 1 + r.rng.IntN(16), MaxKeys: 1 + r.rng.IntN(4), MaxCalls: 1 + r.rng.IntN(8)}
	return r
}

func (r *randomStory) intN(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rng.IntN(n)
}

func (r *randomStory) check(ok bool, format string, args ...any) {
	if !ok {
		r.faults = append(r.faults, fmt.Sprintf(format, args...))
	}
}

func (r *randomStory) send(ctx context.Context, batch []group) (err error) {
	took := r.depart(batch)
	select {
	case <-time.After(took):
	case <-ctx.Done():
		err = ctx.Err()
	}
	if r.intN(8) == 0 {
		err = errServer
	}
	panics := r.intN(16) == 0
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trips--
	for _, g := range batch {
		r.underWay[g.Key]--
		for _, c := range g.Calls {
			c.double = 2 * c.number
			r.sent[c.number] = err == nil && !panics
		}
	}
	if panics {
		panic("server gone")
	}
	return err
}

// depart checks a batch and returns the time it takes.
func (r *randomStory) depart(batch []group) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.trips++
	r.check(r.trips <= r.RoundTrips, "%d round trips under way", r.trips)
	r.check(len(batch) <= r.MaxKeys, "%d keys in a batch", len(batch))
	calls := 0
	for _, g := range batch {
		r.underWay[g.Key]++
		r.check(r.underWay[g.Key] <= max(1, r.RoundTrips/2), "key %s is under way %d times", g.Key, r.underWay[g.Key])
		for _, c := range g.Calls {
			calls++
			r.check(r.RoundTrips >= 4 || c.number > r.last[g.Key], "key %s: %d after %d", g.Key, c.number, r.last[g.Key])
			r.last[g.Key] = c.number
		}
	}
	r.check(calls > 0 && calls <= r.MaxCalls, "%d calls in a batch", calls)
	return time.Duration(r.rng.IntN(1000)) * time.Microsecond
}

func (r *randomStory) tell(t *testing.T) {
	q := combine.New(r.config)
	var wg sync.WaitGroup
	for number := 1; number <= 200; number++ {
		if r.intN(3) == 0 {
			time.Sleep(time.Duration(r.intN(400)) * time.Microsecond)
		}
		key, patience := string(rune('a'+r.intN(6))), time.Hour
		if r.intN(3) == 0 {
			patience = time.Duration(r.intN(1500)) * time.Microsecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		p := q.Start(ctx, key, call{number: number})
		wg.Go(func() {
			defer cancel()
			r.wait(ctx, p, number)
		})
	}
	wg.Wait()
	synctest.Wait() // for the last round trips
	for _, number := range r.left {
		_, sent := r.sent[number]
		r.check(sent, "%d was not sent, and its caller left after that", number)
	}
	for _, number := range r.unsent {
		_, sent := r.sent[number]
		r.check(!sent, "%d was sent after its caller left", number)
	}
	for _, fault := range r.faults {
		t.Error(fault)
	}
}

// wait waits for a call until its context ends.
func (r *randomStory) wait(ctx context.Context, p combine.Pending[string, call], number int) {
	select {
	case <-p.Done():
	case <-ctx.Done():
		left, sent := p.Leave()
		if left {
			r.mu.Lock()
			defer r.mu.Unlock()
			if sent {
				r.left = append(r.left, number)
			} else {
				r.unsent = append(r.unsent, number)
			}
			return
		}
		<-p.Done()
	}
	c, err := p.Result()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.check(c == call{number, 2 * number}, "call %d: got %+v", number, c)
	r.check((err == nil) == r.sent[number], "call %d: error %v, success %t", number, err, r.sent[number])
}

// TestCrowd: goroutines call at full speed, and their contexts end at any moment.
func TestCrowd(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	charged := 0
	q := combine.New(config{
		RoundTrips: 3,
		Send: func(_ context.Context, batch []group) error {
			mu.Lock()
			defer mu.Unlock()
			for _, g := range batch {
				for _, c := range g.Calls {
					charged++
					c.double = 2 * c.number
				}
			}
			return nil
		},
	})
	var wg sync.WaitGroup
	decided, left := make([]int, 16), make([]int, 16)
	for i := range decided {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 0))
			for n := range long.Of(60_000) {
				ctx, cancel := context.WithCancel(context.Background())
				if rng.IntN(2) == 0 {
					go cancel()
				}
				got, sent, err := q.Do(ctx, string(rune('a'+rng.IntN(3))), call{number: n})
				if err == nil {
					decided[i]++
					if got.double != 2*n {
						t.Errorf("call %d: got %+v", n, got)
					}
				} else if sent {
					left[i]++
				}
				cancel()
			}
		})
	}
	wg.Wait()
	for _, key := range []string{"a", "b", "c"} { // Their last batches may be under way.
		if _, _, err := q.Do(t.Context(), key, call{}); err != nil {
			t.Error(err)
		}
	}
	sum := 3
	for i, n := range decided {
		sum += n + left[i]
	}
	if sum != charged {
		t.Errorf("decided or left %d, charged %d", sum, charged)
	}
}
