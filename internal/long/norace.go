//go:build long && !race

package long

// Enabled says that the build tag long is set.
const Enabled = true

const thinning = 1
