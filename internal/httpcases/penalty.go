package httpcases

import (
	"time"

	"github.com/goweir/weir/middleware"
)

var penaltyCases = []testCase{
	{
		name: "the third refusal blocks the key, and no other key",
		more: penalty(3, 5*time.Minute),
		steps: []step{
			{request: ann, want: first},
			{request: ann, want: second},
			{request: ann, want: third},
			{request: ann, want: third},
			{request: ann, want: abnormal("300", twoPerMinute("0", "300"))},
			{request: bob, want: first},
			{after: time.Minute, request: ann, want: abnormal("240", twoPerMinute("0", "240"))},
			{request: ann, want: abnormal("240", twoPerMinute("0", "240"))},
			{request: ann, want: abnormal("240", twoPerMinute("0", "240"))},
			{after: 4 * time.Minute, request: ann, want: first},
		},
	},
	{
		name: "refusals far apart block no key",
		more: penalty(2, 5*time.Minute),
		steps: []step{
			{request: ann, want: first},
			{request: ann, want: second},
			{request: ann, want: third},
			{after: time.Minute, request: ann, want: first},
			{request: ann, want: second},
			{request: ann, want: third},
		},
	},
	{
		name:   "a plan's limits are blocked as well",
		config: byPlan,
		more:   penalty(1, 2*time.Minute),
		steps: []step{
			{request: on("free", "ann"), want: served(draft11(freePolicy, `"free";r=0;t=60`))},
			{request: on("free", "ann"), want: abnormal("120", draft11(freePolicy, `"free";r=0;t=120`))},
			{after: time.Minute, request: on("free", "ann"), want: abnormal("60", draft11(freePolicy, `"free";r=0;t=60`))},
			{after: time.Minute, request: on("free", "ann"), want: served(draft11(freePolicy, `"free";r=0;t=60`))},
		},
	},
	{
		name:   "shadow blocks no key, however often it would have refused",
		config: func(cfg *middleware.Config) { cfg.Shadow = true },
		more:   penalty(1, 2*time.Minute),
		steps:  []step{{request: ann, want: unlimited}, {request: ann, want: unlimited}, {request: ann, want: unlimited}, {request: ann, want: unlimited}},
	},
}
