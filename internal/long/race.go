//go:build long && race

package long

// Enabled reports whether the build tag long is set.
const Enabled = true

const thinning = 6
