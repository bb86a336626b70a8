package check

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"
)

const (
	replicaRemedy = "use the address of the master, or Sentinel (master_name in the URL)"
	clusterRemedy = "use a cluster client: name the address once more as addr in the URL"
	userRemedy    = "correct user and password in the URL. With Sentinel those of the master are parameters"
)

// answers are errors of a server, by their beginning. last: the other checks would meet the
// same error.
var answers = []struct {
	prefix       string
	name         string
	last         bool
	what, remedy string
}{
	{"WRONGPASS", "password", true, "the password or the user is wrong", userRemedy},
	{"NOAUTH", "password", true, "the server wants a password", userRemedy},
	{"Protocol error: unauthenticated", "password", true, "the server wants a password", userRemedy},
	{"invalid password", "password", true, "the password is wrong", userRemedy},
	{"AUTH ", "password", true, "the server has no password for this user", userRemedy},
	{"DENIED", "protected", true, "the server answers its own machine only", "set a password on the server, or protected-mode no"},
	{"max number of clients", "clients", true, "the server has no room for another connection", "raise its maxclients, or lower the pool sizes of its clients"},
	{"LOADING", "loading", true, "the server still loads its data", "wait until it has"},
	{"DB index is out of range", "database", true, "the server has no database of that number", "correct the database in the URL"},
	{"NOPERM this user has no permissions to run the 'select'", "database", true, "the user may not choose a database", "ACL SETUSER with +select, or leave the database out of the URL"},
	{"unknown command 'sentinel'", "sentinel", true, "the server is no Sentinel", "use the port of Sentinel, or leave master_name out of the URL"},
	{"CLUSTERDOWN", "cluster", true, "the cluster is down", "start its masters: each slot needs one"},
	{"This instance has cluster support disabled", "cluster", true, "the client is for a cluster, and the server is none", "leave addr out of the URL, or make a redis.Client"},
	{"MOVED", "cluster", true, "the server is in cluster mode, and the client is not", clusterRemedy},
	{"READONLY", "replica", false, "the server is a read-only replica", replicaRemedy},
	{"MASTERDOWN", "replica", false, "the server is a replica without its master", replicaRemedy},
	{"OOM", "memory", false, "the server has reached maxmemory", "give it more memory, or delete other keys. Keys of weir expire by themselves"},
	{"MISCONF", "disk", false, "the server refuses writes, as it can't save its data", "see the server's log, or set stop-writes-on-bgsave-error no"},
	{"NOREPLICAS", "replicas", false, "the server refuses writes, as it has too few replicas", "start the replicas, or lower min-replicas-to-write"},
	{"BUSY", "busy", true, "the server runs a script for too long", "find that script in the server's log"},
}

// known adds a finding for an error of the table, and reports whether it was the last.
func (r *report) known(server string, err error) (last bool) {
	for _, a := range answers {
		if redis.HasErrorPrefix(err, a.prefix) {
			r.add(Finding{Name: a.name, Level: Fault, Server: server, What: a.what, Remedy: a.remedy, Err: err})
			return a.last
		}
	}
	return false
}

// failed adds a finding for an error of a decision, and reports whether the check of the
// server ends with it. Encrypted says that the client speaks TLS.
func (r *report) failed(server string, encrypted bool, err error) (last bool) {
	add := func(name, what, remedy string) bool {
		r.add(Finding{Name: name, Level: Fault, Server: server, What: what, Remedy: remedy, Err: err})
		return true
	}
	switch {
	case errors.Is(err, r.ErrClosed), errors.Is(err, redis.ErrClosed):
		return add("closed", "the store or its client is closed", "check before Close")
	case errors.Is(err, r.ErrTime):
		add("time", "the server refuses TIME in scripts", "allow TIME, or set Config.PassTime and keep the clocks of all processes together")
		return false
	case errors.Is(err, redis.Nil):
		return add("away", "Sentinel has no master of that name", "correct master_name in the URL")
	case is[redis.Error](err):
		return r.known(server, err)
	case is[*net.DNSError](err):
		return add("away", "the host has no address", "correct the host, or its name in the DNS")
	case is[tls.RecordHeaderError](err):
		return add("tls", "the client speaks TLS, and the server does not", "use redis:// in place of rediss://, or the server's port for TLS")
	case is[*tls.CertificateVerificationError](err):
		return add("tls", "the certificate of the server is not trusted", "correct the host, or make a client with the right tls.Config and use New")
	case encrypted && (hungUp(err) || timedOut(err)):
		return add("away", "the server does not answer", "start it, and see address and firewall. If the port is not for TLS, use redis:// in place of rediss://")
	case hungUp(err):
		return add("away", "the server takes connections and does not answer", "see the server's log, and its maxclients. If the port is for TLS, use rediss:// in place of redis://")
	}
	return add("away", "the server does not answer", "start it, and see address and firewall")
}

// hungUp reports whether a peer accepted a connection, and closed it or spoke another
// protocol.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) ||
		strings.Contains(err.Error(), "can't parse") || strings.Contains(err.Error(), "invalid reply")
}

// timedOut covers context.DeadlineExceeded, which is a net.Error.
func timedOut(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

func is[E error](err error) bool { _, ok := errors.AsType[E](err); return ok }
