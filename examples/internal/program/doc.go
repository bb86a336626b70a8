// Package program builds and runs an example as a user does, for its tests.
package program
