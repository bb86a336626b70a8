package exact

import (
	"strconv"
	"time"

	"github.com/goweir/weir/store"
)

// Bounds of debt, within which the arithmetic of every store stays exact.
const (
	// MostDebt is how far beyond an empty bucket settled costs may take it, in
	// microseconds: as far as anybody may wait.
	MostDebt = int64(store.MaxPeriod / 4 / time.Microsecond)
	// MostUnits is the most units that settled costs may make of a window.
	MostUnits = 2 * store.MaxUnits
)

// Settled checks the costs that store.Settler is given for a booking of so many
// charges. It returns each charge's cost.
func Settled(charges int, costs []int64) (cost func(charge int) int64, err error) {
	if len(costs) != 1 && len(costs) != charges {
		return nil, &store.ConfigError{
			Field: "costs", Want: "one, or one for each of " + strconv.Itoa(charges) + " charges", Got: strconv.Itoa(len(costs)),
		}
	}
	for _, c := range costs {
		if c < 0 || c > store.MaxUnits {
			return nil, &store.ConfigError{Field: "costs", Want: "0 to 2^50", Got: strconv.FormatInt(c, 10)}
		}
	}
	if len(costs) == 1 {
		return func(int) int64 { return costs[0] }, nil
	}
	return func(charge int) int64 { return costs[charge] }, nil
}
