package main

import (
	"errors"
	"fmt"
	"io"
)

// enough is the minimum share of the allowed calls that must be used.
const enough = 0.95

// share returns the served part of the allowed calls.
func (r *result) share(o outcome) float64 { return float64(o.served) / float64(r.allowed) }

// broken returns the broken promises, or nil.
func (r *result) broken() error {
	var errs []error
	if r.with.refused > 0 {
		errs = append(errs, fmt.Errorf("with weir the provider refused %d calls", r.with.refused))
	}
	if share := r.share(r.with); share < enough {
		errs = append(errs, fmt.Errorf("with weir %.1f %% of the allowed calls were served, less than %.0f %%", 100*share, 100*enough))
	}
	for _, o := range []outcome{r.without, r.with} {
		if o.failed != nil {
			errs = append(errs, fmt.Errorf("a call failed: %w", o.failed))
		}
	}
	return errors.Join(errs...)
}

func (r *result) print(w io.Writer) {
	fmt.Fprintf(w, "\nRESULT          calls   served  refused  served of %d allowed\n", r.allowed)
	row := func(name string, o outcome) {
		fmt.Fprintf(w, "%-13s %7d %8d %8d %10.1f %%\n", name, o.served+o.refused, o.served, o.refused, 100*r.share(o))
	}
	row("without weir", r.without)
	row("with weir", r.with)
	if r.broken() == nil {
		fmt.Fprintln(w, "\nThe limit held: with weir not one call was refused.")
	}
}
