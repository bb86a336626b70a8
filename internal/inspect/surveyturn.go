package inspect

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/goweir/weir/internal/redisclient"
)

// turn returns the keys that this reading reads, by server: those that are due first. Keys of
// servers that are not up take no turn.
func (s *Survey) turn(ctx context.Context, up []node) map[node][]wanted {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.SortedFunc(maps.Values(s.known), func(a, b *surveyed) int { return cmp.Compare(a.due, b.due) })
	all, room := map[node][]wanted{}, surveyKeys
	for _, k := range list {
		n, _ := redisclient.ServerOf(ctx, s.inspector.client, k.name.State) // After an error, no such server is up.
		if !slices.Contains(up, n) {
			continue
		}
		all[n] = append(all[n], k.wanted)
		if room--; room == 0 {
			break
		}
	}
	return all
}

// note keeps a key that was read. It forgets a key that two readings in a row did not find:
// an added key may come a moment later.
func (s *Survey) note(k *Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	missing := k.Missing && k.InFlight == 0 && k.Err == nil
	switch known := s.known[k.Stored]; {
	case known == nil: // Another key took its place.
	case missing && known.missed:
		delete(s.known, k.Stored)
	default:
		known.last, known.due, known.missed = k, s.number+turns, missing
		known.held = known.held || k.InFlight > 0
	}
}

// end returns the keys of servers, and makes urgent ones due in the next reading.
func (s *Survey) end(ctx context.Context, up []node) (keys []*Key, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys = make([]*Key, 0, len(s.known))
	for _, k := range s.known {
		// After a failover, another server has the key.
		if n, _ := redisclient.ServerOf(ctx, s.inspector.client, k.name.State); k.last != nil && !k.missed && slices.Contains(up, n) {
			keys = append(keys, k.last)
		}
	}
	slices.SortFunc(keys, func(a, b *Key) int {
		return cmp.Or(cmp.Compare(b.Busiest().Share(), a.Busiest().Share()), cmp.Compare(a.Stored, b.Stored))
	})
	for i, k := range keys {
		if known := s.known[k.Stored]; i < surveyTop || k.Ahead.Calls != 0 || !k.Brake.IsZero() {
			known.due = min(known.due, s.number+1)
		}
	}
	return keys, s.more
}
