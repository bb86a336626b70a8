// Package script is what package redisstore sends to Redis, and what comes back: Lua
// texts, their arguments and replies. It has no client and starts no goroutine.
//
// docs/redis.md follows one decision from its arguments to its reply.
package script

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"strings"
)

//go:embed lua/*.lua
var parts embed.FS

// Text is a script, and the hash by which a server knows it.
type Text struct{ Body, SHA string }

// The scripts. Each is put together from the parts that it needs.
var (
	Take   = text("0_key", "1_number", "2_clock", "3_log", "4_queue", "5_other", "6_held", "take")
	Settle = text("0_key", "1_number", "2_clock", "3_log", "4_queue", "5_other", "settle")
	Brake  = text("0_key", "1_number", "2_clock", "3_log", "4_queue", "5_other", "brake")
	Lease  = text("0_key", "6_held", "lease")
)

func text(names ...string) Text {
	var b strings.Builder
	for _, name := range names {
		part, err := parts.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err)
		}
		for line := range strings.Lines(string(part)) {
			// Comments and indents need not travel.
			if line = strings.TrimLeft(line, " "); line != "\n" && !strings.HasPrefix(line, "--") {
				b.WriteString(line)
			}
		}
	}
	sum := sha1.Sum([]byte(b.String()))
	return Text{b.String(), hex.EncodeToString(sum[:])}
}
