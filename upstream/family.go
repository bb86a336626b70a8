package upstream

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"
)

// family is the headers with one beginning of their names: RateLimit-Limit,
// RateLimit-Remaining, RateLimit-Reset and RateLimit-Policy.
type family struct {
	name     string
	groups   []*group
	policies []Budget
	// structured are the budgets of RateLimit itself, since draft 08.
	structured []Budget
	// label names the budgets without a name, bucket their partition.
	label, bucket string
}

// usages are the ends of names of headers of used and possible units: Shopify, Salesforce, Lightspeed.
var usages = [...]string{"-limit", "-limit-info", "-bucket-level"}

// families reads all headers about limits.
func families(h http.Header, date time.Time) ([]*family, []Budget) {
	names := limitNames(h)
	grouped := slices.ContainsFunc(names, func(name string) bool { return slices.ContainsFunc(h[name], isGrouped) })
	var all []*family
	var usage []Budget
	for _, name := range names {
		lower := strings.ToLower(name)
		n, ok := parseName(lower)
		if slices.ContainsFunc(usages[:], func(end string) bool { return strings.HasSuffix(lower, end) }) && !hasAny(lower, rateLimit) {
			usage = append(usage, parseUsage(h[name], lower)...)
		}
		if !ok {
			continue
		}
		i := slices.IndexFunc(all, func(f *family) bool { return f.name == n.family })
		if i < 0 {
			i = len(all)
			all = append(all, &family{name: n.family})
		}
		values := h[name]
		if grouped {
			values = ungrouped(values)
		}
		all[i].add(n, values, date)
	}
	return all, usage
}

// limitNames returns the names of headers to read, sorted: the first ones, and no long one.
func limitNames(h http.Header) []string {
	var names []string
	for name := range h {
		if len(name) <= maxTimeLength && !isUsual(name) && mayLimit(name) {
			i, _ := slices.BinarySearch(names, name)
			names = slices.Insert(slices.Grow(names, max(8-len(names), 0)), i, name)[:min(len(names)+1, maxNames)]
		}
	}
	return names
}

func (f *family) add(n headerName, values []string, date time.Time) {
	switch n.role {
	case ignored:
		return
	case policy:
		f.policies = append(f.policies, parsePolicies(values)...)
		return
	}
	if n.role == bare && f.name != "" && slices.Contains(labels, n.budget) {
		f.addLabel(n.budget, values)
		return
	}
	if budget, ok := strings.CutSuffix(n.budget, "-status"); ok && n.role == bare {
		f.group(budget).refused = firstWord(values) == "rejected"
		return
	}
	switch {
	case n.unitWord != "" && f.has(n.budget+"-"+n.unitWord):
		n.budget += "-" + n.unitWord // Groq: X-RateLimit-Reset-Audio-Seconds is the reset of audio-seconds.
	case n.role == remaining && units[n.budget] > 0 && f.has("") && !f.has(n.budget):
		n = headerName{role: reset, unit: units[n.budget], relative: true} // Rollbar: X-Rate-Limit-Remaining-Seconds
	}
	g := f.group(n.budget)
	if n.role != bare {
		if g.add(n, values, date); n.role == remaining && len(g.remaining) == 0 {
			f.addAll(n, oneLine(values), date)
		}
		return
	}
	if g.bare = parseCounts(values); len(g.bare) > 0 {
		return
	}
	structured := listBudgets(items(values))
	if f.structured = append(f.structured, structured...); len(structured) == 0 {
		f.addAll(n, oneLine(values), date)
	}
}

// addAll reads a header with all values of a budget, or of several:
//
//	limit=100, remaining=50, reset=30            IETF draft 07
//	total=100; remaining=0; resets=58            Zendesk
//	user-hour-lim:3500;user-hour-rem:500;        Apple
//	{"limit":1000,"remaining":0,"period":300}    Trakt
func (f *family) addAll(all headerName, line string, date time.Time) {
	separator := ";"
	if strings.Contains(line, ",") {
		separator = ","
	}
	items := strings.SplitN(line, separator, maxItems+1)
	if separator == "," && slices.ContainsFunc(items, func(item string) bool { return strings.TrimSpace(item) == "" }) {
		return // It has lost a part on its way.
	}
	for _, item := range items[:min(len(items), maxItems)] {
		if i := strings.IndexAny(item, "=:"); i >= 0 {
			n := parseAfter("", strings.ToLower(strings.Trim(item[:i], " \t{\"")))
			n.role = cmp.Or(n.role, all.role) // Upbit: Remaining-Req has min=59; sec=7
			f.group(strings.Trim(all.budget+"-"+n.budget, "-")).add(n, []string{strings.TrimRight(item[i+1:], "}")}, date)
		}
	}
}

func (f *family) has(budget string) bool {
	return slices.ContainsFunc(f.groups, func(g *group) bool { return g.name == budget })
}

func (f *family) group(budget string) *group {
	i := slices.IndexFunc(f.groups, func(g *group) bool { return g.name == budget })
	if i < 0 {
		i = len(f.groups)
		f.groups = append(f.groups, &group{name: budget, reset: -1})
	}
	return f.groups[i]
}

func (f *family) addLabel(kind string, values []string) {
	if kind == "bucket" {
		f.bucket = strings.TrimSpace(strings.SplitN(first(values), ",", 2)[0]) // A proxy may join copies.
	} else {
		f.label = firstWord(values)
	}
}

// join copies values that a family has only once to the budgets that lack them.
func (f *family) join() {
	var nameless *group
	var onlyLimit, noLimit []*group
	for _, g := range f.groups {
		if g.counted() && len(g.limit) == 0 {
			g.limit = g.bare // X-Rate-Limit: 700
		}
		switch {
		case g.name == "" && !g.counted():
			nameless = g
		case g.counted() && len(g.limit) == 0:
			noLimit = append(noLimit, g)
		}
		if len(g.limit) > 0 && !g.counted() {
			onlyLimit = append(onlyLimit, g)
		}
	}
	// One limit, one count, and a name in only one of them: Yelp has
	// RateLimit-DailyLimit and RateLimit-Remaining.
	if len(onlyLimit) == 1 && len(noLimit) == 1 && (onlyLimit[0].name == "" || noLimit[0].name == "") {
		noLimit[0].limit, onlyLimit[0].limit = onlyLimit[0].limit, nil
	}
	if nameless == nil {
		return
	}
	// One reset for all budgets without one: Contentful, LaunchDarkly.
	shared := false
	for _, g := range f.groups {
		if g == nameless || !g.counted() {
			continue
		}
		shared = true
		if g.reset < 0 {
			g.reset = nameless.reset
		}
		g.window = cmp.Or(g.window, nameless.window)
	}
	if shared {
		nameless.reset, nameless.window = -1, 0
	}
}

// budgets returns the budgets of all headers of the family.
func (f *family) budgets() []Budget {
	f.join()
	var all []Budget
	for _, g := range f.groups {
		all = append(all, g.budgets()...)
	}
	all = append(all, f.structured...)
	if len(all) == 0 {
		all = append(all, f.policies...)
	}
	for i := range all {
		all[i] = applyPolicy(all[i], f.policies)
		f.mark(&all[i])
	}
	return slices.DeleteFunc(all, func(b Budget) bool { // X-Pagination-Limit and -Remaining are no budget.
		return f.name == "" && (b.Limit < 0 || b.Remaining < 0 || b.Reset < 0 && b.Window == 0)
	})
}

// mark gives b the values that belong to the whole family.
func (f *family) mark(b *Budget) {
	b.Informational = isInformational(f.name)
	b.Window = cmp.Or(b.Window, windowNamed(b.Name))
	b.Name, b.Partition = cmp.Or(b.Name, f.label), cmp.Or(b.Partition, f.bucket)
	if b.Unit == "" && (strings.Contains(f.name, "concurren") || strings.Contains(strings.ToLower(b.Name), "concurren")) {
		b.Unit = "concurrent-requests"
	}
}
