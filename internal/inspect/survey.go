package inspect

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/goweir/weir/internal/rediskey"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// Survey reads the keys of a prefix again and again, at a low cost: each reading goes on
// with the SCAN of the one before, and sends one GET for each known key. It reads logs and
// leases of keys that have them, and no TTL.
type Survey struct {
	inspector        *Inspector
	maxKeys, maxScan int

	reading sync.Mutex
	cursors map[string]uint64 // by server

	mu    sync.Mutex
	known map[string]*surveyed // by the name of the state
	more  bool                 // there were more than maxKeys
}

// surveyed is a known key.
type surveyed struct {
	name      rediskey.Name
	log, held bool // it has these parts
	missed    bool // the last reading did not find it
}

// surveyStep is the COUNT of each SCAN, and the number of keys that share a round trip.
const surveyStep = 500

// Survey returns a Survey that knows at most maxKeys keys. A reading looks at about maxScan
// keys of each server, of all programs.
func (i *Inspector) Survey(maxKeys, maxScan int) (*Survey, error) {
	if maxKeys < 1 || maxScan < 1 {
		return nil, &store.ConfigError{Field: "inspect.Survey", Want: "bounds of 1 or more", Got: "less"}
	}
	return &Survey{inspector: i, maxKeys: maxKeys, maxScan: maxScan, cursors: map[string]uint64{}, known: map[string]*surveyed{}}, nil
}

// Add makes the next readings read a key that SCAN may not have found yet. It may be called
// during a reading.
func (s *Survey) Add(limiter, key string) {
	state := rediskey.State(s.inspector.prefix, limiter, key)
	if name, ok := rediskey.Parse(s.inspector.prefix, state); ok {
		name.Scope, name.Key = limiter, key // Also where a hash stands for them.
		s.add(name)
	}
}

// add adds the state of a name, and notes which part the name is.
func (s *Survey) add(name rediskey.Name) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.known[name.State]
	switch {
	case k == nil && len(s.known) >= s.maxKeys:
		s.more = true
		return
	case k == nil:
		k = &surveyed{name: name}
		k.name.Part = ""
		s.known[name.State] = k
	case name.Key != "" && k.name.Key == "":
		k.name.Scope, k.name.Key = name.Scope, name.Key
	}
	k.missed = false
	k.log = k.log || name.Part == "log"
	k.held = k.held || name.Part == "held"
}

// Read reads all known keys, and looks for further ones. Keys that ended are left out, and
// forgotten. Listing.Cut says that there are more keys than the bound. One reading runs at a
// time.
func (s *Survey) Read(ctx context.Context) (Listing, error) {
	s.reading.Lock()
	defer s.reading.Unlock()
	nodes, err := s.inspector.nodes(ctx)
	if err != nil {
		return Listing{}, err
	}
	s.mu.Lock()
	s.more = false
	s.mu.Unlock()
	for _, n := range nodes {
		if err := s.scan(ctx, n); err != nil {
			return Listing{}, err
		}
	}
	var l Listing
	for server, names := range s.byServer(ctx, nodes) {
		for some := range slices.Chunk(names, surveyStep) {
			if err := s.read(ctx, server, some, &l); err != nil {
				return Listing{}, err
			}
		}
	}
	s.mu.Lock()
	l.Cut = s.more
	s.mu.Unlock()
	return l, nil
}

// scan goes on with the search on a server.
func (s *Survey) scan(ctx context.Context, n node) error {
	pattern := escapePattern(s.inspector.prefix) + "{*"
	for scanned := 0; scanned < s.maxScan; scanned += surveyStep {
		found, next, err := n.Scan(ctx, s.cursors[n.addr], pattern, surveyStep).Result()
		if err != nil {
			return err
		}
		s.cursors[n.addr] = next
		for _, text := range found {
			if name, ok := rediskey.Parse(s.inspector.prefix, text); ok && (name.Part == "" || name.Part == "log" || name.Part == "held") {
				s.add(name)
			}
		}
		if next == 0 {
			return nil
		}
	}
	return nil
}

// byServer returns the known keys of each server.
func (s *Survey) byServer(ctx context.Context, nodes []node) map[node][]surveyed {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[node][]surveyed{}
	for _, k := range s.known {
		n := nodes[0]
		if len(nodes) > 1 {
			var err error
			if n, err = s.inspector.nodeOf(ctx, k.name.State); err != nil {
				continue
			}
		}
		all[n] = append(all[n], *k)
	}
	return all
}

// read reads keys of one server in one round trip.
func (s *Survey) read(ctx context.Context, n node, known []surveyed, l *Listing) error {
	pipe := n.Pipeline()
	at := pipe.Time(ctx)
	all := make([]stored, len(known))
	for j := range known {
		k := &known[j]
		all[j] = stored{ttl: redis.NewDurationResult(0, nil), log: redis.NewStringSliceResult(nil, nil), leases: redis.NewIntResult(0, nil), flights: redis.NewZSliceCmdResult(nil, nil)}
		all[j].value = pipe.Get(ctx, k.name.State)
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
	l.At = now.Add(s.inspector.ahead)
	for j := range known {
		name := &known[j].name
		k := Key{Limiter: name.Scope, Key: name.Key, Hash: name.Hash, Stored: name.State, Server: n.addr, At: l.At}
		if errors.Is(k.decode(&all[j]), errTorn) {
			// Another call has changed the key between the commands, or its log is new.
			if err := s.inspector.reread(ctx, n, &k, fewLog); err != nil {
				return err
			}
		}
		if s.note(&k); !k.Missing || k.InFlight > 0 {
			l.Keys = append(l.Keys, k)
		}
	}
	return nil
}

// note forgets a key that two readings in a row did not find.
func (s *Survey) note(k *Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.known[k.Stored]
	switch {
	case known == nil:
	case k.Missing && k.InFlight == 0 && known.missed:
		delete(s.known, k.Stored)
	default:
		known.missed = k.Missing && k.InFlight == 0
		known.held = known.held || k.InFlight > 0
	}
}
