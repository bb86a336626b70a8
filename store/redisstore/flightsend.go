package redisstore

import (
	"context"

	"github.com/redis/go-redis/v9"
)

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
