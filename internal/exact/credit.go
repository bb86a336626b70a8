package exact

// maxGrades bounds the levels that a Credit tells apart, as in the script.
const maxGrades = 8

// Credit bounds how many units of a bucket's bookings can be given back without admitting
// too much. Returned units make the bucket full sooner, but not sooner than a later booking
// found it full. So a booking can give back at most the smallest backlog that any booking
// of a later slot found.
//
// Grades hold these minima in the order of bookings: both slot and slack rise. A booking
// after all grades can give back its whole cost. Beyond maxGrades the last grade also
// covers bookings that found up to twice its backlog. Then two neighbours become
// one, with the smaller slack.
type Credit struct{ Grades []Grade }

// Grade is the backlog that the booking Seq found at its slot. It is below 0 if the bucket
// had been full for a while, or if the booking added the limit.
type Grade struct {
	Seq, Slot int64
	Slack     Micros
}

// first returns the first grade that bounds the units that a booking can give back.
func (c *Credit) first(seq, slot int64) (i int) {
	for i < len(c.Grades) && (c.Grades[i].Seq <= seq || c.Grades[i].Slot <= slot && c.Grades[i].Slack.Whole >= 0) {
		i++
	}
	return i
}

// begin forgets all grades but that of the booking that added the limit.
func (c *Credit) begin(seq int64) {
	c.Grades = append(c.Grades[:0], Grade{seq, 0, Micros{Whole: -1}})
}

// book notes a booking at a slot. The bucket would have been full at tat without it. Of
// bookings of one slot the first has the smallest backlog.
func (c *Credit) book(seq int64, tat Micros, slot int64) {
	slack := tat
	if slack.Whole -= slot; slack.Whole < 0 {
		slack = Micros{Whole: -1}
	}
	n := len(c.Grades)
	if n > 0 && c.Grades[n-1].Slot == slot && slack.Whole >= 0 {
		return
	}
	if n == maxGrades {
		last := &c.Grades[n-1]
		if last.Slack.Less(slack) && slack.Whole < 2*last.Slack.Whole {
			last.Seq, last.Slot = seq, slot
			return
		}
	}
	c.add(Grade{seq, slot, slack})
	if n := len(c.Grades); n > maxGrades {
		least := 0
		if c.Grades[0].Slack.Whole < 0 {
			least = 1 // Later bookings have not lapsed.
		}
		for i := least; i < n-1; i++ {
			if c.step(i) < c.step(least) {
				least = i
			}
		}
		c.Grades[least+1].Slack = c.Grades[least].Slack
		c.Grades = append(c.Grades[:least], c.Grades[least+1:]...)
	}
}

func (c *Credit) step(i int) int64 { return c.Grades[i+1].Slack.Whole - c.Grades[i].Slack.Whole }

// add appends a grade, and removes grades with as much slack or more.
func (c *Credit) add(g Grade) {
	for n := len(c.Grades); n > 0 && !c.Grades[n-1].Slack.Less(g.Slack); n-- {
		c.Grades = c.Grades[:n-1]
	}
	c.Grades = append(c.Grades, g)
}

// take gives up to back of a booking back, and returns the amount. Later bookings would
// then have found a smaller backlog.
func (c *Credit) take(seq, slot int64, back Micros, den int64) Micros {
	first := c.first(seq, slot)
	var room [maxGrades]Grade
	later := append(room[:0], c.Grades[first:]...)
	if len(later) > 0 && later[0].Slack.Less(back) {
		back = later[0].Slack
	}
	if back.Whole < 0 {
		return Micros{}
	}
	c.Grades = c.Grades[:first]
	for _, g := range later {
		g.Slack = g.Slack.Minus(back, den)
		c.add(g)
	}
	return back
}

// lapsed reports whether a later booking found the bucket full.
func (c *Credit) lapsed(seq, slot int64) bool {
	first := c.first(seq, slot)
	return first < len(c.Grades) && c.Grades[first].Slack.Whole < 0
}
