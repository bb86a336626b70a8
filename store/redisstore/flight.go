package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// flight is a number of calls that go to Redis together.
type flight struct {
	combiner *combiner
	turn     int         // of the combiner, when it first set off
	lanes    [lanes]bool // that it has
	calls    []*waiting
	absent   int // of those it was to take, who left before
	trip     *flightContext
	done     chan struct{} // of the context, when all may leave

	entries []entry
	at      map[string]int // the last entry of each key
	sorts   []sort
	cmds    []*packed
	sent    time.Duration // by the clock of the store
}

// entry is the calls of a key that follow each other and ask for the same.
type entry struct {
	key         string
	terms       *terms
	first, last *waiting
	calls       int
	other       bool // there is another one of the key
	packed      bool // it is in a command
	left        bool // the command has left it as it was
}

// sort is what entries of a command have in common.
type sort struct {
	terms *terms
	calls int
	n     int // how many they are
}

// packed is a command and its entries, in the order of its KEYS.
type packed struct {
	numbers
	entries []int
	first   int8 // where its first key is, if it declares none
}

// say makes the command one of these arguments.
func (p *packed) say(ctx context.Context, args []any) {
	p.numbers = numbers{redis.NewIntSliceCmd(ctx, args...)}
	if p.first > 0 {
		p.SetFirstKeyPos(p.first)
	}
}

const (
	// mostKeys is the most keys of one script call, which others wait for.
	mostKeys = 256
	// mostKeyBytes is how long their names are at most, together.
	mostKeyBytes = 1 << 15
	// mostSorts is how many sorts of entries one script call has at most.
	mostSorts = 64
)

// ask has the calls decided.
func (f *flight) ask() {
	f.sortOut()
	ctx := f.context()
	apart := len(f.entries) == 1 || f.combiner.packs.look(ctx, f.combiner.store, false) != together
	f.pack(ctx, apart)
	f.carryOut(ctx)
	if f.packLeft(ctx) {
		f.carryOut(ctx)
	}
}

// carryOut sends the commands, and reads what they reply.
func (f *flight) carryOut(ctx context.Context) {
	f.sent = f.combiner.store.elapsed()
	f.send(ctx)
	for i := range f.cmds {
		f.read(f.cmds[i])
	}
}

// sortOut makes entries of the calls.
func (f *flight) sortOut() {
	if f.at == nil {
		f.at = make(map[string]int, len(f.calls))
	}
	clear(f.at)
	clear(f.entries)
	f.entries = f.entries[:0]
	for _, w := range f.calls {
		w.next = nil
		if i := len(f.entries) - 1; i >= 0 && f.entries[i].add(w) {
			continue
		}
		other := false
		if i, ok := f.at[w.key]; ok {
			e := &f.entries[i]
			if e.add(w) {
				continue
			}
			if (e.terms.rules == nil) != (w.terms.rules == nil) {
				w.alone = true // It comes after those before it.
				continue
			}
			e.other, other = true, true
		}
		f.at[w.key] = len(f.entries)
		f.entries = append(f.entries, entry{key: w.key, terms: w.terms, first: w, last: w, calls: 1, other: other})
	}
}

// add reports whether a call belongs to the entry, which then has it.
func (e *entry) add(w *waiting) bool {
	if e.terms != w.terms || e.key != w.key {
		return false
	}
	e.last.next, e.last = w, w
	e.calls++
	return true
}

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

// send has the commands carried out: by the script's hash, and by its text where
// a server does not know it. Of the text one is sent at first, as that is long and
// the server knows it then. Where none knows it afterwards, they are twice as many
// each time, so that a server that refuses texts is not asked for ever.
func (f *flight) send(ctx context.Context) {
	cmds := f.cmds
	f.process(ctx, cmds)
	for texts := 1; ; texts *= 2 {
		unknown := cmds[:0:0]
		for _, cmd := range cmds {
			if err := cmd.Err(); err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
				unknown = append(unknown, cmd)
			}
		}
		if len(unknown) == 0 {
			return
		}
		texts = min(texts, len(unknown))
		for i, cmd := range unknown {
			args := append([]any(nil), cmd.Args()...)
			if i < texts {
				args[0], args[1] = byText, scriptArg
			}
			cmd.say(ctx, args)
		}
		f.process(ctx, unknown[:texts])
		cmds = unknown[texts:]
		if len(cmds) == 0 {
			return
		}
		f.process(ctx, cmds)
	}
}

// process sends commands in one write. Their errors are their own.
func (f *flight) process(ctx context.Context, cmds []*packed) {
	client := f.combiner.store.client
	if len(cmds) == 1 {
		if err := client.Process(ctx, cmds[0].numbers); err != nil {
			cmds[0].SetErr(err)
		}
		return
	}
	pipe := client.Pipeline()
	for _, cmd := range cmds {
		_ = pipe.Process(ctx, cmd.numbers)
	}
	if _, err := pipe.Exec(ctx); err != nil && ctx.Err() == nil {
		for _, cmd := range cmds {
			if cmd.Err() == nil && cmd.Val() == nil {
				cmd.SetErr(err)
			}
		}
	}
}
