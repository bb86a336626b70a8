package main

import (
	"testing"

	"github.com/goweir/weir/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// The order within a second is not fixed.
func Example() {
	main()
	// Unordered output:
	// 0s: a report is made
	// 0s: too long a wait, retry after 3s
	// 0s: too long a wait, retry after 3s
	// 1s: a report is made
	// 2s: a report is made
}
