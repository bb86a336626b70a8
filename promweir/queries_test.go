package promweir_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/goweir/weir"
	"github.com/goweir/weir/store"
)

// query is a PromQL expression of the dashboard or the alerts.
type query struct{ of, expr, legend string }

// labelValues are the values of labels that have few.
func labelValues() map[string][]string {
	values := map[string][]string{
		"operation": {"take", "cancel", "settle", "brake", "reset", "release", "renew"}, "by": {"upstream", "hand", "penalty"},
		"said": {"duration", "nothing"}, "to": {"away", "back"}, "status": {"403", "418", "420", "429", "503", "529", "other"},
		"result": {"answered", "canceled", "deadline", "store_error", "error"},
	}
	for i := range uint8(20) {
		values["source"] = append(values["source"], store.Source(i).String())
		values["result"] = append(values["result"], weir.Reason(i).String())
	}
	return values
}

var (
	selector  = regexp.MustCompile(`\b(weir_\w+)(\{([^}]*)\})?`)
	matcher   = regexp.MustCompile(`^\s*(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"\s*$`)
	grouping  = regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)`)
	function  = regexp.MustCompile(`\b(\w+)\s*\(`)
	shown     = regexp.MustCompile(`\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}`)
	histogram = []string{"weir_wait_duration_seconds", "weir_store_duration_seconds", "weir_pause_duration_seconds"}
	// increase is left out: it misses the first value of a series, which a rare counter gets
	// with its first event.
	functions = strings.Fields("sum min max rate histogram_quantile label_values by ignoring group_left and or unless")
)

// faults returns the parts of a query that do not fit the instruments.
func (q query) faults(instruments map[string][]string) (faults []string) {
	wrong := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	known, values := []string{}, labelValues()
	for _, m := range selector.FindAllStringSubmatch(q.expr, -1) {
		name := m[1]
		for _, h := range histogram {
			if part, ok := strings.CutPrefix(name, h); ok {
				if name = h; !slices.Contains([]string{"_bucket", "_sum", "_count"}, part) {
					wrong("%s is a histogram", m[1])
				}
				if part == "_bucket" {
					known = append(known, "le")
				}
			}
		}
		labels, ok := instruments[name]
		if !ok {
			wrong("there is no %s", m[1])
			continue
		}
		known = append(known, labels...)
		if m[3] == "" {
			continue
		}
		for _, text := range strings.Split(m[3], ",") {
			part := matcher.FindStringSubmatch(text)
			switch {
			case part == nil:
				wrong("%q is no matcher", text)
			case !slices.Contains(labels, part[1]):
				wrong("%s has no label %s", name, part[1])
			case values[part[1]] != nil && !slices.Contains(values[part[1]], part[3]):
				wrong("%s is never %q", part[1], part[3])
			}
		}
	}
	if !selector.MatchString(q.expr) {
		wrong("no instrument")
	}
	for _, m := range grouping.FindAllStringSubmatch(q.expr, -1) {
		for _, label := range strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' || r == ' ' }) {
			if !slices.Contains(known, label) {
				wrong("nothing has the label %s", label)
			}
		}
	}
	for _, m := range function.FindAllStringSubmatch(q.expr, -1) {
		if !slices.Contains(functions, m[1]) {
			wrong("there is no function %s", m[1])
		}
	}
	for _, m := range shown.FindAllStringSubmatch(q.legend, -1) {
		if !slices.ContainsFunc(grouping.FindAllStringSubmatch(q.expr, -1), func(g []string) bool {
			return g[1] == "by" && slices.Contains(strings.Split(strings.ReplaceAll(g[2], " ", ""), ","), m[1])
		}) {
			wrong("the result has no label %s", m[1])
		}
	}
	if strings.Count(q.expr, "(") != strings.Count(q.expr, ")") || strings.Count(q.expr, "{") != strings.Count(q.expr, "}") {
		wrong("brackets are not closed")
	}
	return faults
}

// TestQueriesFit: each query of the dashboard and of the alerts names instruments, labels
// and values that a Collector exports. The dashboard shows all instruments.
func TestQueriesFit(t *testing.T) {
	t.Parallel()
	instruments := described(t)
	dashboard, alerts := dashboardQueries(t), alertQueries(t)
	if len(dashboard) < 20 || len(alerts) < 10 {
		t.Fatalf("%d queries in the dashboard, %d alerts", len(dashboard), len(alerts))
	}
	for _, q := range slices.Concat(dashboard, alerts) {
		for _, fault := range q.faults(instruments) {
			t.Errorf("%s: %s: %s", q.of, fault, q.expr)
		}
	}
	for name := range instruments {
		if !slices.ContainsFunc(dashboard, func(q query) bool { return strings.Contains(q.expr, name) }) {
			t.Errorf("the dashboard does not show %s", name)
		}
	}
}

// TestFaultsAreFound: the test above can fail.
func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	instruments := described(t)
	for _, tt := range []struct {
		expr, legend, want string
	}{
		{`sum by (limiter) (rate(weir_retries_total{limiter="a"}[5m]))`, "{{limiter}}", ""},
		{`rate(weir_decision_total[5m])`, "", "there is no weir_decision_total"},
		{`rate(weir_wait_duration_seconds[5m])`, "", "weir_wait_duration_seconds is a histogram"},
		{`rate(weir_retries_total_count[5m])`, "", "there is no weir_retries_total_count"},
		{`weir_waiting{key="a"}`, "", "weir_waiting has no label key"},
		{`weir_decisions_total{source="fallbacks"}`, "", `source is never "fallbacks"`},
		{`weir_waiting{limiter}`, "", `"limiter" is no matcher`},
		{`sum by (limit) (weir_waiting)`, "", "nothing has the label limit"},
		{`sum by (le) (weir_wait_duration_seconds_count)`, "", "nothing has the label le"},
		{`avg(weir_waiting)`, "", "there is no function avg"},
		{`increase(weir_leases_lost_total[15m])`, "", "there is no function increase"},
		{`sum(weir_waiting)`, "{{limiter}}", "the result has no label limiter"},
		{`sum(weir_waiting`, "", "brackets are not closed"},
		{`up`, "", "no instrument"},
	} {
		got := query{"", tt.expr, tt.legend}.faults(instruments)
		if fmt.Sprint(got) != "["+tt.want+"]" {
			t.Errorf("%s: found %v, want %q", tt.expr, got, tt.want)
		}
	}
}

func dashboardQueries(t *testing.T) (all []query) {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title, Type, Description string
			Targets                  []struct{ Expr, LegendFormat string }
		}
		Templating struct {
			List []struct {
				Name, Type string
				Query      any
			}
		}
	}
	text, err := os.ReadFile("grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		if p.Type != "row" && (len(p.Targets) == 0 || p.Description == "") {
			t.Errorf("the panel %q has no query or no description", p.Title)
		}
		for _, target := range p.Targets {
			all = append(all, query{p.Title, target.Expr, target.LegendFormat})
		}
	}
	for _, v := range dashboard.Templating.List {
		if v.Type == "query" {
			all = append(all, query{"$" + v.Name, v.Query.(map[string]any)["query"].(string), ""})
		}
	}
	return all
}

func alertQueries(t *testing.T) (all []query) {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr         string
				Labels, Annotations map[string]string
			}
		}
	}
	text, err := os.ReadFile("alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if r.Labels["severity"] == "" || r.Annotations["reason"] == "" || r.Annotations["action"] == "" || !regexp.MustCompile(`[<>=]=? *[\d.]+$`).MatchString(r.Expr) {
				t.Errorf("%s has no severity, reason, action or threshold", r.Alert)
			}
			if strings.Contains(r.Expr, "weir_upstream_remaining") && !strings.Contains(r.Expr, "rate(weir_decisions_total") {
				t.Errorf("%s fires on and on after the last call", r.Alert)
			}
			all = append(all, query{r.Alert, r.Expr, r.Annotations["summary"]})
		}
	}
	return all
}
