package redisstore

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goweir/weir/internal/redistest"
	"github.com/goweir/weir/store"
)

// states is a fixture of states of version 1. A release that writes another version still
// reads these. WEIR_UPDATE=1 in the environment makes TestStatesAreWritten write the file
// anew. Use that only for new cases: published releases read and write the others.
const states = "testdata/states/v1.json"

// fixture is a stored state and its meaning.
type fixture struct {
	Name  string   `json:"name"`
	Value string   `json:"value"`
	Log   []string `json:"log,omitempty"`
	At    int64    `json:"at_us"` // of the look
	Says  says     `json:"says"`
}

// says is the result of a look, and the delay of a call for one unit then.
type says struct {
	Remaining  []int64 `json:"remaining"`
	ResetAfter []int64 `json:"reset_after_us"`
	Delay      int64   `json:"delay_us"`
	Paused     bool    `json:"paused,omitempty"`
	Gap        int64   `json:"gap_us,omitempty"`
}

// earlier are values of earlier scripts. The first ones rounded the last slot of the queue down. A
// later one kept a bucket that calls left out for a shorter time, and noted no cost of bookings ahead
// in windows. Each has the meaning of the case of its name.
var earlier = map[string]string{
	"gcra booked ahead":                              "1g7/60s=102857142.6|946684800000000|q42857142.8571429.2.8.6.946684805000000,6.6.42857143.42857143.5.5.25714286.42857143.4.4.8571429.42857143.3.3.2000000.32285715.2.2.1000000.16142858.1.1.0.0.0",
	"gcra paused":                                    "1g7/60s=68571428.4|946684800000000|q8571428.8571429.2.8.4.946684803000000,4.4.8571429.42857143.3.3.2000000.32285715.2.2.1000000.16142858.1.1.0.0.0|c946684804000000.946684804000000.946685104000000.946684808571429.8571428.0.0.0.0.0.0",
	"gcra that took the place of another":            "1g4/3600s=3600000000~946686600000000;g7/60s=52428571.3|946684800000000|q0.0.0.8.2.946684801000000,2.2.1000000.1799000001.0.1.0.0.0,1.2.0.0.0",
	"sliding_window that took the place of another":  "1g4/3600s=3600000000~946686600000000;w7/60s=946684800999936.0|946684800000000|q0.0.0.8.2.946684801000000,2.2.1000000.1799000001.0.1.0.0.0|l946684800999936.946684800999938.1000000.6.0.0.0",
	"sliding_counter that took the place of another": "1g4/3600s=3600000000~946686600000000;c7/60s=946684800000000.6.0.2.2|946684800000000|q0.0.0.8.2.946684801000000,2.2.1000000.1799000001.0.1.0.0.0",
	"fixed_window that took the place of another":    "1g4/3600s=3600000000~946686600000000;f7/60s=946684801000000.6.2|946684800000000|q0.0.0.8.2.946684801000000,2.2.1000000.1799000001.0.1.0.0.0",
	"aligned_window that took the place of another":  "1g4/3600s=3600000000~946686600000000;a7/60s=946684800000000.6.2|946684800000000|q0.0.0.8.2.946684801000000,2.2.1000000.1799000001.0.1.0.0.0",
	"sliding_counter paused":                         "1c7/60s=946685100000000.2.6.4.1|946684800000000|q70000000.70000000.0.8.5.946684803000000|c946684804000000.946684804000000.946685104000000.946684870000000.8571428.0.0.0.0.0.0",
	"sliding_counter slowed down":                    "1c7/60s=946684800000000.4.0.1.1|946684800000000|q17142856.17142856.0.8.2.946684801000000|c946684800000000.946684800000000.0.0.8571428.20000000.946688400000000.32.946684800000000.56250000.946684834285712",
	"fixed_window booked ahead":                      "1f7/60s=946684860000000.6.4|946684800000000|q60000000.60000000.0.8.6.946684805000000",
	"fixed_window paused":                            "1f7/60s=946685104000000.2.4|946684800000000|q60000000.60000000.0.8.5.946684803000000|c946684804000000.946684804000000.946685104000000.946684860000000.8571428.0.0.0.0.0.0",
	"fixed_window slowed down":                       "1f7/60s=946684800000000.4.1|946684800000000|q17142856.17142856.0.8.2.946684801000000|c946684800000000.946684800000000.0.0.8571428.20000000.946688400000000.32.946684800000000.56250000.946684834285712",
	"aligned_window booked ahead":                    "1a7/60s=946684860000000.6.4|946684800000000|q60000000.60000000.0.8.6.946684805000000",
	"aligned_window paused":                          "1a7/60s=946685100000000.2.4|946684800000000|q60000000.60000000.0.8.5.946684803000000|c946684804000000.946684804000000.946685104000000.946684860000000.8571428.0.0.0.0.0.0",
	"aligned_window slowed down":                     "1a7/60s=946684800000000.4.1|946684800000000|q17142856.17142856.0.8.2.946684801000000|c946684800000000.946684800000000.0.0.8571428.20000000.946688400000000.32.946684800000000.56250000.946684834285712",
}

// stateCase makes a state by calls on an empty key.
type stateCase struct {
	name   string
	limits []store.Limit
	make   func(t *testing.T, s *Store, sleep func(time.Duration), limits []store.Limit)
}

func stateCases() (cases []stateCase) {
	book := func(waits ...time.Duration) func(*testing.T, *Store, func(time.Duration), []store.Limit) {
		return func(t *testing.T, s *Store, sleep func(time.Duration), limits []store.Limit) {
			for _, wait := range waits {
				reserve(t, s, "key", 2, wait, limits...)
				sleep(time.Second)
			}
		}
	}
	for _, l := range every(7, time.Minute) {
		name := l.Algorithm.String()
		one := []store.Limit{l}
		cases = append(cases,
			stateCase{name, one, func(t *testing.T, s *Store, sleep func(time.Duration), limits []store.Limit) {
				for range 3 {
					take(t, s, charge("key", 1, limits...))
					sleep(10*time.Second + time.Microsecond)
				}
			}},
			stateCase{name + " that can be given back", one, book(0, 0)},
			stateCase{name + " booked ahead", one, book(0, 0, time.Hour, time.Hour, time.Hour, time.Hour)},
			stateCase{name + " paused", one, func(t *testing.T, s *Store, sleep func(time.Duration), limits []store.Limit) {
				book(0, 0, time.Hour, time.Hour)(t, s, sleep, limits)
				brakeKey(t, s, limits, store.Brake{Pause: 5 * time.Minute})
			}},
			stateCase{name + " slowed down", one, func(t *testing.T, s *Store, sleep func(time.Duration), limits []store.Limit) {
				brakeKey(t, s, limits, store.Brake{
					Cut: store.Cut{Unit: time.Second, Recovery: time.Hour}, Tell: true, Gap: 20 * time.Second, GapFor: time.Hour,
				})
				book(time.Hour, time.Hour)(t, s, sleep, limits)
			}},
			stateCase{name + " that took the place of another", one, func(t *testing.T, s *Store, sleep func(time.Duration), limits []store.Limit) {
				book(0)(t, s, sleep, []store.Limit{store.Per(4, time.Hour)})
				book(0)(t, s, sleep, limits)
			}},
			stateCase{name + " restored", one, func(t *testing.T, s *Store, sleep func(time.Duration), limits []store.Limit) {
				restoreKey(t, s, sleep, limits)
				take(t, s, charge("key", 1, limits...))
			}},
			stateCase{name + " restored, and reset", one, func(t *testing.T, s *Store, sleep func(time.Duration), limits []store.Limit) {
				restoreKey(t, s, sleep, limits)
				if err := s.Reset(t.Context(), "", "key"); err != nil {
					t.Fatal(err)
				}
				take(t, s, charge("key", 1, limits...))
			}},
			stateCase{name + " with debt", one, func(t *testing.T, s *Store, _ func(time.Duration), limits []store.Limit) {
				settleAt(t, s, reserve(t, s, "key", 2, 0, limits...), 20)
			}},
		)
	}
	return append(cases,
		stateCase{"mixed limits restored", every(7, time.Minute), func(t *testing.T, s *Store, sleep func(time.Duration), limits []store.Limit) {
			restoreKey(t, s, sleep, limits)
			book(0, time.Hour)(t, s, sleep, limits)
		}},
		stateCase{"mixed limits", every(7, time.Minute), book(0, 0, time.Hour)},
		stateCase{"a burst, large rates", []store.Limit{store.Per(7_000_003, time.Second).WithBurst(11), store.Per(1<<50, store.MaxPeriod)}, book(0, 0, time.Hour)},
		stateCase{"two sliding windows", []store.Limit{store.Per(7, time.Minute).By(store.SlidingWindow), store.Per(9, time.Hour).By(store.SlidingWindow)}, book(0, 0, time.Hour)},
		stateCase{"a log of two blocks", []store.Limit{store.Per(1000, time.Hour).By(store.SlidingWindow)}, func(t *testing.T, s *Store, sleep func(time.Duration), limits []store.Limit) {
			for range 260 {
				take(t, s, charge("key", 3, limits...))
				sleep(time.Second)
			}
		}},
		stateCase{"credit", []store.Limit{store.Per(7, time.Minute)}, func(t *testing.T, s *Store, sleep func(time.Duration), limits []store.Limit) {
			var all []store.Decision
			for range 12 {
				all = append(all, reserve(t, s, "key", 1, time.Hour, limits...))
				sleep(3 * time.Second)
			}
			settleAt(t, s, all[4], 0)
		}},
	)
}

func brakeKey(t *testing.T, s *Store, limits []store.Limit, b store.Brake) {
	t.Helper()
	if err := s.Brake(t.Context(), charge("key", 0, limits...).Charges, b); err != nil {
		t.Fatal(err)
	}
}

// restoreKey restores the memory of another key.
func restoreKey(t *testing.T, s *Store, sleep func(time.Duration), limits []store.Limit) {
	t.Helper()
	req := charge("known", 3, limits...)
	req.Seen = make([]store.Seen, len(limits))
	take(t, s, req)
	sleep(time.Second)
	m := store.Memory{Key: "key", Limits: limits, At: req.Seen[0].At, Last: req.Seen[0].At + 3_000_000}
	for _, seen := range req.Seen {
		m.Known = append(m.Known, seen.Used)
	}
	if lost, err := s.Restore(t.Context(), m); err != nil || !lost {
		t.Fatal(lost, err)
	}
}

// lookAt returns a store's view of a key.
func lookAt(t *testing.T, s *Store, limits []store.Limit) (is says) {
	t.Helper()
	d := take(t, s, charge("key", 0, limits...))
	for i := range limits {
		is.Remaining = append(is.Remaining, d.Charge(i).Remaining)
		is.ResetAfter = append(is.ResetAfter, d.Charge(i).ResetAfter.Microseconds())
	}
	is.Gap = d.Gap.Microseconds()
	refused := single(t, s, charge("key", limits[0].Max(), limits...))
	is.Paused = refused.Reason == store.ReasonPaused
	is.Delay = reserve(t, s, "key", 1, 1000*time.Hour, limits...).Delay.Microseconds()
	return is
}

func readStates(t *testing.T) (all []fixture) {
	t.Helper()
	text, err := os.ReadFile(states)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestStatesAreWritten: calls write the states of the fixture, byte by byte. If this fails,
// other releases beside this one may not read its states.
func TestStatesAreWritten(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	var all []fixture
	for _, test := range stateCases() {
		s, sleep := newStill(t, c, test.name+":")
		s.tags.Store(6)
		test.make(t, s, sleep, test.limits)
		state, log := namesOf(s, "key")
		f := fixture{Name: test.name, Value: c.Get(t.Context(), state).Val(), Log: c.LRange(t.Context(), log, 0, -1).Val(), At: s.now() + 5_000_000}
		sleep(5 * time.Second)
		f.Says = lookAt(t, s, test.limits)
		all = append(all, f)
	}
	if os.Getenv("WEIR_UPDATE") != "" {
		lines := make([]string, len(all))
		for i, f := range all {
			text, err := json.Marshal(f)
			if err != nil {
				t.Fatal(err)
			}
			lines[i] = string(text)
		}
		if err := os.WriteFile(states, []byte("[\n"+strings.Join(lines, ",\n")+"\n]\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := readStates(t)
	if len(all) != len(want) {
		t.Fatalf("%d states, want %d", len(all), len(want))
	}
	for i, f := range all {
		if w := want[i]; f.Name != w.Name || f.Value != w.Value || !slices.Equal(f.Log, w.Log) {
			t.Errorf("%s: wrote\n%s %q, want\n%s %q", f.Name, f.Value, f.Log, w.Value, w.Log)
		}
	}
}

// TestStatesAreRead: a state of the fixture has the meaning that its writer gave it.
func TestStatesAreRead(t *testing.T) {
	t.Parallel()
	c := redistest.Start(t).Client()
	limits := map[string][]store.Limit{}
	for _, test := range stateCases() {
		limits[test.name] = test.limits
	}
	all := readStates(t)
	for i := range all {
		if value := earlier[all[i].Name]; value != "" {
			f := all[i]
			f.Value = value
			all = append(all, f)
		}
	}
	for i, f := range all {
		s, sleep := newStill(t, c, fmt.Sprint(f.Name, i, ":"))
		sleep(time.Duration(f.At-startMicros) * time.Microsecond)
		state, log := namesOf(s, "key")
		c.Set(t.Context(), state, f.Value, time.Hour)
		for _, entry := range f.Log {
			c.RPush(t.Context(), log, entry)
		}
		got, err := json.Marshal(lookAt(t, s, limits[f.Name]))
		if err != nil {
			t.Fatal(err)
		}
		if want, _ := json.Marshal(f.Says); string(got) != string(want) {
			t.Errorf("%s: it says\n%s, want\n%s", f.Name, got, want)
		}
	}
}
