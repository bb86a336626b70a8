package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir"
	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store/redisstore"
)

// TestDoctor plants one fault in a healthy server, and expects this finding alone, with
// its remedy and exit code.
func TestDoctor(t *testing.T) {
	t.Parallel()
	set := func(pairs ...string) func(*testing.T, *redistest.Server) string {
		return func(t *testing.T, server *redistest.Server) string {
			for i := 0; i < len(pairs); i += 2 {
				must(t, server.Client().ConfigSet(t.Context(), pairs[i], pairs[i+1]).Err())
			}
			return "redis://" + server.Addr
		}
	}
	user := func(rules ...any) func(*testing.T, *redistest.Server) string {
		return func(t *testing.T, server *redistest.Server) string {
			must(t, server.Client().Do(t.Context(), append([]any{"ACL", "SETUSER", "app", "on", ">p", "~*", "&*", "+@all"}, rules...)...).Err())
			return "redis://app:p@" + server.Addr
		}
	}
	options := func(query string) func(*testing.T, *redistest.Server) string {
		return func(_ *testing.T, server *redistest.Server) string { return "redis://" + server.Addr + "?" + query }
	}
	for name, test := range map[string]struct {
		plant  func(t *testing.T, server *redistest.Server) (url string)
		found  string // level and name; empty: none
		remedy string
		code   int
	}{
		"well":            {set(), "", "", 0},
		"SCRIPT denied":   {user("-script"), "", "", 0}, // weir never sends it
		"eviction":        {set("maxmemory", "1gb", "maxmemory-policy", "allkeys-lru"), "warning eviction", "set maxmemory-policy noeviction", 1},
		"clock behind":    {plantFuture, "warning clock", "NTP", 1},
		"scripts denied":  {user("-eval", "-evalsha"), "fault scripts", "allow EVAL and EVALSHA", 1},
		"ACL too small":   {user("-pttl", "-llen"), "fault commands", "+pttl +llen", 1},
		"retries":         {options("max_retries=3"), "warning client", "leave max_retries", 1},
		"pool too small":  {options("pool_size=2"), "warning pool", "raise pool_size", 1},
		"no TTL":          {plantLasting, "warning ttl", "Calls of these keys set a TTL again", 1},
		"memory is full":  {set("maxmemory", "1kb"), "fault memory", "more memory", 1},
		"replica":         {plantReplica, "fault replica", "use the address of the master", 1},
		"wrong password":  {plantPassword, "fault password", "correct user and password", 1},
		"plain to TLS":    {plantTLS, "fault away", "use rediss:// in place of redis://", 3},
		"two of one name": {plantTwo, "warning limits", "different Names", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			seed(t, server)
			url, query, more := strings.Cut(test.plant(t, server), "?")
			if url += patience; more {
				url += "&" + query
			}
			got := runOn(t.Context(), url, "doctor", "--json")
			var list struct {
				Findings []struct{ Level, Name, What, Remedy string }
			}
			if err := json.Unmarshal([]byte(got.out), &list); err != nil {
				t.Fatalf("%v: %s%s", err, got.out, got.errs)
			}
			if got.code != test.code {
				t.Errorf("exit code %d, want %d", got.code, test.code)
			}
			if test.found == "" {
				if len(list.Findings) > 0 {
					t.Errorf("found %s", got.out)
				}
				return
			}
			if len(list.Findings) != 1 {
				t.Fatalf("found %s, want %s alone", got.out, test.found)
			}
			f := list.Findings[0]
			if f.Level+" "+f.Name != test.found || f.What == "" || !strings.Contains(f.Remedy, test.remedy) {
				t.Errorf("found %+v, want %s with %q", f, test.found, test.remedy)
			}
		})
	}
}

// seed makes keys like those of a service.
func seed(t *testing.T, server *redistest.Server) {
	s, err := redisstore.New(redisstore.Config{Client: server.Client()})
	must(t, err)
	l, err := weir.New(weir.Config{Store: s, Name: "api", Limits: []weir.Limit{weir.Per(25, time.Hour), weir.Per(100, time.Hour).By(weir.SlidingWindow)}})
	must(t, err)
	for i := range 5 {
		_, err := l.Allow(t.Context(), fmt.Sprint("user:", i))
		must(t, err)
	}
	must(t, s.Close())
}

func plantFuture(t *testing.T, server *redistest.Server) string {
	value := fmt.Sprintf("1g7/60s=0|%d", time.Now().Add(time.Hour).UnixMicro())
	must(t, server.Client().Set(t.Context(), "weir:{api:early}", value, time.Hour).Err())
	return "redis://" + server.Addr
}

func plantPassword(t *testing.T, server *redistest.Server) string {
	must(t, server.Client().ConfigSet(t.Context(), "requirepass", "right").Err())
	return "redis://:wrong@" + server.Addr
}

func plantLasting(t *testing.T, server *redistest.Server) string {
	must(t, server.Client().Persist(t.Context(), "weir:{api:user:3}").Err())
	return "redis://" + server.Addr
}

func plantReplica(t *testing.T, server *redistest.Server) string {
	host, port, _ := strings.Cut(server.Addr, ":")
	must(t, server.Client().ConfigSet(t.Context(), "repl-diskless-sync-delay", "0").Err())
	replica := redistest.Start(t)
	client := replica.Client()
	must(t, client.ReplicaOf(t.Context(), host, port).Err())
	for !strings.Contains(client.Info(t.Context(), "replication").Val(), "master_link_status:up") {
		time.Sleep(10 * time.Millisecond)
	}
	return "redis://" + replica.Addr
}

// plantTwo makes two programs use one Name with different limits.
func plantTwo(t *testing.T, server *redistest.Server) string {
	for _, n := range []int64{20, 25} {
		s, err := redisstore.New(redisstore.Config{Client: server.Client()})
		must(t, err)
		l, err := weir.New(weir.Config{Store: s, Name: "shared", Limits: []weir.Limit{weir.Per(n, time.Hour)}})
		must(t, err)
		_, err = l.Allow(t.Context(), "key")
		must(t, err)
		must(t, s.Close())
	}
	return "redis://" + server.Addr
}

// plantTLS returns an address that speaks TLS.
func plantTLS(t *testing.T, _ *redistest.Server) string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}})
	must(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.(*tls.Conn).Handshake() // It fails on plain text.
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return "redis://" + l.Addr().String()
}
