package data

import (
	"slices"
	"testing"
)

func TestReplace(t *testing.T) {
	key := func(part, who string) Key { return Key{part, "some case", who, PerSecond} }
	old := &Results{
		Contenders: []Info{{Name: "weir"}, {Name: "first"}, {Name: "last"}},
		Failures:   []Failure{{Part: Redis, Text: "stays"}, {Part: Network, Text: "goes"}},
		Later:      []Later{{Parts: []string{Network}}, {Parts: []string{Network, HTTP}}},
	}
	old.Add(key(Redis, "weir"), 1)
	old.Add(key(Network, "weir"), 2)
	old.Add(key(Network, "last"), 3)
	by := &Results{
		Passes: 7, Contenders: []Info{{Name: "weir"}, {Name: "new"}, {Name: "last"}, {Name: "newest"}},
		Failures: []Failure{{Part: Network, Text: "comes"}},
	}
	by.Add(key(Network, "weir"), 4)
	old.Replace([]string{Network}, by)

	for _, tc := range []struct {
		part, who string
		want      float64
		ok        bool
	}{
		{Redis, "weir", 1, true},
		{Network, "weir", 4, true},
		{Network, "last", 0, false},
	} {
		if got, ok := old.Median(key(tc.part, tc.who)); got != tc.want || ok != tc.ok {
			t.Errorf("%s of %s: %v, %t; want %v, %t", tc.part, tc.who, got, ok, tc.want, tc.ok)
		}
	}
	var names, failures []string
	for _, c := range old.Contenders {
		names = append(names, c.Name)
	}
	for _, f := range old.Failures {
		failures = append(failures, f.Text)
	}
	if want := []string{"weir", "new", "first", "last", "newest"}; !slices.Equal(names, want) {
		t.Errorf("contenders %q, want %q", names, want)
	}
	if want := []string{"stays", "comes"}; !slices.Equal(failures, want) {
		t.Errorf("failures %q, want %q", failures, want)
	}
	if l := old.Later; len(l) != 2 || !slices.Equal(l[0].Parts, []string{HTTP}) || !slices.Equal(l[1].Parts, []string{Network}) || l[1].Passes != 7 {
		t.Errorf("later runs: %+v", l)
	}
}
