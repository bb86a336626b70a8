package exact

// maxGrades bounds the levels that a credit tells apart, as in the script.
const maxGrades = 8

// credit bounds the units that a bucket's bookings can give back. Returned units make the bucket
// full sooner, but not sooner than a later booking found it full. So a booking can give back at
// most the smallest backlog that any booking of a later slot found.
//
// Grades hold these minima in the order of bookings: both slot and slack rise. A booking after
// all grades can give back its whole cost. Beyond maxGrades the last grade also covers bookings
// that found up to twice its backlog. Then two neighbours become one, with the smaller slack.
type credit struct{ grades []grade }

// grade is the backlog that the booking Seq found at its slot. It is below 0 if the bucket
// had been full for a while, or if the booking added the limit.
type grade struct {
	Seq, Slot int64
	Slack     Micros
}

// first returns the first grade that bounds the units that a booking can give back.
func (c *credit) first(seq, slot int64) (i int) {
	for i < len(c.grades) && (c.grades[i].Seq <= seq || c.grades[i].Slot <= slot && c.grades[i].Slack.Whole >= 0) {
		i++
	}
	return i
}

// begin forgets all grades but that of the booking that added the limit.
func (c *credit) begin(seq int64) {
	c.grades = append(c.grades[:0], grade{seq, 0, Micros{Whole: -1}})
}

// book notes a booking at a slot. The bucket would have been full at tat without it. Of
// bookings of one slot the first has the smallest backlog.
func (c *credit) book(seq int64, tat Micros, slot int64) {
	slack := tat
	if slack.Whole -= slot; slack.Whole < 0 {
		slack = Micros{Whole: -1}
	}
	n := len(c.grades)
	if n > 0 && c.grades[n-1].Slot == slot && slack.Whole >= 0 {
		return
	}
	if n == maxGrades {
		last := &c.grades[n-1]
		if last.Slack.Less(slack) && slack.Whole < 2*last.Slack.Whole {
			last.Seq, last.Slot = seq, slot
			return
		}
	}
	c.add(grade{seq, slot, slack})
	if n := len(c.grades); n > maxGrades {
		least := 0
		if c.grades[0].Slack.Whole < 0 {
			least = 1 // Later bookings have not lapsed.
		}
		for i := least; i < n-1; i++ {
			if c.step(i) < c.step(least) {
				least = i
			}
		}
		c.grades[least+1].Slack = c.grades[least].Slack
		c.grades = append(c.grades[:least], c.grades[least+1:]...)
	}
}

func (c *credit) step(i int) int64 { return c.grades[i+1].Slack.Whole - c.grades[i].Slack.Whole }

// add appends a grade, and removes grades with as much slack or more.
func (c *credit) add(g grade) {
	for n := len(c.grades); n > 0 && !c.grades[n-1].Slack.Less(g.Slack); n-- {
		c.grades = c.grades[:n-1]
	}
	c.grades = append(c.grades, g)
}

// take gives up to back of a booking back, and returns the amount.
func (c *credit) take(seq, slot int64, back Micros, den int64) Micros {
	first := c.first(seq, slot)
	if first < len(c.grades) && c.grades[first].Slack.Less(back) {
		back = c.grades[first].Slack
	}
	if back.Whole < 0 {
		return Micros{}
	}
	c.lower(first, back, den)
	return back
}

// lower takes returned units off the grades from first on: their bookings find less backlog.
func (c *credit) lower(first int, back Micros, den int64) {
	var room [maxGrades]grade
	later := append(room[:0], c.grades[first:]...)
	c.grades = c.grades[:first]
	for _, g := range later {
		if g.Slack.Whole >= 0 {
			if g.Slack = g.Slack.Minus(back, den); g.Slack.Whole < 0 {
				g.Slack = Micros{}
			}
		}
		c.add(g)
	}
}

// lapsed reports whether a later booking found the bucket full.
func (c *credit) lapsed(seq, slot int64) bool {
	first := c.first(seq, slot)
	return first < len(c.grades) && c.grades[first].Slack.Whole < 0
}
