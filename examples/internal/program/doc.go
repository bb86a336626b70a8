// Package program builds and runs an example like a user, for its tests.
package program
