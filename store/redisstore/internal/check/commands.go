package check

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/goweir/weir/internal/rediskey"
	"github.com/redis/go-redis/v9"
)

// Need is the commands that a purpose needs. Name and Level are those of the finding.
type Need struct{ Name, What, Level, Commands string }

// Needs are the commands of docs/redis.md. go-redis sends subscribe on a connection of its
// own.
var Needs = []Need{
	{"commands", "decisions", Fault, "eval evalsha time get set del pttl exists llen"},
	{"windows", "sliding windows", Warning, "pexpire lindex lrange rpush rpop ltrim lset"},
	{"channel", "pauses that reach waiting calls at once", Warning, "publish subscribe ping"},
	{"in-flight", "calls in flight", Warning, "pexpire zadd zcard zrange zrangebyscore zremrangebyscore zscore zrem"},
}

const withoutScripts = "use package plainstore, which needs no scripts"

// commands tries each command by itself, as a script does not name the command it may not
// run.
func (r *report) commands(ctx context.Context, t *target) {
	tried, err := r.try(ctx, t)
	if err != nil {
		r.add(Finding{Name: "commands", Level: Unknown, Server: t.Addr, What: "the commands of decisions can't be tried one by one", Remedy: "allow pipelines", Err: err})
		return
	}
	missing := map[string]error{}
	for name, err := range tried {
		switch {
		case redis.HasErrorPrefix(err, "NOPERM") && strings.Contains(err.Error(), "access"):
			r.pattern(t, name, err)
		case redis.HasErrorPrefix(err, "NOPERM"), redis.HasErrorPrefix(err, "unknown command"):
			missing[name] = err
		default:
			r.known(t.Addr, err)
		}
	}
	if err := errors.Join(missing["eval"], missing["evalsha"]); err != nil {
		r.add(Finding{Name: "scripts", Level: Fault, Server: t.Addr, What: "scripts are denied", Remedy: "allow EVAL and EVALSHA, or " + withoutScripts, Err: err})
	}
	for _, n := range Needs {
		var list []string
		var first error
		for _, name := range strings.Fields(n.Commands) {
			if err := missing[name]; err != nil && !strings.HasPrefix(name, "eval") {
				list = append(list, name)
				first = errors.Join(first, err)
			}
		}
		if list == nil || n.Name == "channel" && r.ring() {
			continue
		}
		r.add(Finding{Name: n.Name, Level: n.Level, Server: t.Addr, What: n.What + " need commands that are denied: " + strings.Join(list, ", "), Remedy: "ACL SETUSER with +" + strings.Join(list, " +"), Err: first})
	}
}

// pattern adds a finding about keys or channels forbidden to the user.
func (r *report) pattern(t *target, command string, err error) {
	prefix := r.Prefix
	if command == "publish" || command == "subscribe" {
		if !r.ring() {
			r.add(Finding{Name: "channel", Level: Warning, Server: t.Addr, What: "pauses reach waiting calls late: the channel " + r.Channel + " is denied", Remedy: "ACL SETUSER with &" + prefix + "*", Err: err})
		}
		return
	}
	r.add(Finding{Name: "keys", Level: Fault, Server: t.Addr, What: "keys that start with " + prefix + " are denied", Remedy: "ACL SETUSER with ~" + prefix + "*, or another Config.Prefix", Err: err})
}

// try sends each command, and returns the server's errors.
func (r *report) try(ctx context.Context, t *target) (map[string]error, error) {
	own := rediskey.State(r.Prefix, scope, t.key)
	text, list, set := own+":text", rediskey.Log(own), rediskey.Held(own)
	const none, ms = "0000000000000000000000000000000000000000", 10_000
	rows := [][]any{
		{"set", text, "1", "px", ms}, {"get", text}, {"pttl", text}, {"exists", text},
		{"evalsha", none, 1, text}, {"eval", "return 1", 1, text},
		{"rpush", list, "1"}, {"pexpire", list, ms}, {"llen", list}, {"lindex", list, 0}, {"lrange", list, 0, 0},
		{"lset", list, 0, "1"}, {"ltrim", list, 0, 0}, {"rpop", list},
		{"zadd", set, 1, "a"}, {"zcard", set}, {"zrange", set, 0, 0}, {"zrangebyscore", set, 1, 1}, {"zscore", set, "a"},
		{"zremrangebyscore", set, 0, 0}, {"zrem", set, "a"},
		{"publish", r.Channel, ""}, {"ping"},
		{"del", text, list, set, own},
	}
	if !r.PassTime {
		rows = append(rows, []any{"time"})
	}
	pipe := t.Client.Pipeline()
	for _, row := range rows {
		pipe.Do(ctx, row...)
	}
	sent, err := pipe.Exec(ctx)
	if err != nil && !is[redis.Error](err) {
		return nil, err
	}
	errs := map[string]error{"subscribe": r.subscribe(ctx, t)}
	for _, cmd := range sent {
		errs[cmd.Name()] = cmd.Err()
	}
	return errs, nil
}

// subscribe returns the server's refusal of a subscription.
func (r *report) subscribe(ctx context.Context, t *target) error {
	if r.ring() {
		return nil
	}
	sub := t.Client.Subscribe(ctx)
	defer func() { _ = sub.Close() }()
	err := sub.Subscribe(ctx, r.Channel)
	if err == nil {
		_, err = sub.ReceiveTimeout(ctx, 2*time.Second)
	}
	answer, _ := errors.AsType[redis.Error](err)
	return answer
}
