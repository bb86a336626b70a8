package script

import (
	"cmp"
	"regexp"
	"strings"
	"testing"
)

var texts = map[string]Text{"allow": Allow, "take": Take, "settle": Settle, "brake": Brake, "lease": Lease, "reset": Reset}

// keyless are commands without a key.
var keyless = map[string]bool{"TIME": true, "PUBLISH": true}

// TestKeysAreDeclared: every command of a script names its key by KEYS.
func TestKeysAreDeclared(t *testing.T) {
	t.Parallel()
	call := regexp.MustCompile(`redis\.p?call\(\s*'([A-Z]+)'(,\s*(KEYS\[[^\]]+\])?)?`)
	for name, text := range texts {
		found := call.FindAllStringSubmatch(text.Body, -1)
		if len(found) != strings.Count(text.Body, "redis.call(")+strings.Count(text.Body, "redis.pcall(") || len(found) == 0 {
			t.Errorf("%s: %d commands that can be read", name, len(found))
		}
		for _, m := range found {
			if m[3] == "" && !keyless[m[1]] {
				t.Errorf("%s: %s does not name its key by KEYS", name, m[0])
			}
		}
	}
}

// TestScriptsKeepTheRules: scripts are short, say nothing about replication, and use no
// function that some servers lack.
func TestScriptsKeepTheRules(t *testing.T) {
	t.Parallel()
	for name, text := range texts {
		for _, not := range []string{
			"replicate_commands", "loadstring", "setfenv", "getfenv", "table.getn", "math.pow", "math.mod(", "unpack(", "redis.log", "cjson", "cmsgpack",
			"os.", "io.", "_G", "print(", "\t", "//", "goto ", " & ", " ~ ",
		} {
			if strings.Contains(text.Body, not) {
				t.Errorf("%s has %q", name, not)
			}
		}
		for line := range strings.Lines(text.Body) {
			if strings.HasPrefix(strings.TrimSpace(line), "--") {
				t.Errorf("%s sends the comment %s", name, line)
			}
		}
		if len(text.Body) > cmp.Or(map[string]int{"take": 47_400}[name], 39_700) {
			t.Errorf("%s has %d bytes", name, len(text.Body))
		}
		if hash, _ := text.Hash.(string); len(hash) != 40 {
			t.Errorf("%s: a hash of %q", name, text.Hash)
		}
	}
}

// TestScriptsHaveNoGlobals: every name set at the start of a line was declared before, or is
// a field.
func TestScriptsHaveNoGlobals(t *testing.T) {
	t.Parallel()
	declared := regexp.MustCompile(`(?:local|for)\s+([\w, ]+)|function(?:\s+\w+)?\s*\(([\w, ]*)\)`)
	set := regexp.MustCompile(`(?:^|[;]|\bthen|\belse|\bdo|\bend|\))\s*([A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*)\s*=[^=]`)
	for name, text := range texts {
		known := map[string]bool{}
		for _, m := range declared.FindAllStringSubmatch(strings.ReplaceAll(text.Body, "local function", "function"), -1) {
			for _, word := range regexp.MustCompile(`\w+`).FindAllString(m[1]+" "+m[2], -1) {
				known[word] = true
			}
		}
		for line := range strings.Lines(text.Body) {
			if regexp.MustCompile(`^\w+ = (function|\{)`).MatchString(line) || strings.Contains(line, "local ") || strings.Count(line, "{") != strings.Count(line, "}") ||
				strings.HasSuffix(line, ",\n") {
				continue // A field of a table that is made.
			}
			for _, m := range set.FindAllStringSubmatch(line, -1) {
				for _, word := range regexp.MustCompile(`\w+`).FindAllString(m[1], -1) {
					if !known[word] {
						t.Errorf("%s sets the global %s: %s", name, word, line)
					}
				}
			}
		}
	}
}
