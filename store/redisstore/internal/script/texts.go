// Package script has the requests to Redis and the replies: Lua texts, their arguments, and
// readers. It has no client and starts no goroutine.
//
// docs/redis.md follows one decision from its arguments to its reply.
package script

import (
	"crypto/sha1"
	"embed"
	"fmt"
	"strings"
)

//go:embed lua/*.lua
var parts embed.FS

// Text is a script, and the hash by which a server knows it: a string, in an any for commands.
type Text struct {
	Body string
	Hash any
}

// The scripts, each joined from the parts that it needs. use runs the parts in the middle.
var (
	Allow   = text("call allow", "1_key", "1_number", "1_window", "2_clock", "3_log", "4_queue", "5_other")
	Take    = text("call take", "1_key", "1_number", "1_window", "2_clock", "3_log", "4_queue", "5_other", "6_held")
	Settle  = text("settle", "1_key", "1_number", "1_window", "2_clock", "3_log", "4_queue", "5_other")
	Brake   = text("brake", "1_key", "1_number", "1_window", "2_clock", "3_log", "4_queue", "5_other")
	Lease   = text("lease", "6_held")
	Reset   = text("reset")
	Restore = text("restore", "1_key", "1_number", "1_window", "2_clock", "3_log", "4_queue", "5_other")
)

// text joins the head of all scripts, the parts, and the files of the script itself.
func text(files string, parts ...string) Text {
	body := read("0_gcra") + "use = function(part)\n" + read(parts...) + "return F[part]\nend\n" + read(strings.Fields(files)...)
	return Text{body, fmt.Sprintf("%x", sha1.Sum([]byte(body)))}
}

// read returns files without the comments and indents, which servers don't need.
func read(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		part, err := parts.ReadFile("lua/" + name + ".lua")
		if err != nil {
			panic(err)
		}
		for line := range strings.Lines(string(part)) {
			if line = strings.TrimLeft(line, " "); line != "\n" && !strings.HasPrefix(line, "--") {
				b.WriteString(line)
			}
		}
	}
	return b.String()
}
