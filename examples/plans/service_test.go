package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/middleware"
	"github.com/goweir/weir/store/localstore"
)

// newTestService returns the service and its accounts: ann has the plan free, bob has
// pro.
func newTestService(t *testing.T) (http.Handler, *accounts) {
	t.Helper()
	store, err := localstore.New(localstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	a := someAccounts()
	service, err := newService(store, a, middleware.HeadersDraft11)
	if err != nil {
		t.Fatal(err)
	}
	return service, a
}

// login tries a password from an address, and returns the status.
func login(service http.Handler, from, name, password string) int {
	r := httptest.NewRequest(http.MethodPost, "/login", http.NoBody)
	r.RemoteAddr = from + ":4711"
	r.SetBasicAuth(name, password)
	w := httptest.NewRecorder()
	service.ServeHTTP(w, r)
	return w.Code
}

func call(service http.Handler, method, path, key string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, http.NoBody)
	r.Header.Set("X-API-Key", key)
	w := httptest.NewRecorder()
	service.ServeHTTP(w, r)
	return w
}

func TestLogins(t *testing.T) {
	t.Parallel()
	type try struct {
		from, name, password string
		want                 int
	}
	address := func(i int) string { return fmt.Sprintf("192.0.2.%d", i) }
	var right, spread, spelled, sprayed []try
	for range 20 {
		right = append(right, try{"192.0.2.1", "ann", "pelican-92", 200})
	}
	for i := range 3 {
		spread = append(spread, try{address(i), "ann", "guess", 401})
		spelled = append(spelled, try{"192.0.2.1", []string{"ann", "Ann", "ANN"}[i], "guess", 401})
	}
	for i := range 5 {
		sprayed = append(sprayed, try{"192.0.2.1", fmt.Sprintf("user-%d", i), "guess", 401})
	}
	for _, c := range []struct {
		name  string
		tries []try
	}{
		{"right passwords cost nothing", right},
		{"three wrong ones from three addresses are the most of an account", append(spread, try{"192.0.2.9", "ann", "pelican-92", 429})},
		{"however its name is spelled", append(spelled, try{"192.0.2.1", "aNN", "guess", 429})},
		{"other accounts are not concerned", append(spread, try{"192.0.2.9", "bob", "walrus-17", 200})},
		{"five wrong ones are the most of an address", append(sprayed, try{"192.0.2.1", "ann", "pelican-92", 429})},
		{"other addresses are not concerned", append(sprayed, try{"192.0.2.2", "ann", "pelican-92", 200})},
		{"no name", []try{{"192.0.2.1", "", "x", 401}}},
		{"longest name", []try{{"192.0.2.1", strings.Repeat("x", 64), "x", 401}}},
		{"too long a name", []try{{"192.0.2.1", strings.Repeat("x", 65), "x", 400}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				service, _ := newTestService(t)
				for i, try := range c.tries {
					if got := login(service, try.from, try.name, try.password); got != try.want {
						t.Errorf("try %d, as %q from %s: %d, want %d", i+1, try.name, try.from, got, try.want)
					}
				}
			})
		})
	}
}

// TestNobodyIsBlockedByOthers goes on after a refusal. That blocks its address, and no
// account.
func TestNobodyIsBlockedByOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service, a := newTestService(t)
		key := a.newKey("ann")
		for i := range 20 {
			login(service, "192.0.2.1", "ann", fmt.Sprint("guess ", i))
		}
		time.Sleep(9 * time.Minute)
		if got := login(service, "192.0.2.1", "bob", "walrus-17"); got != http.StatusTooManyRequests {
			t.Errorf("the blocked address: %d", got)
		}
		time.Sleep(11 * time.Minute)
		if got := login(service, "192.0.2.2", "ann", "pelican-92"); got != http.StatusOK {
			t.Errorf("the account, with an attempt back: %d", got)
		}
		if got := call(service, "GET", "/hello", key).Code; got != http.StatusOK {
			t.Errorf("the account's API key: %d", got)
		}
	})
}

func TestPlans(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service, a := newTestService(t)
		first, second, bob := a.newKey("ann"), a.newKey("ann"), a.newKey("bob")
		for range 3 {
			if w := call(service, "GET", "/hello", first); w.Code != http.StatusOK {
				t.Errorf("within the plan: %d", w.Code)
			}
		}
		w := call(service, "GET", "/hello", second)
		var refused refusal
		if err := json.Unmarshal(w.Body.Bytes(), &refused); err != nil {
			t.Fatal(err)
		}
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "10" ||
			refused.Plan != "free" || refused.Upgrade != "PUT /plan/pro" || refused.Violated[0] != "free" {
			t.Errorf("with another key: %d, %v, %+v", w.Code, w.Header(), refused)
		}
		if w := call(service, "GET", "/hello", bob); w.Code != http.StatusOK {
			t.Errorf("another customer: %d", w.Code)
		}
		if w := call(service, "PUT", "/plan/gold", first); w.Code != http.StatusNotFound {
			t.Errorf("a plan that does not exist: %d", w.Code)
		}
		if w := call(service, "PUT", "/plan/pro", first); w.Code != http.StatusOK {
			t.Errorf("change of a used-up plan: %d", w.Code)
		}
		const pro = `"pro";q=10;w=1, "pro-day";q=100000;w=86400`
		if w := call(service, "GET", "/hello", first); w.Header().Get("RateLimit-Policy") != pro || w.Header().Get("Retry-After") != "1" {
			t.Errorf("the request after it: %d, %v", w.Code, w.Header())
		}
		time.Sleep(100 * time.Millisecond) // one interval of the new plan
		if w := call(service, "GET", "/hello", first); w.Code != http.StatusOK {
			t.Errorf("the request after the new plan's interval: %d, %v", w.Code, w.Header())
		}
		if w := call(service, "GET", "/hello", "wk_invented"); w.Code != http.StatusUnauthorized {
			t.Errorf("an invented key: %d", w.Code)
		}
	})
}

// TestRefusalOffersNoPlan checks that no refusal offers a plan that would not help: while
// shares are small, and while the customer is paused.
func TestRefusalOffersNoPlan(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]weir.Decision{
		"in an outage": {Degraded: true, Reason: weir.ReasonLimited, Limit: plans["free"][0]},
		"in a pause":   {Reason: weir.ReasonPaused, Limit: plans["free"][0]},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/hello", http.NoBody)
		someAccounts().refuse(w, r, d)
		if body := w.Body.String(); !strings.Contains(body, reducedCapacity) || strings.Contains(body, "upgrade") {
			t.Errorf("%s: answered %s", name, body)
		}
	}
}

// TestSecretsAreNotKept checks that no stored value can be used as a credential.
func TestSecretsAreNotKept(t *testing.T) {
	t.Parallel()
	a := someAccounts()
	key := a.newKey("ann")
	if name, ok := a.byKey(key); !ok || name != "ann" {
		t.Fatalf("the key is %q's", name)
	}
	others := newAccounts([]byte("another secret"))
	others.owner = a.owner
	if _, ok := others.byKey(key); ok {
		t.Error("the hash of an API key does not depend on the secret")
	}
	if kept := fmt.Sprintf("%s %s", a.users["ann"].password, a.users["bob"].password); strings.Contains(kept, "pelican") {
		t.Error("passwords are kept")
	}
}
