package limitfile

import (
	"sync/atomic"

	"github.com/goweir/weir"
	"go.yaml.in/yaml/v4"
)

const (
	wantPlans = "a mapping of plans' names to lists of limits"
	wantKeys  = "a mapping of keys to plans' names or lists of limits"
)

// Set holds the limits of a file. It never changes and is safe for concurrent use.
// The slices that its methods return are shared: do not write to them.
type Set struct {
	plans map[string][]weir.Limit
	keys  map[string][]weir.Limit
	other []weir.Limit // the default plan
	lacks atomic.Bool  // a plan of a request, as the log said
}

// Parse reads the content of a limits file, in YAML or JSON. The name is for
// errors. All mistakes are reported together, in the order of the file and up to
// 20, each an *[Error] that errors.As finds.
func Parse(name string, content []byte) (*Set, error) {
	r := &reader{file: name}
	root := r.parse(content)
	if root == nil {
		return nil, r.err()
	}
	set := r.set(root)
	if err := r.err(); err != nil {
		return nil, err
	}
	return set, nil
}

// For returns the limits of a key: its own limits if the file has some, else the
// limits of the plan, else, if there is no such plan, the limits of the default
// plan. There is always at least one limit. For allocates nothing.
func (s *Set) For(key, plan string) []weir.Limit {
	if limits, ok := s.keys[key]; ok {
		return limits
	}
	if limits, ok := s.plans[plan]; ok {
		return limits
	}
	return s.other
}

// set reads the whole file.
func (r *reader) set(root *yaml.Node) *Set {
	fields := r.fields(root, "", wantFile, "default", "keys", "plans")
	if fields == nil {
		return nil
	}
	set := &Set{plans: map[string][]weir.Limit{}, keys: map[string][]weir.Limit{}}
	if n := fields["plans"]; n == nil {
		r.at(root, "plans", wantPlans, "none")
	} else {
		plans := r.entries(n, "plans", wantPlans)
		if plans != nil && len(plans) == 0 {
			r.at(n, "plans", "at least one plan", "none")
		}
		for _, p := range plans {
			set.plans[p.name] = r.limits(p.value, child("plans", p.name))
		}
	}
	if n := fields["default"]; n == nil {
		r.at(root, "default", "the name of the plan of all others", "none")
	} else {
		set.other = r.reference(n, "default", set.plans)
	}
	if n := fields["keys"]; n != nil && n.Tag != tagNull { // All may be commented out.
		for _, k := range r.entries(n, "keys", wantKeys) {
			at := child("keys", k.name)
			if k.value.Kind == yaml.SequenceNode {
				set.keys[k.name] = r.limits(k.value, at)
			} else {
				set.keys[k.name] = r.reference(k.value, at, set.plans)
			}
		}
	}
	return set
}

// reference reads the name of a plan, and returns the plan's limits. Without plans, which is
// a mistake already, no name is one.
func (r *reader) reference(n *yaml.Node, field string, plans map[string][]weir.Limit) []weir.Limit {
	want := "the name of a plan"
	if field != "default" {
		want += " or a list of limits"
	}
	limits, known := plans[n.Value]
	switch {
	case !isText(n):
		r.at(n, field, want, describe(n))
	case !known && len(plans) > 0:
		r.at(n, field, want, quote(n.Value)+", which is no plan of this file")
	}
	return limits
}
