//go:build !long

package long

// Enabled reports whether the build tag long is set.
const Enabled = false

const thinning = 12
