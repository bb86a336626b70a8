package dashboard

import (
	"flag"
	"math"
)

var write = flag.String("write", "", "a folder to write pictures of sample pages to")

// samples are pages at different moments.
func samples() map[string]*frame {
	return map[string]*frame{"full": sampleFrame(), "empty": emptyFrame(), "away": awayFrame(), "part": partFrame(), "redis": redisFrame()}
}

func number[T any](n T) *T { return &n }

// sampleFrame is a busy moment.
func sampleFrame() *frame {
	name := func(limiter, key string) keyName { return namer{}.name(limiter, key) }
	row := func(limiter, key, limit string, max, used, reset, calls, refused int64) busyRow {
		return busyRow{name(limiter, key), []limitRow{{limit, max, used, max - used, reset}}, 0, calls, refused}
	}
	f := &frame{
		At: 1_795_690_800_000, Interval: 1000, Keys: "hashed", Changes: true,
		Process: &processPart{
			Name: "worker-7f9c, process 1", Waiting: 9,
			Limiters: []limiterRow{
				{"github api", 81_204, map[string]int64{"paused": 120, "limited": 31}, 9, 0, 0, 13.9, 0.4},
				{"login", 9_310, map[string]int64{"limited": 1_502}, 0, 3, 1, 4.2, 1.1},
				{"public api", 1_203_877, map[string]int64{"limited": 20_114, "never_fits": 2}, 0, 41, 0, 212.6, 6.3},
			},
		},
		Redis: &redisPart{
			Latency: .32, Reading: 6.1, Keys: 1284, WaitingKeys: 2, WaitingCalls: 31, PausedKeys: 1, SlowedKeys: 1, InFlight: 6,
		},
		Waiting: []waitingRow{
			{name("github api", "token:2"), 24, 61_400, 84_400, 7, 2_900},
			{name("search", "tenant:acme"), 7, 120, 3_100, 2, 410},
		},
		Slowed: []slowedRow{
			{name("github api", "token:2"), 61_400, 64, 0, "an upstream asked"},
			{name("search", "tenant:acme"), 0, 24, 41_000, "an upstream refused"},
		},
		Busy: []busyRow{
			row("github api", "token:2", "25/5s gcra", 25, 25, 84_400, 300, 18),
			row("public api", "key:81", "1000/1m sliding_window", 1000, 940, 58_100, 4100, 402),
			row("search", "tenant:acme", "10/1s gcra", 10, 8, 800, 402, 0),
			row("public api", "key:7", "100/1m sliding_window", 100, 61, 42_000, 61, 0),
			row("login", "ip:2001:db8::/64", "5/1m gcra", 5, 2, 24_000, 3, 0),
		},
		Upstream: []upstreamRow{
			{"github api", "core", number[int64](5000), number[int64](212), 1_400},
			{"search", "", number[int64](30), number[int64](22), 80},
			{"payments", "writes", nil, number[int64](71), 12_000},
		},
		Fallback: []fallbackRow{{"redis", "closed", 1_203_000}},
		Log: []logRow{
			{1_795_690_791_000, levelWarning, "github api 4ea17e7530: the upstream refused with 429 and asked for 1m10s"},
			{1_795_689_597_000, levelInfo, "redis: the store is back after 4.2s"},
			{1_795_689_592_000, levelFault, "redis: the store went away after 23h12m4s: dial tcp 10.0.0.4:6379: connect: connection refused"},
		},
	}
	f.Busy[2].InFlight = 6
	sampleFrameRows(f)
	return f
}

// sampleFrameRows fills in ten minutes of points.
func sampleFrameRows(f *frame) {
	p := &f.Points
	for i := range 600 {
		x := float64(i)
		p.Time = append(p.Time, f.At/1000-600+int64(i))
		noise := math.Sin(x/7)*9 + math.Sin(x/17)*14
		admitted := 230 + 60*math.Sin(x/90) + noise
		refused := math.Max(0, 12*math.Sin(x/40)+noise/4)
		queue := 0.
		if i > 540 {
			admitted *= .72
			queue = float64(i-540) * .52
		}
		p.Admitted = append(p.Admitted, number(math.Round(admitted)))
		p.Refused = append(p.Refused, number(math.Round(refused)))
		p.Waiting = append(p.Waiting, number(math.Floor(queue/3)))
		p.Fleet = append(p.Fleet, number(math.Floor(queue)))
		p.Paused = append(p.Paused, number(0.))
		p.P50 = append(p.P50, number(.4+.05*math.Sin(x/40)))
		p.P99 = append(p.P99, number(1.8+.5*math.Sin(x/31)*math.Sin(x/11)))
		p.Latency = append(p.Latency, number(.3+.04*math.Sin(x/60)))
	}
}

// emptyFrame is a page without a Client, before the first event.
func emptyFrame() *frame {
	return &frame{
		At: 1_795_690_800_000, Interval: 1000, Keys: "hashed", Waiting: []waitingRow{}, Slowed: []slowedRow{}, Busy: []busyRow{},
		Upstream: []upstreamRow{}, Fallback: []fallbackRow{}, Log: []logRow{}, Points: points{Time: []int64{}},
	}
}

// awayFrame is an outage.
func awayFrame() *frame {
	f := sampleFrame()
	f.Redis.Error, f.Redis.AwayFor, f.Redis.Age = "dial tcp 10.0.0.4:6379: connect: connection refused", 12_300, 12_900
	f.Fallback[0] = fallbackRow{"redis", "open", 11_900}
	return f
}

// partFrame is an outage of one server of a cluster.
func partFrame() *frame {
	f := sampleFrame()
	f.Redis.Missing = "keys of 10.0.0.4:6379 are missing: dial tcp 10.0.0.4:6379: connect: connection refused"
	return f
}

// redisFrame is a page of a program that only reads Redis.
func redisFrame() *frame {
	f := sampleFrame()
	f.Process, f.Upstream, f.Fallback, f.Log = nil, []upstreamRow{}, []fallbackRow{}, []logRow{}
	p := &f.Points
	p.Admitted, p.Refused, p.Waiting, p.P50, p.P99 = nil, nil, nil, nil, nil
	for i := range f.Waiting {
		f.Waiting[i].Here = 0
	}
	for i := range f.Busy {
		f.Busy[i].Calls, f.Busy[i].Refused = 0, 0
	}
	for i := range f.Slowed {
		f.Slowed[i].Reason = ""
	}
	return f
}
