package redisstore

import (
	"context"
	"slices"

	"github.com/goweir/weir/internal/exact"
	"github.com/goweir/weir/store"
	"github.com/redis/go-redis/v9"
)

// shared reports whether a valid request goes in flights: it takes of one key, now or
// not at all.
func shared(req *store.Request) bool {
	first, takes := &req.Charges[0], false
	for i := range req.Charges {
		c := &req.Charges[i]
		if c.Key != first.Key || c.Scope != first.Scope || c.Cost > c.Limit.Max() {
			return false
		}
		takes = takes || c.Cost > 0
	}
	return takes && req.MaxWait == 0 && !req.Cancelable && !req.Hold.Asked()
}

// termsOf returns the terms of a request that goes in flights.
func (s *Store) termsOf(req *store.Request) *terms {
	if isCommon(req) {
		return s.terms.of(&req.Charges[0])
	}
	return s.rules.of(s, req.Charges)
}

// isCommon reports whether a request that goes in flights is of the common case.
func isCommon(req *store.Request) bool {
	return len(req.Charges) == 1 && req.Charges[0].Limit.Algorithm == store.GCRA
}

// takeShared decides a request that goes in flights.
func (s *Store) takeShared(ctx context.Context, req *store.Request) (store.Decision, error) {
	q := s.question(req)
	c := &req.Charges[0]
	if a, ok := s.denied(q.place, c, q.terms); ok {
		if err := ctx.Err(); err != nil {
			return store.Decision{}, err
		}
		return a.decision(req, q.terms)
	}
	a, err := s.shared.take(ctx, q.state(s, c), q.lane(), q.terms)
	return q.decision(s, req, &a, err)
}

// question is a request that goes in flights, and what was known when it was asked.
type question struct {
	terms *terms
	place *place
	hash  uint64 // of the key
	turn  uint64 // of the place
	lost  uint64 // of the denials
}

func (s *Store) question(req *store.Request) question {
	c := &req.Charges[0]
	h := s.denials.hash(c.Scope, c.Key)
	p := s.denials.place(h)
	return question{s.termsOf(req), p, h, p.turn.Load(), s.denials.lost.Load()}
}

// state is the first of the key's names in Redis.
func (q *question) state(s *Store, c *store.Charge) string { return q.place.names.state(s, c, q.hash) }

// lane is the key's in a combiner.
func (q *question) lane() int { return int(q.hash >> 63) }

// decision is what the caller is told of an answer, from which is learnt what the
// next ones may be told.
func (q *question) decision(s *Store, req *store.Request, a *answer, err error) (store.Decision, error) {
	if err != nil {
		s.denials.failed(err)
		return store.Decision{}, err
	}
	c := &req.Charges[0]
	d, err := a.decision(req, q.terms)
	switch {
	case err != nil:
	case a.allowed || a.rest != nil && (q.terms.rules == nil || !a.firm):
		if q.place.of(c) != nil {
			q.place.forget()
		}
	default:
		s.denials.refused(q.place, q.turn, c, a, denial{lost: q.lost, heard: s.elapsed(), rules: q.terms.rules})
	}
	return d, err
}

// alone has the script decide one call, on its caller's goroutine.
func (s *Store) alone(ctx context.Context, key string, t *terms) (a answer, err error) {
	args := s.argsAlone(key, t)
	sent := s.elapsed()
	cmd := numbers{redis.NewIntSliceCmd(ctx, args...)}
	err = s.client.Process(ctx, cmd)
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		args = slices.Clone(args)
		args[0], args[1] = byText, scriptArg
		cmd = numbers{redis.NewIntSliceCmd(ctx, args...)}
		err = s.client.Process(ctx, cmd)
	}
	if isSplit(err) {
		err = s.shared.unsplit(ctx, cmd.Args(), err, func(p processor, args []any) error {
			cmd = numbers{redis.NewIntSliceCmd(ctx, args...)}
			return p.Process(ctx, cmd)
		})
	}
	if err != nil {
		return a, classify(err)
	}
	reply := cmd.Val()
	switch {
	case isTold(reply):
		told, err := readTold(reply, 1)
		return told.answer(1, sent), err
	case t.rules != nil:
		if len(reply) != 2+3*len(t.rules.charges) || reply[1] != 1 {
			return a, errReply
		}
		return told{1, 1, quickly(reply[0], reply[2:]), false}.answer(1, sent), nil
	case len(reply) == 4 && (reply[1] == 0 || reply[1] == 1):
		return answer{now: reply[0], tat: exact.Micros{Whole: reply[2], Rem: reply[3]}, allowed: reply[1] == 1, sent: sent}, nil
	}
	return a, errReply
}

// argsAlone are those of the command that decides one call.
func (s *Store) argsAlone(key string, t *terms) []any {
	if t.rules != nil {
		return t.rules.args(key, 1, s.clock())
	}
	args := make([]any, 4, 4+groupOfOnes)
	args[0], args[1], args[2], args[3] = byHash, hashArg, one, key
	return t.group(args, 1, 1, s.clock(), true)
}
