package redisstore

import "strings"

// Level says how much a [Finding] matters.
type Level string

const (
	// Fault means that decisions fail.
	Fault Level = "fault"
	// Warning means that decisions work, with a defect: limits may be exceeded, calls may
	// take long, or an ability is missing.
	Warning Level = "warning"
	// Unknown means that the server does not answer this question.
	Unknown Level = "unknown"
)

// Finding is one result of [Store.Check].
type Finding struct {
	// Name is the kind of finding, as "eviction". docs/redis.md lists all.
	Name  string
	Level Level
	// Server is the address of the server. Empty: the finding is about the client.
	Server string
	// What names the fault, and Remedy the repair, for people.
	What, Remedy string
	// Err is the error of the client or the server; nil: none.
	Err error
}

// String returns the finding in one line.
func (f Finding) String() string {
	var b strings.Builder
	b.WriteString(string(f.Level) + ": " + f.Name)
	if f.Server != "" {
		b.WriteString(" at " + f.Server)
	}
	b.WriteString(": " + f.What)
	if f.Err != nil {
		b.WriteString(" (" + strings.ReplaceAll(f.Err.Error(), "\n", "; ") + ")")
	}
	return b.String() + ". Remedy: " + f.Remedy
}
