package limitfile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/limitfile"
)

// in returns a file whose one plan has this list of limits, on line 2.
func in(limits string) string { return "default: p\nplans: {p: " + limits + "}\n" }

func TestEveryMistakeIsToldWithLineColumnAndField(t *testing.T) {
	t.Parallel()
	const limit = "want a limit, as 10/s, 25 per 5 s or {rate: 10, per: 1s}, got "
	const units = "want a whole number of 1 to 2^50, got "
	const period = "want a time of 1µs to 50 years with its unit, as 5s, 1m30s or 2 days, got "
	for name, c := range map[string]struct{ content, want string }{
		"empty":                          {"", "1:1: want a mapping with default, plans and keys, got an empty file"},
		"comments only":                  {"# nothing\n", "1:1: want a mapping with default, plans and keys, got an empty file"},
		"empty document":                 {"---\n", "2:1: want a mapping with default, plans and keys, got nothing"},
		"a list":                         {"- 10/s\n", "1:1: want a mapping with default, plans and keys, got a list"},
		"a text":                         {"10/s\n", "1:1: want a mapping with default, plans and keys, got the text \"10/s\""},
		"two documents":                  {in("[1/s]") + "---\ndefault: x\n", "3:1: want one document, got another one"},
		"two documents, one empty":       {in("[1/s]") + "---\n", "3:1: want one document, got another one"},
		"tab as indentation":             {"plans:\n\tfree: [10/s]\n", "2:1: want YAML, got a syntax error: found character that cannot start any token"},
		"list that never ends":           {"plans:\n  free: [10/s\n  pro: [1/s]\n", "3:6: want YAML, got a syntax error: did not find expected ',' or ']' (while parsing a flow sequence that begins on line 2)"},
		"quote that never ends":          {"default: \"p\nplans: {}\n", "3:1: want YAML, got a syntax error: found unexpected end of stream (while scanning a quoted scalar that begins on line 1)"},
		"unknown anchor":                 {"default: p\nplans: *q\n", "2:8: want YAML, got a syntax error: unknown anchor 'q' referenced"},
		"broken UTF-8":                   {"default: p\n# é\nplans: {é: \xff}\n", "3:12: want text in UTF-8, got the byte 0xff"},
		"UTF-16":                         {"\xff\xfed\x00", "1:1: want text in UTF-8, got the byte 0xff"},
		"control character":              {"default: p\x00\n", "1:11: want text in UTF-8, got the byte 0x00"},
		"second byte order mark":         {"\ufeffdefault: \ufeffp\n", "1:10: want text in UTF-8, got the byte 0xef"},
		"too deep":                       {strings.Repeat("[", 20_000), "1:10001: want YAML, got a syntax error: exceeded max depth of 10000"},
		"too long":                       {strings.Repeat("#", limitfile.MaxSize+1), "1:1: want at most 1048576 bytes, got more"},
		"unknown field":                  {in("[1/s]") + "plan: x\n", "3:1: plan: want one of default, keys and plans, got \"plan\""},
		"unknown field, odd":             {in("[1/s]") + "\"a\\nb\": x\n", "3:1: [\"a\\nb\"]: want one of default, keys and plans, got \"a\\nb\""},
		"merge key":                      {in("&p [1/s]") + "<<: *p\n", "3:1: [\"<<\"]: want one of default, keys and plans, got \"<<\""},
		"field twice":                    {in("[1/s]") + "default: p\n", "3:1: default: want each name once, got \"default\" again, which is on line 1 already"},
		"plan twice":                     {"default: p\nplans:\n  p: [1/s]\n  q: [1/s]\n  p: [2/s]\n", "5:3: plans.p: want each name once, got \"p\" again, which is on line 3 already"},
		"key twice":                      {in("[1/s]") + "keys:\n  a b: p\n  \"a b\": p\n", "5:3: keys[\"a b\"]: want each name once, got \"a b\" again, which is on line 4 already"},
		"field of a limit twice":         {in("[{rate: 1, per: 1s, rate: 2}]"), "2:32: plans.p[0].rate: want each name once, got \"rate\" again, which is on line 2 already"},
		"name that is a list":            {in("[1/s]") + "keys: {? [a, b] : p}\n", "3:10: keys: want a name, got a list"},
		"empty name":                     {in("[1/s]") + "keys: {\"\": p}\n", "3:8: keys: want a name, got an empty one"},
		"no default":                     {"plans: {p: [1/s]}\n", "1:1: default: want the name of the plan of all others, got none"},
		"default without value":          {"default:\nplans: {p: [1/s]}\n", "1:9: default: want the name of a plan, got nothing"},
		"default of no plan":             {"default: q\nplans: {p: [1/s]}\n", "1:10: default: want the name of a plan, got \"q\", which is no plan of this file"},
		"default that is a list":         {"default: [1/s]\nplans: {p: [1/s]}\n", "1:10: default: want the name of a plan, got a list"},
		"default that is a number":       {"default: 404\nplans: {404: [1/s]}\n", "1:10: default: want the name of a plan, got the number 404"},
		"plans without value":            {"default: p\nplans:\n", "2:7: plans: want a mapping of plans' names to lists of limits, got nothing"},
		"no plan":                        {"default: p\nplans: {}\n", "2:8: plans: want at least one plan, got none"},
		"plans that are a list":          {"default: p\nplans: [1/s]\n", "2:8: plans: want a mapping of plans' names to lists of limits, got a list"},
		"plan without value":             {"default: p\nplans:\n  p:\n", "3:5: plans.p: want a list of limits, as [10/s, 1000/h], got nothing"},
		"plan that is one limit":         {in("1/s"), "2:12: plans.p: want a list of limits, as [10/s, 1000/h], got the text \"1/s\""},
		"plan without limits":            {in("[]"), "2:12: plans.p: want at least one limit, got an empty list"},
		"plan with too many":             {in("[" + strings.Repeat("1/s, ", 16) + "1/s]"), "2:93: plans.p: want at most 16 limits, got more"},
		"key of no plan":                 {in("[1/s]") + "keys:\n  user:42: gold\n", "4:12: keys[\"user:42\"]: want the name of a plan or a list of limits, got \"gold\", which is no plan of this file"},
		"key with one limit":             {in("[1/s]") + "keys: {a: 1/s}\n", "3:11: keys.a: want the name of a plan or a list of limits, got \"1/s\", which is no plan of this file"},
		"key with a mapping":             {in("[1/s]") + "keys: {a: {rate: 1, per: 1s}}\n", "3:11: keys.a: want the name of a plan or a list of limits, got a mapping"},
		"key without value":              {in("[1/s]") + "keys: {a}\n", "3:9: keys.a: want the name of a plan or a list of limits, got nothing"},
		"keys that are a list":           {in("[1/s]") + "keys: [a]\n", "3:7: keys: want a mapping of keys to plans' names or lists of limits, got a list"},
		"limit of a key":                 {in("[1/s]") + "keys:\n  a:\n  - 1/s\n  - 0/s\n", "6:5: keys.a[1]: " + limit + "the text \"0/s\""},
		"same limit twice":               {in("[1/s, 1 per second]"), "2:18: plans.p[1]: want a name that no other limit of the list has, got \"1-in-1s\""},
		"same name twice":                {in("[1/s, {rate: 2, per: s, name: 1-in-1s}]"), "2:18: plans.p[1]: want a name that no other limit of the list has, got \"1-in-1s\""},
		"limit that is a number":         {in("[10]"), "2:13: plans.p[0]: " + limit + "the number 10"},
		"limit that is nothing":          {in("[~]"), "2:13: plans.p[0]: " + limit + "nothing"},
		"limit that is a list":           {in("[[1/s]]"), "2:13: plans.p[0]: " + limit + "a list"},
		"alias of a limit":               {in("[&l 1/s, *l]"), "2:21: plans.p[1]: " + limit + "an alias"},
		"alias of a rate":                {in("[{rate: &r 1, per: 1s, burst: *r}]"), "2:42: plans.p[0].burst: " + units + "an alias"},
		"alias of a plan":                {in("&p [1/s]") + "keys: {a: *p}\n", "3:11: keys.a: want the name of a plan or a list of limits, got an alias"},
		"alias of a name":                {in("[1/s]") + "keys: {&a a: p, *a : p}\n", "3:17: keys: want a name, got an alias"},
		"number with many digits":        {in("[1/" + strings.Repeat("1", 100_000) + "s]"), "2:13: plans.p[0]: " + limit + "the text \"1/" + strings.Repeat("1", 58) + "…\""},
		"limit with a tag":               {in("[!limit 1/s]"), "2:13: plans.p[0]: " + limit + "the tag \"!limit\""},
		"limit by month":                 {in("[1/month]"), "2:13: plans.p[0]: " + limit + "the text \"1/month\""},
		"limit without a unit":           {in("[1/5]"), "2:13: plans.p[0]: " + limit + "the text \"1/5\""},
		"limit without a rate":           {in("[/5s]"), "2:13: plans.p[0]: " + limit + "the text \"/5s\""},
		"limit with a fraction":          {in("[1.5/s]"), "2:13: plans.p[0]: " + limit + "the text \"1.5/s\""},
		"limit of no time":               {in("[1/0s]"), "2:13: plans.p[0]: " + limit + "the text \"1/0s\""},
		"limit of too short a time":      {in("[1/0.5us]"), "2:13: plans.p[0]: " + limit + "the text \"1/0.5us\""},
		"limit of too long a time":       {in("[1/18251d]"), "2:13: plans.p[0]: " + limit + "the text \"1/18251d\""},
		"limit of a time that overflows": {in("[1/9223372036854775807w]"), "2:13: plans.p[0]: " + limit + "the text \"1/9223372036854775807w\""},
		"limit of times that overflow":   {in("[1/15000w 15000w 15000w]"), "2:13: plans.p[0]: " + limit + "the text \"1/15000w 15000w 15000w\""},
		"rate that overflows":            {in("[99999999999999999999/s]"), "2:13: plans.p[0]: " + limit + "the text \"99999999999999999999/s\""},
		"empty mapping":                  {in("[{}]"), "2:13: plans.p[0]: " + limit + "none of the field rate\nlimitfile: limits.yaml:2:13: plans.p[0]: " + limit + "none of the field per"},
		"no per":                         {in("[{rate: 1}]"), "2:13: plans.p[0]: " + limit + "none of the field per"},
		"unknown field of a limit":       {in("[{rate: 1, per: 1s, bursts: 2}]"), "2:32: plans.p[0].bursts: want one of algorithm, burst, name, per and rate, got \"bursts\""},
		"rate 0":                         {in("[{rate: 0, per: 1s}]"), "2:20: plans.p[0].rate: " + units + "the number 0"},
		"rate below 0":                   {in("[{rate: -1, per: 1s}]"), "2:20: plans.p[0].rate: " + units + "the number -1"},
		"rate above 2^50":                {in("[{rate: 1125899906842625, per: 1s}]"), "2:20: plans.p[0].rate: " + units + "the number 1125899906842625"},
		"rate above 2^64":                {in("[{rate: 99999999999999999999, per: 1s}]"), "2:20: plans.p[0].rate: " + units + "the number 99999999999999999999"},
		"rate with a fraction":           {in("[{rate: 1.5, per: 1s}]"), "2:20: plans.p[0].rate: " + units + "the number 1.5"},
		"rate with an exponent":          {in("[{rate: 1e3, per: 1s}]"), "2:20: plans.p[0].rate: " + units + "the number 1e3"},
		"rate in octal":                  {in("[{rate: 010, per: 1s}]"), "2:20: plans.p[0].rate: " + units + "the number 010"},
		"rate in quotes":                 {in("[{rate: \"10\", per: 1s}]"), "2:20: plans.p[0].rate: " + units + "the text \"10\""},
		"rate with its time":             {in("[{rate: 10/s, per: 1s}]"), "2:20: plans.p[0].rate: " + units + "the text \"10/s\""},
		"rate that is a bool":            {in("[{rate: true, per: 1s}]"), "2:20: plans.p[0].rate: " + units + "true"},
		"rate that is infinite":          {in("[{rate: .inf, per: 1s}]"), "2:20: plans.p[0].rate: " + units + "the number .inf"},
		"per without its unit":           {in("[{rate: 1, per: 60}]"), "2:28: plans.p[0].per: " + period + "the number 60"},
		"per in a list":                  {in("[{rate: 1, per: [1s]}]"), "2:28: plans.p[0].per: " + period + "a list"},
		"per of a clock":                 {in("[{rate: 1, per: 1:30}]"), "2:28: plans.p[0].per: " + period + "the text \"1:30\""},
		"per below 0":                    {in("[{rate: 1, per: -1s}]"), "2:28: plans.p[0].per: " + period + "the text \"-1s\""},
		"per of parts of 1µs":            {in("[{rate: 1, per: 1.0000001s}]"), "2:28: plans.p[0].per: " + period + "the text \"1.0000001s\""},
		"per of parts of 1ns":            {in("[{rate: 1, per: 1.0000000000001s}]"), "2:28: plans.p[0].per: " + period + "the text \"1.0000000000001s\""},
		"per with two dots":              {in("[{rate: 1, per: 1.5.5s}]"), "2:28: plans.p[0].per: " + period + "the text \"1.5.5s\""},
		"per that is empty":              {in("[{rate: 1, per: \"\"}]"), "2:28: plans.p[0].per: " + period + "the text \"\""},
		"burst 0":                        {in("[{rate: 1, per: 1s, burst: 0}]"), "2:39: plans.p[0].burst: " + units + "the number 0"},
		"burst of a window":              {in("[{rate: 1, per: 1s, burst: 5, algorithm: fixed_window}]"), "2:39: plans.p[0].burst: want none with a window algorithm, got the number 5"},
		"burst that never fills":         {in("[{rate: 1, per: 365d, burst: 51}]"), "2:41: plans.p[0].burst: want Burst·Period/Rate of at most 50 years, got the number 51"},
		"unknown algorithm":              {in("[{rate: 1, per: 1s, algorithm: token_bucket}]"), "2:43: plans.p[0].algorithm: want gcra, sliding_window, sliding_counter, fixed_window or aligned_window, got the text \"token_bucket\""},
		"empty algorithm":                {in("[{rate: 1, per: 1s, algorithm: \"\"}]"), "2:43: plans.p[0].algorithm: want gcra, sliding_window, sliding_counter, fixed_window or aligned_window, got the text \"\""},
		"algorithm without value":        {in("[{rate: 1, per: 1s, algorithm: }]"), "2:43: plans.p[0].algorithm: want gcra, sliding_window, sliding_counter, fixed_window or aligned_window, got nothing"},
		"empty policy name":              {in("[{rate: 1, per: 1s, name: \"\"}]"), "2:38: plans.p[0].name: want 1 to 64 characters of printable ASCII, got the text \"\""},
		"policy name of a number":        {in("[{rate: 1, per: 1s, name: 5}]"), "2:38: plans.p[0].name: want 1 to 64 characters of printable ASCII, got the number 5"},
		"policy name not in ASCII":       {in("[{rate: 1, per: 1s, name: stündlich}]"), "2:38: plans.p[0].name: want at most 64 bytes of printable ASCII, got the text \"stündlich\""},
		"very long text":                 {in("[" + strings.Repeat("é", 1000) + "]"), "2:13: plans.p[0]: " + limit + "the text \"" + strings.Repeat("é", 60) + "…\""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := limitfile.Parse("limits.yaml", []byte(c.content))
			if err == nil || set != nil {
				t.Fatalf("it was taken: %v", set)
			}
			if got, want := err.Error(), "limitfile: limits.yaml:"+c.want; got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
			var e *limitfile.Error
			if !errors.As(err, &e) || !errors.Is(err, weir.ErrConfig) || e.File != "limits.yaml" || e.Line < 1 || e.Column < 1 {
				t.Errorf("%#v is no mistake with a place", err)
			}
		})
	}
}

func TestMistakesInJSON(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ content, want string }{
		"empty":        {" \n", "1:1: want a mapping with default, plans and keys, got an empty file"},
		"no colon":     {"{\n\t\"default\" \"p\"\n}", "2:12: want YAML, got a syntax error: did not find expected ',' or '}' (while parsing a flow mapping that begins on line 1)"},
		"cut off":      {"{\n  \"default\": \"p\",\n  \"pla", "3:7: want YAML, got a syntax error: found unexpected end of stream"},
		"two values":   {"{}\n{}", "2:1: want YAML, got a syntax error: did not find expected <document start>"},
		"too deep":     {strings.Repeat("[", 20_000), "1:10001: want YAML, got a syntax error: exceeded max depth of 10000"},
		"broken UTF-8": {"{\"\xff\": 1}", "1:3: want text in UTF-8, got the byte 0xff"},
		"wrong type":   {"{\r\n\t\"default\": \"p\",\r\n\t\"plans\": {\"p\":\t[{\"per\": \"1s\", \"é\\u00e9\":1, \"rate\":\t\"1\"}]}\r\n}", "3:32: plans.p[0].éé: want one of algorithm, burst, name, per and rate, got \"éé\"\nlimitfile: l.json:3:53: plans.p[0].rate: want a whole number of 1 to 2^50, got the text \"1\""},
		"numbers":      {`{"default": null, "plans": {"p": [{"rate": 1.0, "per": "s"}, 1E3, true]}}`, "1:13: default: want the name of a plan, got nothing\nlimitfile: l.json:1:44: plans.p[0].rate: want a whole number of 1 to 2^50, got the number 1.0\nlimitfile: l.json:1:62: plans.p[1]: want a limit, as 10/s, 25 per 5 s or {rate: 10, per: 1s}, got the number 1E3\nlimitfile: l.json:1:67: plans.p[2]: want a limit, as 10/s, 25 per 5 s or {rate: 10, per: 1s}, got true"},
		"surrogates":   {`{"default": "a\ud83d\ude00"}`, "1:17: want YAML, got a syntax error: found invalid Unicode character escape code"},
		"name twice":   {"{\"default\": \"p\", \"plans\": {\"p\": [\"1/s\"],\n \"p\": [\"2/s\"]}}", "2:2: plans.p: want each name once, got \"p\" again, which is on line 1 already"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := limitfile.Parse("l.json", []byte(c.content))
			if err == nil {
				t.Fatal("it was taken")
			}
			if got, want := err.Error(), "limitfile: l.json:"+c.want; got != want {
				t.Errorf("\n got %s\nwant %s", got, want)
			}
		})
	}
}

func TestAllMistakesAreToldTogetherInTheOrderOfTheFile(t *testing.T) {
	t.Parallel()
	_, err := limitfile.Parse("limits.yaml", []byte(`default: gold
plans:
  free: [10/s, {rate: 0, per: month}]
  pro: []
keys:
  acme: por
  bob: [1/s, 1/s]
limit: 5
`))
	want := `limitfile: limits.yaml:1:10: default: want the name of a plan, got "gold", which is no plan of this file
limitfile: limits.yaml:3:23: plans.free[1].rate: want a whole number of 1 to 2^50, got the number 0
limitfile: limits.yaml:3:31: plans.free[1].per: want a time of 1µs to 50 years with its unit, as 5s, 1m30s or 2 days, got the text "month"
limitfile: limits.yaml:4:8: plans.pro: want at least one limit, got an empty list
limitfile: limits.yaml:6:9: keys.acme: want the name of a plan or a list of limits, got "por", which is no plan of this file
limitfile: limits.yaml:7:14: keys.bob[1]: want a name that no other limit of the list has, got "1-in-1s"
limitfile: limits.yaml:8:1: limit: want one of default, keys and plans, got "limit"`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

func TestTheFirst20MistakesAreTold(t *testing.T) {
	t.Parallel()
	_, err := limitfile.Parse("limits.yaml", []byte(in("[1/s]")+"keys:\n"+strings.Repeat("  ? []\n", 100)))
	lines := strings.Split(fmt.Sprint(err), "\n")
	if len(lines) != 21 || lines[20] != "limitfile: limits.yaml: and 80 more" {
		t.Errorf("%d lines, the last is %q", len(lines), lines[len(lines)-1])
	}
}

// costSize is large enough to show costs that grow faster than the file.
const costSize = limitfile.MaxSize / 4

// Files made to be slow: the test fails if one takes minutes.
func TestNoFileCostsMuchMoreThanItsSize(t *testing.T) {
	for name, content := range map[string]string{
		"keys":    in("[1/s]") + "keys:\n" + lines("  user%d: p\n"),
		"limits":  in("[1/s]") + "keys:\n" + lines("  user%d: [{rate: 1, per: 1s}]\n"),
		"flow":    "{" + strings.Repeat("a: b, ", costSize/6) + "}",
		"aliases": "default: p\nplans:\n  p: &a [1/s,2/s,3/s,4/s,5/s,6/s,7/s,8/s,9/s,10/s,11/s,12/s,13/s,14/s,15/s,16/s]\nkeys:\n" + lines("  user%d: *a\n"),
		"laughs":  "a: &a [1,2,3,4,5,6,7,8]\n" + laughs(),
	} {
		began := time.Now()
		set, err := limitfile.Parse("limits.yaml", []byte(content))
		t.Logf("%s: %d bytes, %v, taken: %v", name, len(content), time.Since(began), set != nil)
		if taken := name == "keys" || name == "limits"; taken != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// lines returns as many lines as fit in a file.
func lines(format string) string {
	var b strings.Builder
	for i := 0; b.Len() < costSize; i++ {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// laughs returns aliases of aliases: 8^20 nodes for a reader that follows them all.
func laughs() string {
	var b strings.Builder
	for c := 'b'; c <= 'v'; c++ {
		fmt.Fprintf(&b, "%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", c-1), 8), ", "))
	}
	return b.String()
}
