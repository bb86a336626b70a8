package measure

import (
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goweir/weir/internal/redistest"
)

// cost is the use of servers since their start.
type cost struct {
	commands  float64 // run, also within scripts
	scripts   float64 // run
	inScripts float64 // µs in scripts, by the server's own count
	cpu       float64 // µs of the processes
	in, out   float64 // bytes on the wire
}

func (c cost) minus(before cost) cost {
	return cost{
		c.commands - before.commands, c.scripts - before.scripts, c.inScripts - before.inScripts,
		c.cpu - before.cpu, c.in - before.in, c.out - before.out,
	}
}

// costOf reads the counters of servers. It does not count its own INFO of three sections
// per server.
func costOf(servers []*redistest.Server) cost {
	var c cost
	for _, server := range servers {
		c.add(server.Info("stats"), server.Info("cpu"), server.Info("commandstats"))
	}
	return c
}

func (c *cost) add(stats, cpu, commands map[string]string) {
	c.in += number(stats["total_net_input_bytes"])
	c.out += number(stats["total_net_output_bytes"])
	c.cpu += 1e6 * (number(cpu["used_cpu_user"]) + number(cpu["used_cpu_sys"]))
	for field, value := range commands {
		name, ok := strings.CutPrefix(field, "cmdstat_")
		if !ok || name == "info" {
			continue
		}
		calls, usec := commandStat(value)
		c.commands += calls
		switch name {
		case "eval", "evalsha", "fcall":
			c.scripts += calls
			c.inScripts += usec
		}
	}
}

// commandStat reads a line of INFO commandstats: calls=2,usec=17,….
func commandStat(line string) (calls, usec float64) {
	for field := range strings.SplitSeq(line, ",") {
		switch name, value, _ := strings.Cut(field, "="); name {
		case "calls":
			calls = number(value)
		case "usec":
			usec = number(value)
		}
	}
	return
}

// number reads a number, or returns 0.
func number(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64)
	return n
}

// flush empties a server.
func flush(s *scope, server *redistest.Server) {
	// A million keys take a while.
	client := redis.NewClient(&redis.Options{Addr: server.Addr, ReadTimeout: time.Minute, MaxRetries: -1})
	defer client.Close()
	if err := client.FlushAll(bg).Err(); err != nil {
		s.Fatal(err)
	}
}
