package upstream

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// mayLimit reports whether a header's canonical name has a word such as limit, remaining, reset,
// quota, left or bucket, by four of its letters. All names of every response are searched.
func mayLimit(name string) bool {
	for i := range len(name) - 3 {
		switch name[i : i+4] {
		case "imit", "emai", "eset", "uota", "Left", "ucke":
			return true
		}
	}
	return false
}

// isUsual reports whether most responses have a header of this name. None of these is
// about limits. BenchmarkRead takes 130 ns more without the question.
func isUsual(name string) bool {
	switch name {
	case "Age", "Alt-Svc", "Cache-Control", "Cf-Ray", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Date",
		"Etag", "Expires", "Keep-Alive", "Last-Modified", "Link", "Server", "Set-Cookie", "Strict-Transport-Security",
		"Transfer-Encoding", "Vary", "Via", "X-Content-Type-Options", "X-Frame-Options", "X-Powered-By", "X-Request-Id":
		return true
	}
	return false
}

// role is the meaning of a header for a budget.
type role int

const (
	bare role = iota // no word for a role: X-Rate-Limit, X-HubSpot-RateLimit-Daily
	limit
	window
	used
	remaining
	reset
	policy // RateLimit-Policy
	ignored
)

// words give a header's name its role. The word with the highest role wins:
// X-RateLimit-Limit-Reset is a reset.
var words = map[string]role{
	"limit": limit, "lim": limit, "max": limit, "quota": limit, "total": limit, "capacity": limit, "allowed": limit, "allotted": limit,
	"window": window, "interval": window, "period": window,
	"used": used, "usage": used, "observed": used, "consumed": used, "current": used, "active": used, "running": used,
	"remaining": remaining, "remain": remaining, "rem": remaining, "left": remaining, "available": remaining,
	"reset": reset, "resets": reset, "resettime": reset, "resetat": reset, "resetsat": reset, "timeremaining": reset, "towait": reset, "wait": reset, "ttl": reset, "until": reset, "expire": reset, "expiry": reset, "resetafter": reset, "retryafter": reset, "next": reset,
	"policy":  policy,
	"percent": ignored, "percentage": ignored, "retry": ignored, "storage": ignored, "partition": ignored,
}

// fillers describe the form of a time, and belong to no budget's name.
var fillers = []string{"after", "at", "in", "time", "timestamp", "epoch", "date", "utc", "unix", "seconds"}

// units are the last words of names for the units of their times.
var units = map[string]time.Duration{
	"ms": time.Millisecond, "msec": time.Millisecond, "millis": time.Millisecond, "milliseconds": time.Millisecond,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "seconds": time.Second, "mins": time.Minute, "minutes": time.Minute,
}

// clearer are names that say less than others: KuCoin, HTX, Amazon and MoySklad leave out the
// unit of times, watsonx.ai calls a limit a rate.
var clearer = map[string]string{"x-requests-limit-rate": "x-requests-limit-limit", "gw-ratelimit-reset": "gw-ratelimit-reset-ms", "ratelimit-interval": "ratelimit-interval-ms",
	"x-amz-retry-after": "x-amz-retry-after-ms", "x-lognex-retry-after": "x-lognex-retry-after-ms"}

// windows are the words of a budget's name for its length, also after a number:
// X-RateLimit-Limit-Minute, X-App-Limit-24hour-Remaining, X-RateLimit-Limit-Tokens-5-Minute.
var windows = map[string]time.Duration{
	"second": time.Second, "secondly": time.Second, "min": time.Minute, "minute": time.Minute, "minutely": time.Minute, "hour": time.Hour, "hourly": time.Hour,
	"day": 24 * time.Hour, "daily": 24 * time.Hour, "month": 30 * 24 * time.Hour, "monthly": 30 * 24 * time.Hour,
}

// unitOf returns the unit of a word such as "seconds"; 0: another word.
func unitOf(word string) time.Duration {
	return cmp.Or(windows[strings.TrimSuffix(word, "s")], units[word])
}

// windowNamed returns the window in a budget's name; 0: none.
func windowNamed(name string) time.Duration {
	times := 1
	for token := range strings.SplitSeq(strings.ReplaceAll(name, "_", "-"), "-") {
		word := strings.TrimLeft(token, "0123456789")
		if digits := token[:len(token)-len(word)]; digits != "" {
			times, _ = strconv.Atoi(digits)
		}
		if window := windows[strings.TrimPrefix(word, "per")]; window > 0 && times >= 1 && times < 1000 {
			return time.Duration(times) * window
		}
		if word != "" {
			times = 1
		}
	}
	return 0
}

// headerName holds the parts of a header's name.
type headerName struct {
	family   string        // the beginning, shared with related headers
	budget   string        // the budget's name within the family; often empty
	role     role          // the header's meaning
	unit     time.Duration // the unit of its times
	unitWord string        // the last word, if it named the unit
	relative bool          // its numbers are durations, never moments
}

// labels are headers that name the budgets of their family, or a part of them.
var labels = []string{"resource", "name", "group", "category", "bucket"}
var rateLimit = []string{"ratelimit", "rate-limit"}

// parseName reads a name in lower case. The first form that fits counts:
//
//	x-ratelimit-remaining-tokens           the word ratelimit
//	x-app-limit-24hour-remaining           the word limit, with a role at the end
//	x-burstlimit-remaining                 … joined to the budget's name
//	x-limit-per-day and x-remaining-today  another order: both, in the family without a name
//	x-toggl-quota-remaining                … or the word quota, which is evidence without a limit
//	x-minute-requests-left                 … or a word for requests: the same
func parseName(name string) (headerName, bool) {
	name = cmp.Or(clearer[name], name)
	for _, word := range rateLimit {
		if _, after, ok := strings.Cut(name, word); ok {
			return parseAfter(strings.TrimSuffix(name, after), after), true
		}
	}
	name = strings.Replace(name, "tokenlimit-", "tokenslimit-", 1) // Together counts tokens, nothing by token.
	before, after, ok := strings.Cut(name, "limit-")
	if end := words[after[strings.LastIndexByte(after, '-')+1:]]; ok && end > bare && end < policy {
		return parseAfter(before+"limit", before[strings.LastIndexByte(before, '-')+1:]+"-"+after), true
	}
	n := parseAfter("", plain.Replace(strings.TrimPrefix(name, "x-")))
	switch {
	case strings.Contains(name, "quota-"):
		n.family = "quota"
	case hasAny(name+"-", counting):
		n.family = "x-rate-limit" // Apollo: X-Rate-Limit-Minute and X-Minute-Requests-Left
	}
	if n.role == limit {
		n.role = bare // x-page-limit is no budget: it counts beside a count alone.
	}
	return n, n.role < policy
}

// counting are parts of names that count requests, which is evidence without a limit. plain
// brings names of the family without a name to one form.
var counting = []string{"requests-", "calls-", "call-", "-req-", "remain-limit-"}
var plain = strings.NewReplacer("-per-", "-", "this-", "", "today", "day", "limit-status", "remaining", "-requests-left", "-left")

func parseAfter(family, after string) headerName {
	n := headerName{family: family, unit: time.Second}
	tokens := strings.Split(strings.TrimPrefix(after, "-"), "-")
	for _, token := range tokens {
		n.role = max(n.role, words[token])
	}
	last := len(tokens) - 1
	switch {
	case n.role != bare:
	case tokens[last] == "count":
		tokens, n.role = tokens[:last], used // X-App-Rate-Limit-Count
	default: // Joined words: X-RateLimit-UserRemaining.
		for _, word := range [...]string{"limit", "remaining", "reset", "resettime"} {
			if cut, ok := strings.CutSuffix(tokens[last], word); ok {
				tokens[last], n.role = cut, words[word]
				break
			}
		}
	}
	isTime := n.role == reset || n.role == window
	if isTime && units[tokens[last]] > 0 {
		n.unit, n.unitWord, tokens = units[tokens[last]], tokens[last], tokens[:last]
	}
	n.relative = n.role == reset && (slices.Contains(tokens, "after") || slices.Contains(tokens, "in"))
	tokens = slices.DeleteFunc(tokens, func(token string) bool {
		return token == "" || words[token] != bare || isTime && slices.Contains(fillers, token)
	})
	n.budget = strings.Trim(strings.Join(tokens, "-"), "_")
	return n
}

// informational are the words before a header's "ratelimit" that say that the limit is
// not enforced: Atlassian's Beta-RateLimit.
var informational = []string{"alpha", "beta", "preview", "test", "trial", "experimental", "shadow", "dryrun", "informational", "simulated"}

// isInformational reports whether a header's name, in lower case, says so.
func isInformational(name string) bool {
	before, _, _ := strings.Cut(name, "ratelimit")
	words := strings.Split(before, "-")
	return slices.ContainsFunc(words[:len(words)-1], func(word string) bool { return slices.Contains(informational, word) })
}

func hasAny(s string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}

func isSeparator(r rune) bool { return strings.ContainsRune("-_./: ", r) }
