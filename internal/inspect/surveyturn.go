package inspect

import (
	"cmp"
	"context"
	"slices"
)

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
