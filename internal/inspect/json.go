package inspect

import (
	"encoding/json"
	"time"
)

// MarshalJSON writes the key for programs. Durations are seconds, parts that are absent
// are left out.
func (k Key) MarshalJSON() ([]byte, error) {
	type limit struct {
		Limit      string  `json:"limit"`
		Algorithm  string  `json:"algorithm"`
		Rate       int64   `json:"rate"`
		Period     float64 `json:"period_s"`
		Max        int64   `json:"max"`
		Used       int64   `json:"used"`
		Remaining  int64   `json:"remaining"`
		ResetAfter float64 `json:"reset_after_s"`
		LeftFor    float64 `json:"left_out_for_s,omitempty"`
	}
	type ahead struct {
		Calls int64   `json:"calls"` // -1: unknown
		First float64 `json:"first_s"`
		Last  float64 `json:"last_s"`
	}
	type brake struct {
		Pause float64 `json:"pause_s,omitempty"`
		Rate  int64   `json:"rate_64ths"`
		For   float64 `json:"rate_for_s,omitempty"`
	}
	type next struct {
		Allowed    bool    `json:"allowed"`
		RetryAfter float64 `json:"retry_after_s,omitempty"`
		Reason     string  `json:"reason,omitempty"`
	}
	out := struct {
		Key       string    `json:"key"`
		Limiter   string    `json:"limiter"`
		Stored    string    `json:"stored"`
		Server    string    `json:"server"`
		At        time.Time `json:"at"`
		Error     string    `json:"error,omitempty"`
		Missing   bool      `json:"missing,omitempty"`
		Limits    []limit   `json:"limits"`
		Partial   bool      `json:"partial,omitempty"`
		Ahead     *ahead    `json:"ahead,omitempty"`
		Brake     *brake    `json:"brake,omitempty"`
		InFlight  int64     `json:"in_flight,omitempty"`
		LeaseEnds float64   `json:"lease_ends_s,omitempty"`
		Next      *next     `json:"next,omitempty"`
		TTL       float64   `json:"ttl_s,omitempty"`
		NoTTL     bool      `json:"no_ttl,omitempty"`
		Behind    float64   `json:"server_clock_behind_s,omitempty"`
		Reset     bool      `json:"reset,omitempty"`
		Restored  bool      `json:"restored,omitempty"`
	}{
		Key: k.Text(), Limiter: k.Limiter, Stored: k.Stored, Server: k.Server, At: k.At.UTC(), Missing: k.Missing, Limits: []limit{}, Partial: k.Partial,
		InFlight: k.InFlight, LeaseEnds: k.LeaseEnds.Seconds(), TTL: k.TTL.Seconds(), NoTTL: k.NoTTL, Behind: k.Behind.Seconds(),
		Reset: k.Reset, Restored: k.Restored,
	}
	for i := range k.Limits {
		l := &k.Limits[i]
		out.Limits = append(out.Limits, limit{
			Describe(&l.Limit), l.Algorithm.String(), l.Rate, l.Period.Seconds(), l.Max(), l.Used, l.Remaining, l.ResetAfter.Seconds(), l.LeftFor.Seconds(),
		})
	}
	if a := k.Ahead; a.Calls != 0 {
		out.Ahead = &ahead{a.Calls, a.First.Seconds(), a.Last.Seconds()}
	}
	if b := k.Brake; b.Pause > 0 || b.Slow() {
		out.Brake = &brake{b.Pause.Seconds(), b.Rate, b.For.Seconds()}
	}
	if k.Err != nil {
		out.Error = k.Err.Error()
	} else {
		out.Next = &next{k.Next.Allowed, k.Next.RetryAfter.Seconds(), k.Next.Reason}
	}
	return json.Marshal(out)
}
