//go:build !long

package long

// Enabled says that the build tag long is set.
const Enabled = false

const thinning = 12
