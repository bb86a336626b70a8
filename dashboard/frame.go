package dashboard

// frame is the page's data at one moment: /state answers it, /events sends it, and /save
// keeps it. Unknown fields are null or absent. Durations are milliseconds from At.
type frame struct {
	At       int64 `json:"at_ms"` // Unix time
	Interval int64 `json:"interval_ms"`
	// Keys says how keys are shown: "plain" or "hashed".
	Keys     string        `json:"keys"`
	Changes  bool          `json:"changes"`
	Process  *processPart  `json:"process"`  // null: the Hook has seen no event
	Redis    *redisPart    `json:"redis"`    // null without Config.Client
	Waiting  []waitingRow  `json:"waiting"`  // those that wait longest first
	Slowed   []slowedRow   `json:"slowed"`   // pauses first
	Busy     []busyRow     `json:"busy"`     // the largest used share first
	Upstream []upstreamRow `json:"upstream"` // the smallest remaining share first
	Fallback []fallbackRow `json:"fallback"`
	Log      []logRow      `json:"log"` // the newest first
	// Points are the seconds since the frame before. In a first frame, and in /state and
	// /save, they are those of fifteen minutes.
	Points points `json:"points"`
}

// processPart are counts of this process since it started.
type processPart struct {
	Name     string       `json:"name"`
	Waiting  int64        `json:"waiting"`
	Limiters []limiterRow `json:"limiters"`
}

type limiterRow struct {
	Limiter     string           `json:"limiter"`
	Admitted    int64            `json:"admitted"`
	Refused     map[string]int64 `json:"refused"` // by reason
	Waiting     int64            `json:"waiting"`
	Degraded    int64            `json:"degraded"`
	StoreErrors int64            `json:"store_errors"`
	// The rates are those of the last ten seconds.
	AdmittedRate float64 `json:"admitted_per_s"`
	RefusedRate  float64 `json:"refused_per_s"`
}

// redisPart is the last reading of Redis.
type redisPart struct {
	// Error is empty while Redis answers.
	Error string `json:"error"`
	// Missing names servers whose keys the last reading could not read.
	Missing string `json:"missing,omitempty"`
	// AwayFor is the time since Redis last answered.
	AwayFor int64 `json:"away_for_ms,omitempty"`
	// Age is the time since the rows were read.
	Age int64 `json:"age_ms"`
	// Latency is the time of one round trip, and Reading that of the whole reading.
	Latency float64 `json:"latency_ms"`
	Reading float64 `json:"reading_ms"`
	Keys    int     `json:"keys"`
	// More reports whether there are more keys than Config.MaxKeys.
	More bool `json:"more"`
	// Unreadable is the number of keys with a foreign state.
	Unreadable   int   `json:"unreadable"`
	WaitingKeys  int   `json:"waiting_keys"`
	WaitingCalls int64 `json:"waiting_calls"`
	PausedKeys   int   `json:"paused_keys"`
	SlowedKeys   int   `json:"slowed_keys"`
	InFlight     int64 `json:"in_flight"`
}

type keyName struct {
	// ID names the key in /change.
	ID      string `json:"id"`
	Limiter string `json:"limiter"`
	// Key is shown: the key or its hash.
	Key string `json:"key"`
}

type waitingRow struct {
	keyName
	// Calls is the number of waiting calls in all processes; -1: some, of unknown number.
	Calls int64 `json:"calls"`
	// First and Last are the times until the first and the last of them leave.
	First int64 `json:"first_ms"`
	Last  int64 `json:"last_ms"`
	// Here is the number of waiting calls in this process, and Oldest the longest wait so
	// far.
	Here   int64 `json:"here"`
	Oldest int64 `json:"oldest_ms"`
}

type slowedRow struct {
	keyName
	// Pause is the time until the pause ends; 0: there is none.
	Pause int64 `json:"pause_ms"`
	// Rate is the part of the key's rate in 64ths, and WholeIn the time until it is whole.
	Rate    int64 `json:"rate"`
	WholeIn int64 `json:"whole_in_ms"`
	// Reason is the cause, if this process knows it.
	Reason string `json:"reason"`
}

type busyRow struct {
	keyName
	Limits   []limitRow `json:"limits"`
	InFlight int64      `json:"in_flight"`
	// Calls and Refused are approximate counts of this process in the last minute.
	Calls   int64 `json:"calls"`
	Refused int64 `json:"refused"`
}

type limitRow struct {
	Limit     string `json:"limit"`
	Max       int64  `json:"max"`
	Used      int64  `json:"used"`
	Remaining int64  `json:"remaining"`
	Reset     int64  `json:"reset_ms"`
}

// upstreamRow is a budget in responses of an upstream.
type upstreamRow struct {
	Limiter   string `json:"limiter"`
	Budget    string `json:"budget"`
	Limit     *int64 `json:"limit"`
	Remaining *int64 `json:"remaining"`
	// Age is the time since the response.
	Age int64 `json:"age_ms"`
}

type fallbackRow struct {
	Name  string `json:"name"`
	State string `json:"state"`
	// For is the duration of the state.
	For int64 `json:"for_ms"`
}

// logRow is a rare event.
type logRow struct {
	At int64 `json:"at_ms"` // Unix time
	// Level is "info", "warning" or "fault".
	Level string `json:"level"`
	Text  string `json:"text"`
}

// points are values per second, by column. A column without values is absent.
type points struct {
	Time     []int64    `json:"time"`               // Unix seconds
	Admitted []*float64 `json:"admitted,omitempty"` // per second
	Refused  []*float64 `json:"refused,omitempty"`
	Waiting  []*float64 `json:"waiting,omitempty"`       // in this process
	Fleet    []*float64 `json:"fleet_waiting,omitempty"` // in Redis
	Paused   []*float64 `json:"paused,omitempty"`        // keys
	P50      []*float64 `json:"store_p50_ms,omitempty"`
	P99      []*float64 `json:"store_p99_ms,omitempty"`
	Latency  []*float64 `json:"redis_ms,omitempty"` // a round trip of the page
}
