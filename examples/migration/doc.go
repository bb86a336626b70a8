// Package migration shows limits of other libraries, and the same limits with weir: each
// library has a file with a function before and one after. docs/migration.md shows them.
//
// The tests run both at the same time, and compare each admission. Where the two differ,
// a test measures the difference that the page names.
package migration
