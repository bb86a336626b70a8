package middleware_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

// listening is a LimitedWriter.
type listening struct {
	*httptest.ResponseRecorder
	told []string // the reason, and what is set and written by then
}

func (l *listening) Limited(d weir.Decision) {
	l.told = append(l.told, d.Reason.String(), l.Header().Get("RateLimit"), l.Header().Get("Retry-After"), l.Body.String())
}

// TestLimitedWriter checks that a writer is told of refusals by limits alone,
// whoever answers them.
func TestLimitedWriter(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		config func(*middleware.Config)
		user   string
		told   bool
	}{
		{name: "over a limit", user: "ann", told: true},
		{name: "answered by a handler of one's own", user: "ann", told: true, config: func(cfg *middleware.Config) {
			cfg.OnLimited = func(w http.ResponseWriter, _ *http.Request, _ weir.Decision) { w.WriteHeader(http.StatusTeapot) }
		}},
		{name: "in shadow", user: "ann", config: func(cfg *middleware.Config) { cfg.Shadow = true }},
		{name: "without an identity"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store, err := localstore.New(localstore.Config{})
			if err != nil {
				t.Fatal(err)
			}
			limiter, err := weir.New(weir.Config{Store: store, Limits: []weir.Limit{weir.PerHour(1)}})
			if err != nil {
				t.Fatal(err)
			}
			cfg := middleware.Config{Limiter: limiter, Key: weir.KeyHeader("X-User")}
			if tt.config != nil {
				tt.config(&cfg)
			}
			guard, err := middleware.NewGuard(cfg)
			if err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.Header.Set("X-User", tt.user)
			guard.Check(&listening{ResponseRecorder: httptest.NewRecorder()}, r)
			w := &listening{ResponseRecorder: httptest.NewRecorder()}
			guard.Check(w, r)
			if told := len(w.told) == 4; told != tt.told {
				t.Errorf("told %v", w.told)
			} else if told && (w.told[0] != "limited" || w.told[1] == "" || w.told[2] != "" || w.told[3] != "") {
				t.Errorf("told %q", w.told)
			}
		})
	}
}
