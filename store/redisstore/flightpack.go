package redisstore

import "context"

const (
	// mostKeys is the most keys of one script call, which others wait for.
	mostKeys = 256
	// mostKeyBytes is how long their names are at most, together.
	mostKeyBytes = 1 << 15
	// mostSorts is how many sorts of entries one script call has at most.
	mostSorts = 64
)

// pack makes commands of the entries: apart, each of one; else of as many as may
// be. A key is in a command once: its other entries follow in later ones.
func (f *flight) pack(ctx context.Context, apart bool) {
	f.cmds = f.cmds[:0]
	clear(f.at)
	for from := 0; from < len(f.entries); {
		f.sorts = f.sorts[:0]
		keys, to, bytes := 0, from, 0
		for ; to < len(f.entries) && (keys == 0 || !apart) && keys < mostKeys && bytes < mostKeyBytes; to++ {
			e := &f.entries[to]
			if e.terms.rules != nil {
				continue
			}
			if before, ok := f.at[e.key]; ok && before >= from || !f.sort(e) {
				break
			}
			f.at[e.key] = to
			bytes += len(e.key)
			keys++
		}
		if keys > 0 {
			f.cmds = append(f.cmds, f.command(ctx, from, to, keys))
		}
		from = to
	}
	for i := range f.entries {
		if e := &f.entries[i]; e.terms.rules != nil && !e.packed {
			f.cmds = append(f.cmds, f.commandOfRules(ctx, i, apart))
		}
	}
}

// sort counts an entry among those of its sort. It reports false when there are
// too many sorts.
func (f *flight) sort(e *entry) bool {
	for i := range f.sorts {
		if s := &f.sorts[i]; s.terms == e.terms && s.calls == e.calls {
			s.n++
			return true
		}
	}
	if len(f.sorts) == mostSorts {
		return false
	}
	f.sorts = append(f.sorts, sort{e.terms, e.calls, 1})
	return true
}

// command returns the script call of some entries, which have so many keys of the
// common case.
func (f *flight) command(ctx context.Context, from, to, keys int) *packed {
	p := &packed{entries: make([]int, 0, keys)}
	args := make([]any, 3, 5+keys+groupFull*len(f.sorts))
	args[0], args[1], args[2] = byHash, hashArg, keys
	if keys > 1 && f.combiner.packs.undeclared {
		args[2] = 0
		args = append(args, "p", keys)
		p.first = 5
	}
	for _, s := range f.sorts {
		for i := from; i < to; i++ {
			if e := &f.entries[i]; e.terms == s.terms && e.calls == s.calls {
				p.entries = append(p.entries, i)
				args = append(args, e.key)
			}
		}
	}
	clock := f.combiner.store.clock()
	for i, s := range f.sorts {
		args = s.terms.group(args, s.calls, s.n, clock, i == len(f.sorts)-1)
	}
	p.say(ctx, args)
	return p
}

// commandOfRules returns the script call of an entry, and unless it is to be apart of
// those after it with the same rules.
func (f *flight) commandOfRules(ctx context.Context, first int, apart bool) *packed {
	e, clock := &f.entries[first], f.combiner.store.clock()
	p := &packed{entries: []int{first}}
	bytes := len(e.key)
	for i := first + 1; i < len(f.entries) && !apart && e.terms.rules.quick && !e.other; i++ {
		o := &f.entries[i]
		if o.terms != e.terms || o.packed || o.other {
			continue
		}
		if bytes += len(o.key); len(p.entries) == mostKeys || bytes > mostKeyBytes {
			break
		}
		o.packed = true
		p.entries = append(p.entries, i)
	}
	if len(p.entries) == 1 {
		p.say(ctx, e.terms.rules.args(e.key, e.calls, clock))
		return p
	}
	if f.combiner.packs.undeclared {
		p.first = namesFrom
	}
	p.say(ctx, e.terms.rules.argsOfMany(f.entries, p.entries, p.first == 0, clock))
	return p
}

// packLeft makes a command of each entry that one of several keys has left as it was.
// It reports whether there are any.
func (f *flight) packLeft(ctx context.Context) bool {
	f.cmds = f.cmds[:0]
	for i := range f.entries {
		e := &f.entries[i]
		switch {
		case !e.left:
		case e.terms.rules != nil:
			f.cmds = append(f.cmds, f.commandOfRules(ctx, i, true))
		default:
			f.sorts = f.sorts[:0]
			f.sort(e)
			f.cmds = append(f.cmds, f.command(ctx, i, i+1, 1))
		}
		e.left = false
	}
	return len(f.cmds) > 0
}
