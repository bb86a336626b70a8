package inspect

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// Survey reads the keys of a prefix again and again, at a bounded cost: a reading goes on
// with the SCAN of the one before, and sends one GET for each of at most 3,000 keys. New
// keys come first, then those with slots ahead, with a brake or with the largest used
// shares. The others take turns. A Survey reads logs and leases of keys that have them,
// and no TTL.
type Survey struct {
	inspector *Inspector
	maxKeys   int

	reading sync.Mutex
	number  int64             // of the reading
	cursors map[string]uint64 // by server

	mu    sync.Mutex
	known map[string]*surveyed // by the name of the state
	more  bool                 // there were more than maxKeys
}

// surveyed is a known key.
type surveyed struct {
	name      rediskey.Name
	log, held bool  // it has these parts
	last      *Key  // nil: it was not read yet
	read      int64 // number of the reading that read it
	urgent    bool
	missed    bool // the last reading did not find it
}

const (
	// surveyScan is about how many keys of each server a reading looks at, of all programs.
	surveyScan = 3000
	// surveyKeys is the maximum number of keys that a reading reads. Redis 7 takes about 1 µs
	// for each, and half of that for each key of a SCAN.
	surveyKeys = 3000
	// surveyStep is the COUNT of each SCAN, and the number of keys that share a round trip.
	surveyStep = 500
	// surveyTop is the number of keys with the largest used shares that each reading reads.
	surveyTop = 200
	// urgency is how many turns of others a key may have, so that all get their turn.
	urgency = 8
)

// Survey returns a Survey that knows at most maxKeys keys.
func (i *Inspector) Survey(maxKeys int) (*Survey, error) {
	if maxKeys < 1 {
		return nil, &store.ConfigError{Field: "inspect.Survey: maxKeys", Want: "1 or more", Got: "less"}
	}
	return &Survey{inspector: i, maxKeys: maxKeys, cursors: map[string]uint64{}, known: map[string]*surveyed{}}, nil
}

// Add makes the next reading read a key that SCAN may not have found yet. It may be called
// during a reading.
func (s *Survey) Add(limiter, key string) {
	name, ok := rediskey.Parse(s.inspector.prefix, rediskey.State(s.inspector.prefix, limiter, key))
	if !ok {
		return
	}
	name.Scope, name.Key = limiter, key // Also where a hash stands for them.
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := s.add(name); k != nil {
		k.urgent, k.read = true, min(k.read, s.number-1)
	}
}

// add adds the state of a name, and notes which part the name is. The caller holds mu.
func (s *Survey) add(name rediskey.Name) *surveyed {
	k := s.known[name.State]
	if k == nil {
		if len(s.known) >= s.maxKeys {
			s.more = true
			return nil
		}
		k = &surveyed{name: name}
		k.name.Part = ""
		s.known[name.State] = k
	}
	if k.name.Key == "" {
		k.name.Scope, k.name.Key = name.Scope, name.Key
	}
	k.log = k.log || name.Part == "log"
	k.held = k.held || name.Part == "held"
	return k
}

// Read makes a reading. It returns all known keys: those that it did not read as they were
// before, at their own time. Keys that ended are left out. more says that there are more
// keys than the bound. Callers must not change the keys. One reading runs at a time.
func (s *Survey) Read(ctx context.Context) (keys []*Key, more bool, err error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	nodes, err := s.inspector.nodes(ctx)
	if err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	s.number++
	s.more = false
	s.mu.Unlock()
	for _, n := range nodes {
		if err := s.scan(ctx, n); err != nil {
			return nil, false, err
		}
	}
	for n, some := range s.turn(ctx, nodes) {
		for part := range slices.Chunk(some, surveyStep) {
			if err := s.read(ctx, n, part); err != nil {
				return nil, false, err
			}
		}
	}
	keys, more = s.end()
	return keys, more, nil
}

// scan goes on with the search on a server.
func (s *Survey) scan(ctx context.Context, n node) error {
	pattern := escapePattern(s.inspector.prefix) + "{*"
	for range surveyScan / surveyStep {
		found, next, err := n.Scan(ctx, s.cursors[n.addr], pattern, surveyStep).Result()
		if err != nil {
			return err
		}
		s.cursors[n.addr] = next
		s.mu.Lock()
		for _, text := range found {
			if name, ok := rediskey.Parse(s.inspector.prefix, text); ok && (name.Part == "" || name.Part == "log" || name.Part == "held") {
				s.add(name)
			}
		}
		s.mu.Unlock()
		if next == 0 {
			return nil
		}
	}
	return nil
}

// turn returns the keys of each server that this reading reads.
func (s *Survey) turn(ctx context.Context, nodes []node) map[node][]surveyed {
	type waiting struct {
		*surveyed
		turns int64
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]waiting, 0, len(s.known))
	for _, k := range s.known {
		turns := s.number - k.read
		switch {
		case k.last == nil:
			turns = s.number * urgency
		case k.urgent:
			turns *= urgency
		}
		list = append(list, waiting{k, turns})
	}
	slices.SortFunc(list, func(a, b waiting) int { return cmp.Compare(b.turns, a.turns) })
	all := map[node][]surveyed{}
	for _, k := range list[:min(len(list), surveyKeys)] {
		n := nodes[0]
		if len(nodes) > 1 {
			var err error
			if n, err = s.inspector.nodeOf(ctx, k.name.State); err != nil {
				continue
			}
		}
		all[n] = append(all[n], *k.surveyed)
	}
	return all
}

// read reads keys of one server in one round trip.
func (s *Survey) read(ctx context.Context, n node, some []surveyed) error {
	pipe := n.Pipeline()
	at := pipe.Time(ctx)
	all := make([]stored, len(some))
	for j := range some {
		k := &some[j]
		all[j] = stored{
			value: pipe.Get(ctx, k.name.State), ttl: redis.NewDurationResult(0, nil), log: redis.NewStringSliceResult(nil, nil),
			leases: redis.NewIntResult(0, nil), flights: redis.NewZSliceCmdResult(nil, nil),
		}
		if k.log {
			all[j].log = pipe.LRange(ctx, rediskey.Log(k.name.State), -fewLog, -1)
		}
		if k.held {
			all[j].leases = pipe.ZCard(ctx, rediskey.Held(k.name.State))
			all[j].flights = pipe.ZRangeWithScores(ctx, rediskey.Held(k.name.State), 0, maxLeases-1)
		}
	}
	if err := exec(ctx, pipe); err != nil {
		return err
	}
	now, err := at.Result()
	if err != nil {
		return err
	}
	for j := range some {
		name := &some[j].name
		k := &Key{Limiter: name.Scope, Key: name.Key, Hash: name.Hash, Stored: name.State, Server: n.addr, At: now.Add(s.inspector.ahead)}
		if errors.Is(k.decode(&all[j]), errTorn) {
			// Another call has changed the key between the commands, or its log is new.
			if err := s.inspector.reread(ctx, n, k, fewLog); err != nil {
				return err
			}
		}
		s.note(k)
	}
	return nil
}

// note keeps a key that was read. It forgets one that two readings in a row did not find: a
// key that was added may come a moment later.
func (s *Survey) note(k *Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.known[k.Stored]
	if known == nil {
		return
	}
	missing := k.Missing && k.InFlight == 0
	if missing && known.missed {
		delete(s.known, k.Stored)
		return
	}
	known.last, known.read, known.missed = k, s.number, missing
	known.held = known.held || k.InFlight > 0
}

// end returns the keys, and finds those that the next reading reads first.
func (s *Survey) end() (keys []*Key, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys = make([]*Key, 0, len(s.known))
	for _, k := range s.known {
		if k.last != nil && !k.missed {
			keys = append(keys, k.last)
		}
	}
	slices.SortFunc(keys, func(a, b *Key) int { return cmp.Or(cmp.Compare(b.share(), a.share()), cmp.Compare(a.Stored, b.Stored)) })
	for i, k := range keys {
		s.known[k.Stored].urgent = i < surveyTop || k.Ahead.Calls != 0 || k.Brake.Pause > 0 || k.Brake.Slow()
	}
	return keys, s.more
}
