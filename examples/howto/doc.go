// Package howto has one file for each page of docs/howto: set-ups that many teams
// built by hand. Its tests check the numbers that the pages promise.
package howto
