// Package migration has the limits of other libraries, and the same limits with weir:
// a file for each library, with a function before and one after. docs/migration.md
// shows them.
//
// The tests run both beside each other on one clock, and compare each admission.
// Where the two differ, a test measures the difference that the page names.
package migration
