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
var files embed.FS

// Text is a script, and the hash by which a server knows it: a string, in an any for commands.
type Text struct {
	Body string
	Hash any
}

// The scripts: the head of all, the parts that use runs, and the files of each.
var (
	anyKey = "1_value 1_number 1_window 2_clock 3_log 4_queue 4_grades 5_limits 5_loss" // reads and writes any key
	Allow  = text(anyKey+" 6_decide 6_answer 7_together", "rules allow")
	Take   = text(anyKey+" 6_decide 6_answer 6_held 7_restore", "rules take") // also restores
	Settle = text(anyKey, "settle")
	Brake  = text(anyKey, "brake")
	Lease  = text("6_held", "lease")
	Reset  = text("", "reset")
)

func text(parts, own string) Text {
	body := read("0_gcra") + "use = function(part)\n" + read(parts) + "return F[part]\nend\n" + read(own)
	return Text{body, fmt.Sprintf("%x", sha1.Sum([]byte(body)))}
}

// read returns files without the comments and indents, which servers don't need.
func read(names string) string {
	var b strings.Builder
	for name := range strings.FieldsSeq(names) {
		part, err := files.ReadFile("lua/" + name + ".lua")
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
