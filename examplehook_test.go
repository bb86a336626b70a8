package weir_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store/localstore"
)

// metrics stands for whatever counts in your program.
type metrics struct {
	mu     sync.Mutex
	counts map[string]int
}

func (m *metrics) count(name string, labels ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts[fmt.Sprintf("%s%v", name, labels)]++
}

func ExampleHookFunc() {
	m := &metrics{counts: make(map[string]int)}
	// What comes in labels is bounded: the key is not, and may be personal data.
	hook := weir.HookFunc(func(_ context.Context, e weir.Event) {
		switch e.Kind {
		case weir.EventDecision:
			m.count("decisions", e.Scope, e.Decision.Reason, e.Decision.Degraded)
		case weir.EventWait:
			m.count("waits", e.Scope, e.Err == nil) // e.Wait is for a histogram
		case weir.EventStoreError:
			m.count("store errors", e.Scope)
		}
	})

	store, err := localstore.New(localstore.Config{})
	if err != nil {
		log.Fatal(err)
	}
	limiter, err := weir.New(weir.Config{Name: "api", Store: store, Limits: []weir.Limit{weir.PerHour(2)}, Hook: hook})
	if err != nil {
		log.Fatal(err)
	}
	for range 5 {
		if _, err := limiter.Allow(context.Background(), "alice"); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(m.counts)
	// Output:
	// map[decisions[api allowed false]:2 decisions[api limited false]:3]
}
