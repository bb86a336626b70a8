package exact

// GCRA, the generic cell rate algorithm of ITU-T I.371: a bucket of Max units that
// fills by one unit each emission interval T. It is full at its TAT.

// gcraSlot returns the first instant t from b on with TAT + units·T − Max·T ≤ t.
func gcraSlot(r *Rule, s *State, b, units int64) (floor, slot int64) {
	t := Micros{s.A, s.B}.Plus(r.Pace.Span(units), r.Pace.Den).Minus(r.Pace.Full, r.Pace.Den)
	if t.Whole < b {
		return b, b
	}
	return t.Whole, t.Up()
}

// gcraBook moves the TAT on from floor, or from the TAT if that is later.
func gcraBook(r *Rule, s *State, floor, units int64) {
	t := Micros{s.A, s.B}
	if t.Whole < floor {
		t = Micros{Whole: floor}
	}
	t = t.Plus(r.Pace.Debt(units), r.Pace.Den)
	s.A, s.B = t.Whole, t.Rem
}
