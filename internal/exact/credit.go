package exact

// maxGrades bounds the levels that a Credit tells apart, as in the script.
const maxGrades = 8

// Credit says how much of a bucket's bookings can be given back without admitting
// too much. To give back makes the bucket full sooner, but not sooner than it was
// found full by a later booking. So a booking can give back at most the smallest
// backlog that any later booking found at its slot.
//
// Grades hold these minima, in the order of bookings: both numbers rise. A booking
// before Grades[i].Seq can give back Grades[i].Slack; one after all grades its whole
// cost. Beyond maxGrades two neighbours become one, with the smaller slack.
type Credit struct{ Grades []Grade }

// Grade is the backlog that the booking Seq found; less than 0 if the bucket had been
// full for a while.
type Grade struct {
	Seq   int64
	Slack Micros
}

// book notes a booking at a slot, of a bucket that would have been full at tat.
func (c *Credit) book(seq int64, tat Micros, slot int64) {
	slack := tat
	if slack.Whole -= slot; slack.Whole < 0 {
		slack = Micros{Whole: -1}
	}
	c.add(Grade{seq, slack})
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

// add appends a grade, in place of those with as much slack or more.
func (c *Credit) add(g Grade) {
	for n := len(c.Grades); n > 0 && !c.Grades[n-1].Slack.Less(g.Slack); n-- {
		c.Grades = c.Grades[:n-1]
	}
	c.Grades = append(c.Grades, g)
}

// take gives back up to so much of the booking seq, and returns how much. Later
// bookings would have found the smaller backlog.
func (c *Credit) take(seq int64, back Micros, den int64) Micros {
	first := 0
	for first < len(c.Grades) && c.Grades[first].Seq <= seq {
		first++
	}
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
