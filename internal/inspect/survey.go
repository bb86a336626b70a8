package inspect

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/goweir/weir/internal/rediskey"
)

// Survey reads the keys of a prefix again and again, at a bounded cost: a reading goes on
// with the SCAN of the one before, and sends one GETRANGE for each of at most 3,000 keys. New
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
	wanted
	last   *Key  // nil: it was not read yet
	due    int64 // number of the reading that has to read it
	missed bool  // by the last reading
}

const (
	// surveyKeys is the maximum number of keys that a reading reads, and about the number that
	// it visits on a server. Redis 7 takes about 1 µs for each, and half of that for each visit.
	surveyKeys = 3000
	// surveyStep is the COUNT of each SCAN, and the number of keys that share a round trip.
	surveyStep = 500
	// surveyTop is the number of keys with the largest used shares that each reading reads.
	surveyTop = 200
	// maxText bounds the texts of a key that is added, in bytes.
	maxText = 4096
	// turns is the number of readings until a key is due again that is not urgent.
	turns = 8
)

// Survey returns a Survey that knows at most maxKeys keys.
func (i *Inspector) Survey(maxKeys int) *Survey {
	return &Survey{inspector: i, maxKeys: maxKeys, cursors: map[string]uint64{}, known: map[string]*surveyed{}}
}

// Add makes the next reading read a key that SCAN may not have found yet. If the Survey is
// full, the key takes the place of another one. It may be called during a reading.
func (s *Survey) Add(limiter, key string) {
	name, ok := rediskey.Parse(s.inspector.prefix, rediskey.State(s.inspector.prefix, limiter, key))
	if !ok {
		return
	}
	if len(limiter)+len(key) <= maxText {
		name.Scope, name.Key = limiter, key // Also where a hash stands for them.
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[name.State] == nil && len(s.known) >= s.maxKeys {
		maps.DeleteFunc(s.known, func(_ string, k *surveyed) bool { // One that is not urgent.
			return len(s.known) >= s.maxKeys && k.due > s.number+1
		})
	}
	if k := s.add(name); k != nil {
		k.due = 0
	}
}

// add adds the state of a name, and notes its part. The caller holds mu.
func (s *Survey) add(name rediskey.Name) *surveyed {
	k := s.known[name.State]
	if k == nil {
		if len(s.known) >= s.maxKeys {
			s.more = true
			return nil
		}
		k = &surveyed{wanted: wanted{name: name}}
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

// Read makes a reading. It returns all known keys. Keys that it did not read are as before,
// with their own time. Keys that ended are left out. more says that there are more keys than
// the bound. If servers fail, the error names them, and keys has those of the others; nil
// if all fail. Callers must not change the keys. One reading runs at a time.
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
	up, unseen := each(nodes, func(n node) error { return s.scan(ctx, n) })
	turns := s.turn(ctx, up)
	up, unread := each(up, func(n node) error {
		for part := range slices.Chunk(turns[n], surveyStep) {
			read, err := s.inspector.read(ctx, n, part, fewLog)
			if err != nil {
				return err
			}
			for _, k := range read {
				s.note(&k)
			}
		}
		return nil
	})
	if err = errors.Join(unseen, unread); len(up) == 0 {
		return nil, false, err
	}
	keys, more = s.end(ctx, up)
	return keys, more, err
}

// scan goes on with the search on a server.
func (s *Survey) scan(ctx context.Context, n node) (err error) {
	s.cursors[n.Addr], err = s.inspector.scan(ctx, n, s.cursors[n.Addr], surveyStep, surveyKeys/surveyStep, func(names []rediskey.Name) (bool, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, name := range names {
			if isOfState(name.Part) {
				s.add(name)
			}
		}
		return true, nil
	})
	return err
}
