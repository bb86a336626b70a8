package redisstore

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store/redisstore/internal/check"
	"github.com/redis/go-redis/v9"
)

// namesOfFindings returns the level and the name of each, in order.
func namesOfFindings(found []Finding) (list []string) {
	for _, f := range found {
		list = append(list, string(f.Level)+" "+f.Name)
	}
	slices.Sort(list)
	return list
}

// TestCheckFaults breaks a server, and expects the findings. A hint is part of the first
// finding.
func TestCheckFaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		url   func(t *testing.T) string
		hint  string
		found []string
	}{
		"nothing wrong": {func(t *testing.T) string { return "redis://" + redistest.Start(t).Addr }, "", nil},
		"killed": {func(t *testing.T) string {
			server := redistest.Start(t)
			server.Kill()
			return "redis://" + server.Addr
		}, "start it", []string{"fault away"}},
		"silent": {func(t *testing.T) string {
			server := redistest.Start(t)
			server.Stop()
			return "redis://" + server.Addr
		}, "start it", []string{"fault away"}},
		"no such host":      {func(*testing.T) string { return "redis://no-such-host.invalid" }, "correct the host", []string{"fault away"}},
		"no password":       {func(t *testing.T) string { return "redis://" + locked(t).Addr }, "correct user and password", []string{"fault password"}},
		"wrong password":    {func(t *testing.T) string { return "redis://:wrong@" + locked(t).Addr }, "correct user and password", []string{"fault password"}},
		"unknown user":      {func(t *testing.T) string { return "redis://nobody:p@" + redistest.Start(t).Addr }, "correct user and password", []string{"fault password"}},
		"plain text to TLS": {func(t *testing.T) string { return "redis://" + encrypted(t, redistest.Start(t).Addr) }, "use rediss:// in place of redis://", []string{"fault away"}},
		"TLS to plain text": {func(t *testing.T) string { return "rediss://" + redistest.Start(t).Addr }, "use redis:// in place of rediss://", []string{"fault away"}},
		"untrusted":         {func(t *testing.T) string { return "rediss://" + encrypted(t, redistest.Start(t).Addr) }, "right tls.Config", []string{"fault tls"}},
		"no such database":  {func(t *testing.T) string { return "redis://" + redistest.Start(t).Addr + "/99" }, "correct the database", []string{"fault database"}},
		"no SELECT": {func(t *testing.T) string {
			return "redis://weir:p@" + without(t, redistest.Start(t), "select") + "/1"
		}, "+select", []string{"fault database"}},
		"no Sentinel":       {func(t *testing.T) string { return "redis://" + redistest.Start(t).Addr + "?master_name=main" }, "leave master_name out", []string{"fault sentinel"}},
		"no scripts":        {func(t *testing.T) string { return renamed(t, "EVAL", "EVALSHA") }, "use package plainstore", []string{"fault scripts"}},
		"no TIME":           {func(t *testing.T) string { return renamed(t, "TIME") }, "set Config.PassTime", []string{"fault commands", "fault time"}},
		"no ZADD":           {func(t *testing.T) string { return renamed(t, "ZADD") }, "+zadd", []string{"warning in-flight"}},
		"no INFO":           {func(t *testing.T) string { return "redis://weir:p@" + without(t, redistest.Start(t), "info") }, "want noeviction", []string{"unknown info"}},
		"evicts":            {func(t *testing.T) string { return set(t, "maxmemory", "1gb", "maxmemory-policy", "allkeys-lru") }, "set maxmemory-policy noeviction", []string{"warning eviction"}},
		"evicts ours first": {func(t *testing.T) string { return set(t, "maxmemory", "1gb", "maxmemory-policy", "volatile-ttl") }, "set maxmemory-policy noeviction", []string{"warning eviction"}},
		"memory is full":    {func(t *testing.T) string { return set(t, "maxmemory", "1kb") }, "more memory", []string{"fault memory"}},
		"too many clients":  {func(t *testing.T) string { return set(t, "maxclients", "1") }, "maxclients", []string{"fault away"}},
		"too few replicas":  {func(t *testing.T) string { return set(t, "min-replicas-to-write", "1") }, "start the replicas", []string{"fault replicas"}},
		"replica": {func(t *testing.T) string {
			host, port, _ := strings.Cut(redistest.Start(t).Addr, ":")
			server := redistest.Start(t)
			if err := server.Client().ReplicaOf(t.Context(), host, port).Err(); err != nil {
				t.Fatal(err)
			}
			return "redis://" + server.Addr
		}, "use the address of the master", []string{"fault replica"}},
		"no cluster": {func(t *testing.T) string {
			addr := redistest.Start(t).Addr
			return "redis://" + addr + "?addr=" + addr
		}, "leave addr out of the URL", []string{"fault cluster"}},
		"no map of the cluster": {func(t *testing.T) string {
			addr := without(t, redistest.StartCluster(t).Nodes[0], "cluster")
			return "redis://weir:p@" + addr + "?addr=" + addr
		}, "+cluster|slots", []string{"fault cluster"}},
		"no master's name": {func(t *testing.T) string { return "redis://" + redistest.StartSentinel(t).Addr }, "master_name in the URL", []string{"fault sentinel"}},
		"no such master":   {func(t *testing.T) string { return "redis://" + redistest.StartSentinel(t).Addr + "?master_name=other" }, "correct master_name", []string{"fault away"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, test.url(t))
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			found := s.Check(ctx)
			got := namesOfFindings(found)
			if name == "TLS to plain text" && slices.Equal(got, []string{"fault tls"}) {
				got = []string{"fault away"} // The server may answer a part of the greeting.
			}
			if !slices.Equal(got, test.found) {
				t.Fatalf("found %v, want %v", found, test.found)
			}
			text := ""
			for _, f := range found {
				text += f.String() + "\n"
				if f.What == "" || f.Remedy == "" || f.Server == "" && f.Name != "cluster" {
					t.Errorf("incomplete: %+v", f)
				}
			}
			if !strings.Contains(text, test.hint) {
				t.Errorf("found %v, want %q", text, test.hint)
			}
		})
	}
}

// locked starts a server with a password.
func locked(t *testing.T) *redistest.Server {
	server := redistest.Start(t)
	if err := server.Client().ConfigSet(t.Context(), "requirepass", "right").Err(); err != nil {
		t.Fatal(err)
	}
	return server
}

// set starts a server with settings, and returns its URL.
func set(t *testing.T, pairs ...string) string {
	server := redistest.Start(t)
	client := server.Client()
	for pair := range slices.Chunk(pairs, 2) {
		if err := client.ConfigSet(t.Context(), pair[0], pair[1]).Err(); err != nil {
			t.Fatal(err)
		}
	}
	return "redis://" + server.Addr
}

// renamed starts a server without some commands.
func renamed(t *testing.T, commands ...string) string {
	var args []string
	for _, name := range commands {
		args = append(args, "--rename-command", name, "")
	}
	return "redis://" + redistest.Start(t, args...).Addr
}

// without adds a user named weir without a command, and returns the server's address.
func without(t *testing.T, server *redistest.Server, command string) string {
	setUser(t, server, "weir", "on", ">p", "~*", "&*", "+@all", "-"+command)
	return server.Addr
}

// setUser gives a user its rules. Redis 6.0 has none for channels.
func setUser(t *testing.T, server *redistest.Server, name string, rules ...string) {
	t.Helper()
	channelless := strings.HasPrefix(server.Info("server")["redis_version"], "6.0.")
	args := []any{"ACL", "SETUSER", name}
	for _, rule := range rules {
		if !channelless || rule != "resetchannels" && rule[0] != '&' {
			args = append(args, rule)
		}
	}
	if err := server.Client().Do(t.Context(), args...).Err(); err != nil {
		t.Fatal(err)
	}
}

// encrypted returns the address of a TLS proxy to another address. No client trusts its
// certificate.
func encrypted(t *testing.T, addr string) string {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour)}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				if conn.(*tls.Conn).Handshake() != nil {
					return
				}
				if to, err := net.Dial("tcp", addr); err == nil {
					defer to.Close()
					go func() { _, _ = io.Copy(to, conn) }()
					_, _ = io.Copy(conn, to)
				}
			}()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

// TestCheckLeavesNothing: a check leaves no keys, with and without findings.
func TestCheckLeavesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client(Configure)
	for range 3 {
		if found := newStore(t, client).Check(t.Context()); len(found) > 0 {
			t.Errorf("found %v", found)
		}
	}
	if n := client.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys are left: %v", n, client.Keys(t.Context(), "*").Val())
	}
}

// TestCheckLeastACL: a user with the rules of docs/redis.md lacks only INFO. Without another
// command the finding names it.
func TestCheckLeastACL(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := server.Client()
	lines := aclLines(t)
	rules := strings.Fields(strings.Join(lines[:], " "))
	with := func(name string, more ...string) []Finding {
		setUser(t, server, "weir-"+name, append(slices.Clone(rules), more...)...)
		return open(t, "redis://weir-"+name+":password@"+server.Addr).Check(t.Context())
	}
	if got := namesOfFindings(with("whole")); !slices.Equal(got, []string{"unknown info"}) {
		t.Errorf("found %v", got)
	}
	var tried int
	for i, n := range check.Needs {
		for _, command := range strings.Fields(n.Commands) {
			want := n.Level + " " + n.Name
			if strings.HasPrefix(command, "eval") {
				want = "fault scripts"
			}
			if !slices.Contains(strings.Fields(lines[i]), "+"+command) {
				t.Errorf("docs/redis.md does not have +%s for %s", command, n.What)
			}
			found := with(command, "-"+command)
			if !slices.ContainsFunc(found, func(f Finding) bool {
				return string(f.Level)+" "+f.Name == want && f.Err != nil && (strings.Contains(f.What, command) || want == "fault scripts")
			}) {
				t.Errorf("without %s found %v, want %s", command, found, want)
			}
			tried++
		}
	}
	if all := strings.Count(strings.Join(lines[:], " "), "+"); tried != all {
		t.Errorf("tried %d commands, docs/redis.md has %d", tried, all)
	}
	for name, test := range map[string]struct {
		rules []string
		want  []string
		text  string
	}{
		"keys":    {[]string{"resetkeys", "~other:*"}, []string{"fault keys", "unknown info"}, "~weir:*"},
		"channel": {[]string{"resetchannels", "&other:*"}, []string{"unknown info", "warning channel"}, "&weir:*"},
	} {
		if name == "channel" && strings.HasPrefix(server.Info("server")["redis_version"], "6.0.") {
			continue
		}
		found := with(name, test.rules...)
		if !slices.Equal(namesOfFindings(found), test.want) || !strings.Contains(findText(found), test.text) {
			t.Errorf("%s: found %v, want %v with %q", name, found, test.want, test.text)
		}
	}
	if n := admin.DBSize(t.Context()).Val(); n > 2 {
		t.Errorf("%d keys are left: %v", n, admin.Keys(t.Context(), "*").Val())
	}
}

func findText(found []Finding) (text string) {
	for _, f := range found {
		text += f.String()
	}
	return text
}

// TestCheckClients finds the options that docs/redis.md warns of.
func TestCheckClients(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": server.Addr}})
	t.Cleanup(func() { _ = ring.Close() })
	retrying := func(o *redis.Options) { Configure(o); o.MaxRetries = 2 }
	for name, test := range map[string]struct {
		client redis.UniversalClient
		text   string
	}{
		"defaults":   {server.Client(), "ContextTimeoutEnabled is false"},
		"retries":    {server.Client(retrying), "MaxRetries is 2"},
		"a ring":     {ring, "DialerRetries is not 1"},
		"configured": {server.Client(Configure), ""},
	} {
		found := newStore(t, test.client).Check(t.Context())
		if test.text == "" && len(found) > 0 {
			t.Errorf("%s: found %v", name, found)
		}
		if test.text != "" && (!slices.Equal(namesOfFindings(found), []string{"warning client"}) || !strings.Contains(found[0].String(), test.text)) {
			t.Errorf("%s: found %v, want %q", name, found, test.text)
		}
	}
}

// TestCheckPool finds a pool that shared round trips fill up.
func TestCheckPool(t *testing.T) {
	t.Parallel()
	addr := redistest.Start(t).Addr
	for name, test := range map[string]struct{ options, remedy string }{
		"three":      {"pool_size=3", "raise pool_size in the URL to 4 or more"},
		"two active": {"max_active_conns=2", "raise pool_size in the URL to 4 or more"},
		"four":       {"pool_size=4", ""},
		"default":    {"", ""},
	} {
		found := open(t, "redis://"+addr+"?"+test.options).Check(t.Context())
		if test.remedy == "" && len(found) > 0 {
			t.Errorf("%s: found %v", name, found)
		}
		if test.remedy != "" && (!slices.Equal(namesOfFindings(found), []string{"warning pool"}) || !strings.Contains(found[0].Remedy, test.remedy)) {
			t.Errorf("%s: found %v, want %q", name, found, test.remedy)
		}
	}
}

// TestCheckEachServer finds a fault of one of several servers, with its address.
func TestCheckEachServer(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t, "--cluster-require-full-coverage", "no")
	shards, addrs := []*redistest.Server{redistest.Start(t), redistest.Start(t), redistest.Start(t)}, map[string]string{}
	for i, shard := range shards {
		addrs[string(rune('a'+i))] = shard.Addr
	}
	o := &redis.RingOptions{Addrs: addrs, HeartbeatFrequency: time.Hour}
	ConfigureRing(o)
	ring := redis.NewRing(o)
	t.Cleanup(func() { _ = ring.Close() })
	for name, test := range map[string]struct {
		client  redis.UniversalClient
		servers []*redistest.Server
	}{
		"a cluster": {cluster.Client(ConfigureCluster), cluster.Nodes},
		"a ring":    {ring, shards},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, test.client)
			if found := s.Check(t.Context()); len(found) > 0 {
				t.Fatalf("found %v", found)
			}
			for _, server := range test.servers {
				if n := server.Client().DBSize(t.Context()).Val(); n > 0 {
					t.Errorf("%d keys are left", n)
				}
			}
			evicting := test.servers[1]
			if err := evicting.Client().ConfigSet(t.Context(), "maxmemory-policy", "allkeys-random").Err(); err != nil {
				t.Fatal(err)
			}
			if found := s.Check(t.Context()); len(found) != 1 || found[0].Name != "eviction" || found[0].Server != evicting.Addr {
				t.Errorf("found %v", found)
			}
			test.servers[2].Kill()
			found := s.Check(t.Context())
			if !slices.ContainsFunc(found, func(f Finding) bool { return f.Name == "away" && f.Server == test.servers[2].Addr }) {
				t.Errorf("found %v, want %s away", found, test.servers[2].Addr)
			}
		})
	}
	t.Run("a single client at a cluster", func(t *testing.T) {
		t.Parallel()
		one := redistest.StartCluster(t).Nodes[0].Client(Configure)
		s := newStore(t, one)
		for range 5 { // Its keys may be served.
			if found := s.Check(t.Context()); len(found) != 1 || found[0].Name != "cluster" || !strings.Contains(found[0].Remedy, "addr") {
				t.Errorf("found %v", found)
			}
		}
	})
}

// TestCheckEndsWithItsContext: a finding has the error of the ended context.
func TestCheckEndsWithItsContext(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newStore(t, server.Client(Configure))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	found := s.Check(ctx)
	if len(found) != 1 || found[0].Name != "away" || !errors.Is(found[0].Err, context.Canceled) {
		t.Errorf("found %v", found)
	}
}

// TestCheckShardGivenUp: a ring sends nothing to a shard that does not answer its PINGs.
func TestCheckShardGivenUp(t *testing.T) {
	t.Parallel()
	there, gone := redistest.Start(t), redistest.Start(t)
	o := &redis.RingOptions{Addrs: map[string]string{"a": there.Addr, "b": gone.Addr}, HeartbeatFrequency: 10 * time.Millisecond}
	ConfigureRing(o)
	ring := redis.NewRing(o)
	t.Cleanup(func() { _ = ring.Close() })
	gone.Kill()
	for len(ring.GetShardClients()) > 1 {
		time.Sleep(time.Millisecond)
	}
	found := newStore(t, ring).Check(t.Context())
	if len(found) != 1 || found[0].Name != "away" || found[0].Server != gone.Addr {
		t.Errorf("found %v, want %s away", found, gone.Addr)
	}
}
