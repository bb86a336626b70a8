package weir

import (
	"context"
	"time"

	"github.com/goweir/weir/internal/line"
	"github.com/goweir/weir/store"
)

// InBackground returns a context whose calls are of the background class: they get the
// units that other calls leave. A background call takes units that are free now, and
// only while no call waits for slots. It never books ahead, so no later call of the other
// class waits behind it. It leaves a share to the others: see Config.Reserve.
//
// Waiting background calls of one process form a line in the order of their arrival.
// The first in line asks the store again when there may be room. It fails with a
// *[LimitedError] as soon as it is clear that MaxWait or its deadline comes before it
// would ask again. The calls behind it wait until then: after MaxWait they fail with a
// *[LimitedError], at the deadline with the context's error.
func InBackground(ctx context.Context) context.Context {
	return line.WithBackground(ctx)
}

func inBackground(ctx context.Context) bool { return line.InBackground(ctx) }

// reserve returns how many units of a limit a background call leaves to others: the
// share rounded up, and at most all but one, so that it can be used at all. 0
// percent is the default.
func reserve(percent int, l *store.Limit) int64 {
	if percent == 0 {
		if l.Algorithm != store.GCRA {
			return 0
		}
		percent = 10
	}
	max := l.Max()
	return min((max*int64(percent)+99)/100, max-1)
}

// backgroundDelay is how long a background call waits after units are free again.
// Those of a window are free all at once, and calls that waited for the first of
// them may want the rest.
func backgroundDelay(l *store.Limit) time.Duration {
	if l.Algorithm == store.GCRA {
		return 0
	}
	return min(5*time.Millisecond, l.Period/100)
}
