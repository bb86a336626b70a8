package answer_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/answer"
	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/store"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// decision is about a user's two limits within everybody's one.
func decision(d weir.Decision) *answer.Decision {
	return &answer.Decision{
		Decision: &d,
		Levels: []answer.Level{
			{Limiter: "user", Key: "ann", Limits: []weir.Limit{weir.PerMinute(10), weir.PerDay(100).WithName("day")}},
			{Limiter: "everybody", Key: "all", Limits: []weir.Limit{weir.PerHour(1000).WithName(`"all"`)}},
		},
	}
}

// state is a refusal by the first and the last limit.
var state = weir.Decision{
	Reason: weir.ReasonLimited, Limit: weir.PerHour(1000).WithName(`"all"`), Scope: "everybody",
	RetryAfter: 3 * time.Second, ResetAfter: time.Hour,
	Charges: []store.ChargeState{
		{Remaining: 0, ResetAfter: time.Minute, RetryAfter: time.Second},
		{Remaining: 7, ResetAfter: time.Nanosecond},
		{Remaining: 0, ResetAfter: time.Hour, RetryAfter: 3 * time.Second},
	},
}

// binding knows the state of the binding limit alone.
var binding = weir.Decision{
	Allowed: true, Limit: weir.PerDay(100), Remaining: 7, ResetAfter: 90*time.Second + 1,
}

// several is an admission: the limit per day binds, and the one per minute has fewer units.
var several = weir.Decision{
	Allowed: true, Limit: weir.PerDay(100).WithName("day"), Scope: "user", Remaining: 15, ResetAfter: time.Hour,
	Charges: []store.ChargeState{
		{Remaining: 2, ResetAfter: time.Minute}, {Remaining: 15, ResetAfter: time.Hour}, {Remaining: 400, ResetAfter: time.Second},
	},
}

const (
	policies    = `"10-in-1m";q=10;w=60, "day";q=100;w=86400, "\"all\"";q=1000;w=3600`
	oldPolicies = "10;w=60, 100;w=86400, 1000;w=3600"
)

func TestHeaders(t *testing.T) {
	t.Parallel()
	x := func(name, limit, remaining, reset string) map[string]string {
		return map[string]string{name + "-Limit": limit, name + "-Remaining": remaining, name + "-Reset": reset}
	}
	with := func(header map[string]string, policy string) map[string]string {
		header["Ratelimit-Policy"] = policy
		return header
	}
	x11 := func(d *answer.Decision, h http.Header, v *answer.Values) { d.SetX(h, v, time.Time{}) }
	for name, tt := range map[string]struct {
		decision weir.Decision
		before   map[string]string
		set      func(*answer.Decision, http.Header, *answer.Values)
		want     map[string]string
	}{
		"draft 11": {state, nil, func(d *answer.Decision, h http.Header, v *answer.Values) { d.SetDraft11(h, v, "", nil) }, map[string]string{
			"Ratelimit-Policy": policies,
			"Ratelimit":        `"10-in-1m";r=0;t=1, "day";r=7;t=1, "\"all\"";r=0;t=3`,
		}},
		"draft 11, known policies": {state, nil, func(d *answer.Decision, h http.Header, v *answer.Values) { d.SetDraft11(h, v, "known", nil) }, map[string]string{
			"Ratelimit-Policy": "known",
			"Ratelimit":        `"10-in-1m";r=0;t=1, "day";r=7;t=1, "\"all\"";r=0;t=3`,
		}},
		"draft 11, of the binding limit alone": {binding, nil, func(d *answer.Decision, h http.Header, v *answer.Values) { d.SetDraft11(h, v, "", nil) },
			map[string]string{"Ratelimit-Policy": policies}},
		"draft 11, after another limiter": {state, map[string]string{"Ratelimit-Policy": "a", "Ratelimit": "b"},
			func(d *answer.Decision, h http.Header, v *answer.Values) { d.SetDraft11(h, v, "", nil) }, map[string]string{
				"Ratelimit-Policy": "a & " + policies,
				"Ratelimit":        `b & "10-in-1m";r=0;t=1, "day";r=7;t=1, "\"all\"";r=0;t=3`,
			}},
		"draft 6": {binding, nil, func(d *answer.Decision, h http.Header, v *answer.Values) { d.SetDraft6(h, v, "") },
			with(x("Ratelimit", "100", "7", "91"), oldPolicies)},
		"draft 6, known policies": {binding, nil, func(d *answer.Decision, h http.Header, v *answer.Values) { d.SetDraft6(h, v, "known") },
			with(x("Ratelimit", "100", "7", "91"), "known")},
		"X":                      {binding, nil, x11, x("X-Ratelimit", "100", "7", "91")},
		"X, no state":            {weir.Decision{Allowed: true}, nil, x11, nil},
		"X, of the fewest units": {several, nil, x11, x("X-Ratelimit", "10", "2", "18")},
		"draft 6, of the fewest units": {several, nil, func(d *answer.Decision, h http.Header, v *answer.Values) { d.SetDraft6(h, v, "") },
			with(x("Ratelimit", "10", "2", "18"), oldPolicies)},
		"X, epoch, of the fewest units": {several, nil, func(d *answer.Decision, h http.Header, v *answer.Values) { d.SetX(h, v, time.Unix(1000, 0)) },
			x("X-Ratelimit", "10", "2", "1018")},
		"X, less outside":     {binding, x("X-Ratelimit", "9", "6", "1"), x11, x("X-Ratelimit", "9", "6", "1")},
		"X, as much outside":  {binding, x("X-Ratelimit", "9", "7", "1"), x11, x("X-Ratelimit", "100", "7", "91")},
		"X, until later":      {binding, x("X-Ratelimit", "9", "7", "92"), x11, x("X-Ratelimit", "9", "7", "92")},
		"X, more outside":     {binding, x("X-Ratelimit", "9", "8", "1"), x11, x("X-Ratelimit", "100", "7", "91")},
		"X, nonsense outside": {binding, x("X-Ratelimit", "9", "few", "1"), x11, x("X-Ratelimit", "100", "7", "91")},
		"X, refused inside":   {state, x("X-Ratelimit", "9", "0", "1"), x11, x("X-Ratelimit", "1000", "0", "3")},
		"X, epoch": {binding, nil, func(d *answer.Decision, h http.Header, v *answer.Values) { d.SetX(h, v, time.Unix(1000, 0)) },
			x("X-Ratelimit", "100", "7", "1091")},
	} {
		h := http.Header{}
		for name, value := range tt.before {
			h.Set(name, value)
		}
		tt.set(decision(tt.decision), h, new(answer.Values))
		got := map[string]string{}
		for name, values := range h {
			got[name] = strings.Join(values, " & ")
		}
		if !maps.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// TestKnownPolicies checks that policies which are made in advance are the same.
func TestKnownPolicies(t *testing.T) {
	t.Parallel()
	levels := decision(state).Levels
	limits := slices.Concat(levels[0].Limits, levels[1].Limits)
	if got := answer.Policies(limits); got != policies {
		t.Errorf("draft 11: %s", got)
	}
	if got := answer.PoliciesDraft6(levels); got != oldPolicies {
		t.Errorf("draft 6: %s", got)
	}
}

// TestPoliciesDraft6: each has a window, and no two have one number of units, as the draft demands.
func TestPoliciesDraft6(t *testing.T) {
	t.Parallel()
	levels := []answer.Level{
		{Limits: []weir.Limit{weir.PerMinute(10), weir.PerSecond(10), weir.Per(100, 100*time.Millisecond)}},
		{Limits: []weir.Limit{weir.PerHour(10), weir.PerMinute(5).WithBurst(100)}},
	}
	if got, want := answer.PoliciesDraft6(levels), "10;w=3600, 100;w=1200"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := answer.PoliciesDraft6(levels[:1]); got != "10;w=60, 100;w=1" {
		t.Errorf("of one level: %s", got)
	}
	if l := levels[0].Limits; l[0] != weir.PerMinute(10) {
		t.Errorf("the limits are in another order: %v", l)
	}
}

// TestUntilMore: the reset is the time until there are more units than are left.
func TestUntilMore(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, tt := range map[string]struct {
		limit     weir.Limit
		remaining int64
		reset     time.Duration
		retry     time.Duration
		degraded  bool
		want      int
	}{
		"never used":                                {weir.PerMinute(10), 10, 0, 0, false, 0},
		"one unit used":                             {weir.PerMinute(10), 9, 4 * s, 0, false, 4},
		"the unit before":                           {weir.PerMinute(10), 0, 58 * s, 0, false, 4},
		"nothing left, a larger burst":              {weir.PerMinute(10).WithBurst(100), 0, 598 * s, 0, false, 4},
		"thirds of a second":                        {weir.PerSecond(3), 0, s, 0, false, 1},
		"debt":                                      {weir.PerMinute(10), 0, 120 * s, 0, false, 66},
		"a brake holds units back":                  {weir.PerMinute(10), 0, 7 * s, 0, false, 7},
		"a part of a limit":                         {weir.PerMinute(10), 0, 58 * s, 0, true, 58},
		"a refusal":                                 {weir.PerMinute(10), 2, 48 * s, 18 * s, false, 18},
		"a refusal of a part":                       {weir.PerMinute(10), 0, 58 * s, 9 * s, true, 9},
		"a refusal for ever":                        {weir.PerMinute(10), 9, 4 * s, store.Never, false, 4},
		"a fixed window":                            {weir.PerMinute(10).By(weir.FixedWindow), 9, 58 * s, 0, false, 58},
		"an aligned window":                         {weir.PerMinute(10).By(weir.AlignedWindow), 0, 58 * s, 0, false, 58},
		"a sliding window, which does not know":     {weir.PerMinute(10).By(weir.SlidingWindow), 0, 60 * s, 0, false, 60},
		"a sliding counter: used in this window":    {weir.PerMinute(10).By(weir.SlidingCounter), 0, 90 * s, 0, false, 37},
		"… one unit":                                {weir.PerMinute(10).By(weir.SlidingCounter), 9, 90 * s, 0, false, 90},
		"a sliding counter: used in the one before": {weir.PerMinute(10).By(weir.SlidingCounter), 3, 50 * s, 0, false, 50},
	} {
		d := weir.Decision{Allowed: tt.retry == 0, Degraded: tt.degraded, Limit: tt.limit, Remaining: tt.remaining, ResetAfter: tt.reset, RetryAfter: tt.retry}
		if tt.retry == store.Never {
			d.Reason = weir.ReasonNeverFits
		}
		h := http.Header{}
		(&answer.Decision{Decision: &d, Levels: []answer.Level{{Limits: []weir.Limit{tt.limit}}}}).SetX(h, new(answer.Values), time.Time{})
		if got, want := h.Get("X-RateLimit-Reset"), strconv.Itoa(tt.want); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestTheLastLimitIsShown: of several limits with nothing left, the single headers show the one
// that has more units last.
func TestTheLastLimitIsShown(t *testing.T) {
	t.Parallel()
	none := several
	none.Remaining, none.ResetAfter = 0, 24*time.Hour
	none.Charges = []store.ChargeState{{ResetAfter: time.Minute}, {ResetAfter: 24 * time.Hour}, {Remaining: 400}}
	h := http.Header{}
	decision(none).SetX(h, new(answer.Values), time.Time{})
	if got := h.Get("X-RateLimit-Reset"); got != "864" {
		t.Errorf("X-RateLimit-Reset: %s", got)
	}
	none.Limit, none.ResetAfter = weir.PerMinute(10), time.Minute
	decision(none).SetX(h, new(answer.Values), time.Time{})
	if got := h.Get("X-RateLimit-Reset"); got != "864" {
		t.Errorf("X-RateLimit-Reset: %s, if the minute binds", got)
	}
}

// TestPartitions checks that each level's limits have its pk, known policies or not.
func TestPartitions(t *testing.T) {
	t.Parallel()
	h := http.Header{}
	decision(state).SetDraft11(h, new(answer.Values), "known", answer.NewPartitions([]byte("0123456789abcdef")))
	for name, values := range h {
		pks := []string{}
		for _, member := range strings.Split(values[0], ", ") {
			_, pk, _ := strings.Cut(member, ";pk=")
			pks = append(pks, pk)
		}
		if len(pks) != 3 || len(pks[0]) != 14 || pks[0] != pks[1] || pks[1] == pks[2] {
			t.Errorf("%s: %q", name, values)
		}
	}
	if len(h) != 2 || answer.NewPartitions(nil) != nil {
		t.Errorf("headers %v", h)
	}
}

func TestViolated(t *testing.T) {
	t.Parallel()
	paused, unnamed := state, binding
	paused.Reason = weir.ReasonPaused
	named := binding
	named.Scope = "everybody"
	for name, tt := range map[string]struct {
		decision weir.Decision
		want     []string
	}{
		"two of three":                {state, []string{"10-in-1m of user", `"all" of everybody`}},
		"a pause":                     {paused, nil},
		"the binding limit":           {named, []string{"100-in-1d of everybody"}},
		"the binding one of somebody": {unnamed, []string{"100-in-1d of user"}},
	} {
		var got []string
		for policy, limiter := range decision(tt.decision).Violated() {
			got = append(got, policy+" of "+limiter)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q", name, got)
		}
		for range decision(tt.decision).Violated() {
			break // which ends it
		}
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for retry, want := range map[time.Duration]string{
		0: "1", 1: "1", time.Second: "1", time.Second + 1: "2", time.Hour: "3600",
	} {
		if got := decision(weir.Decision{RetryAfter: retry}).RetryAfterSeconds(); got != want {
			t.Errorf("%v: %q, want %q", retry, got, want)
		}
	}
	if got := decision(weir.Decision{Reason: weir.ReasonNeverFits, RetryAfter: store.Never}).RetryAfterSeconds(); got != "" {
		t.Errorf("never: %q", got)
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	const uri = `{"type":"https://iana.org/assignments/http-problem-types#`
	changed := func(change func(*weir.Decision)) weir.Decision {
		d := state
		change(&d)
		return d
	}
	for name, tt := range map[string]struct {
		decision  weir.Decision
		penalised bool
		want      string
	}{
		"a limit": {state, true, uri + `quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded",` +
			`"status":429,"violated-policies":["10-in-1m","\"all\""]}`},
		"for ever": {changed(func(d *weir.Decision) { d.Reason, d.RetryAfter = weir.ReasonNeverFits, store.Never }), false,
			uri + `quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,` +
				`"detail":"The request costs more than a limit admits at once. Repeating it does not help.","violated-policies":["10-in-1m","\"all\""]}`},
		"a share": {changed(func(d *weir.Decision) { d.Degraded = true }), true,
			uri + `temporary-reduced-capacity","title":"Request cannot be satisfied due to temporary server capacity constraints",` +
				`"status":429,"violated-policies":["10-in-1m","\"all\""]}`},
		"a pause": {changed(func(d *weir.Decision) { d.Reason = weir.ReasonPaused }), false,
			uri + `temporary-reduced-capacity","title":"Request cannot be satisfied due to temporary server capacity constraints",` +
				`"status":429,"detail":"Requests are paused.","violated-policies":[]}`},
		"a penalty": {changed(func(d *weir.Decision) { d.Reason = weir.ReasonPaused }), true,
			uri + `abnormal-usage-detected","title":"Request not satisfied due to detection of abnormal request pattern",` +
				`"status":429,"detail":"Requests are paused.","violated-policies":[]}`},
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			w := httptest.NewRecorder()
			decision(tt.decision).WriteLimited(w, httptest.NewRequest(method, "/", http.NoBody), new(answer.Values), tt.penalised)
			check(t, name, w, method, http.StatusTooManyRequests, tt.want)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		w := httptest.NewRecorder()
		problem := answer.Problem{Status: 403, Detail: "No."}
		problem.Write(w, httptest.NewRequest(method, "/", http.NoBody))
		check(t, "a problem", w, method, 403, `{"type":"about:blank","title":"Forbidden","status":403,"detail":"No."}`)
	}
}

func check(t *testing.T, name string, w *httptest.ResponseRecorder, method string, status int, body string) {
	t.Helper()
	body += "\n"
	want := http.Header{"Content-Type": {"application/problem+json"}, "Cache-Control": {"no-store"}}
	want.Set("Content-Length", strconv.Itoa(len(body)))
	if !maps.EqualFunc(w.Header(), want, slices.Equal[[]string]) || w.Code != status {
		t.Errorf("%s: status %d, headers %v", name, w.Code, w.Header())
	}
	if method == http.MethodHead {
		body = ""
	}
	if w.Body.String() != body {
		t.Errorf("%s: %s\n%s", name, method, w.Body)
	}
}

// TestValues checks that values don't overwrite each other, however many there are
// and whatever is added to one.
func TestValues(t *testing.T) {
	t.Parallel()
	h, v := http.Header{}, new(answer.Values)
	for _, name := range []string{"A", "B", "C", "D", "E", "F"} {
		v.Set(h, name, "of "+name)
		h.Add(name, "more of "+name)
	}
	for name, got := range h {
		if want := []string{"of " + name, "more of " + name}; !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
	v.Set(h, "A", "anew")
	if got := h["A"]; !slices.Equal(got, []string{"anew"}) {
		t.Errorf("A: %q", got)
	}
}
