package data

import (
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		name   string
		values []float64
		want   float64
	}{
		{"of none", nil, 0},
		{"of one", []float64{3}, 3},
		{"of an odd number", []float64{9, 1, 5}, 5},
		{"of an even number", []float64{8, 1, 2, 4}, 3},
		{"one pass that was disturbed does not count", []float64{10, 11, 900, 10, 11}, 11},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := slices.Clone(test.values)
			if got := Median(test.values); got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
			if !slices.Equal(test.values, before) {
				t.Errorf("the values are %v now, were %v", test.values, before)
			}
		})
	}
}

func TestResultsSurviveAFile(t *testing.T) {
	k := Key{Local, Decisions(1, 2, true), "weir", NsPerOp}
	r := &Results{Passes: 3, Contenders: []Info{{Name: "other"}, {Name: "weir", Own: true}}}
	for _, v := range []float64{3, 1, 2} {
		r.Add(k, v)
	}
	r.Add(Key{Local, k.Case, "other", NsPerOp}, 7)
	r.Failures = append(r.Failures, Failure{Local, "some case", "other", "it broke"})
	path := filepath.Join(t.TempDir(), "data.json")
	if err := r.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if v, ok := got.Median(k); !ok || v != 2 {
		t.Errorf("median %v, %t; want 2", v, ok)
	}
	if _, ok := got.Median(Key{Part: Local}); ok {
		t.Error("a median without a measurement")
	}
	if cases := got.Cases(Local, NsPerOp); !slices.Equal(cases, []string{k.Case}) {
		t.Errorf("cases %q", cases)
	}
	if who := got.Who(Local, NsPerOp); !reflect.DeepEqual(who, r.Contenders) {
		t.Errorf("who: %v, want the list's order", who)
	}
	if text := got.Failed(Local, "some case", "other"); text != "it broke" {
		t.Errorf("failure %q", text)
	}
}

func TestNames(t *testing.T) {
	for want, got := range map[string]string{
		"1 key, 1 goroutine, allowed":              Decisions(1, 1, true),
		"10\u00a0000 keys, 64 goroutines, refused": Decisions(10_000, 64, false),
		"1\u00a0234\u00a0567":                      Count(1_234_567),
		"1\u00a0000":                               Count(1000),
		"-12":                                      Count(-12),
		"7.0.15":                                   redisVersion("Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64"),
		"Valkey 9":                                 redisVersion("Valkey 9"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
