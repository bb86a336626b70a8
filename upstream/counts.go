package upstream

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"
)

// count is an item of a header that counts units: 100, 100;w=60, 100:60 or 150/15m.
type count struct {
	n      int64
	name   string        // of an item with a name: name;100
	window time.Duration // its w parameter; 0: none
	rate   bool          // it has a fraction, as numbers of units per second
}

// swapped makes name;100 of name=name,100; (IBM API Connect).
var swapped = strings.NewReplacer("name=", "", ",", ";", ";", ",")

// parseCounts reads a header's items up to the first that is no count. It rounds down.
func parseCounts(values []string) []count {
	var counts []count
	line := oneLine(values)
	if strings.HasPrefix(line, "name=") {
		line = swapped.Replace(line)
	}
	for item := range strings.SplitSeq(line, ",") {
		c, ok := parseCount(item)
		if !ok || len(counts) == maxItems {
			break
		}
		counts = append(counts, c)
	}
	return counts
}

func parseCount(item string) (count, bool) {
	value, params, _ := strings.Cut(item, ";")
	var c count
	if i := strings.IndexAny(value, ":/"); i >= 0 { // Riot Games, EVE Online
		span := strings.TrimSpace(value[i+1:])
		if w, ok := within(span, time.Second, time.Time{}); ok || unitOf(span) > 0 {
			value, c.window = value[:i], cmp.Or(w, unitOf(span))
		}
	}
	d, ok := parseDecimal(strings.TrimSpace(value))
	if !ok {
		// Azure: "Microsoft.Compute/PutVM3Min;237"
		c.name = strings.TrimSpace(value)
		value, params, _ = strings.Cut(params, ";")
		if d, ok = parseDecimal(strings.TrimSpace(value)); !ok || c.name == "" {
			return count{}, false
		}
	}
	c.rate = strings.Contains(value, ".")
	if c.n = int64(d.whole); c.n < 0 { // over math.MaxInt64
		return count{}, false
	}
	for param := range strings.SplitSeq(params, ";") {
		name, w, _ := strings.Cut(strings.TrimSpace(param), "=")
		if d, ok := parseDecimal(w); ok && (name == "w" || name == "window") { // WHOOP
			c.window = d.times(time.Second)
		}
	}
	return c, true
}

// thousands matches a number with commas between its thousands, and some lists.
var thousands = regexp.MustCompile(`^[1-9][0-9]{0,2}(,[0-9]{3}){1,6}(\.[0-9]+)?$`)

// isGrouped reports whether a line is such a number and no list: a list has no item 000
// and no fraction after its last item alone.
func isGrouped(line string) bool {
	return (strings.Contains(line, ",0") || strings.Contains(line, ".")) && thousands.MatchString(line)
}

// ungrouped returns lines without commas between thousands.
func ungrouped(lines []string) []string {
	lines = slices.Clone(lines)
	for i, line := range lines {
		if thousands.MatchString(line) {
			lines[i] = strings.ReplaceAll(line, ",", "")
		}
	}
	return lines
}

// parseUsage reads headers of used and possible units: 32/40, or api-usage=18/5000. header
// is their name in lower case. A part of it names a budget without another name:
// shopify-shop-api-call.
func parseUsage(values []string, header string) []Budget {
	nameless := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(header, "x-"), "-info"), "-limit")
	var budgets []Budget
	for item := range strings.FieldsFuncSeq(oneLine(values), func(r rune) bool { return r == ',' || r == ';' }) {
		name, usage, ok := strings.Cut(item, "=")
		if !ok {
			name, usage = nameless, item
		}
		usage, _, _ = strings.Cut(usage, "(") // Salesforce: 17/250(appName=x)
		used, limit, _ := strings.Cut(usage, "/")
		u, ok1 := parseCount(used)
		l, ok2 := parseCount(limit)
		if ok1 && ok2 && l.n > 0 && len(budgets) < maxItems {
			b := unsaid(strings.TrimSpace(name))
			b.Limit, b.Remaining = l.n, max(l.n-u.n, 0)
			b.Informational = isInformational(header)
			budgets = append(budgets, b)
		}
	}
	return budgets
}

// firstWord returns the first plain word of a header, in lower case; empty: none.
func firstWord(values []string) string {
	for item := range strings.SplitSeq(oneLine(values), ",") {
		item, _, _ = strings.Cut(item, ";")
		if item = strings.Trim(item, " \t\""); isWord(item) {
			return strings.ToLower(item)
		}
	}
	return ""
}

// isWord reports whether s is short, in printable ASCII and has a letter.
func isWord(s string) bool {
	letter := func(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' }
	strange := func(r rune) bool { return r <= ' ' || r > '~' }
	return len(s) <= maxTimeLength && strings.ContainsFunc(s, letter) && !strings.ContainsFunc(s, strange)
}
