package report

import (
	"slices"

	"github.com/goweir/weir/internal/svg"
)

// shades are colours for the values of a row; ownShades are those of weir.
var shades, ownShades = []string{"#afb8c1", "#8c959f", "#57606a"}, []string{"#80ccff", "#54aeff", svg.Strong}

// bars is a chart of one group of horizontal bars per contender.
type bars struct {
	title  string
	groups []string // the bars' names, hidden for a single bar
	rows   []barRow
	log    bool
	format func(float64) string
}

// barRow is a contender's group. A negative value is none.
type barRow struct {
	label  string
	own    bool
	limit  bool // of the machine
	values []float64
}

func (b bars) draw() string {
	const left, right, thick = 190.0, 90.0, 13.0
	each := thick*float64(len(b.groups)) + 9
	top := 48.0
	if len(b.groups) > 1 {
		top = 66
	}
	const width = 820
	height := int(top + each*float64(len(b.rows)) + 14)
	s := svg.New(width, height, b.title)
	if len(b.groups) > 1 {
		x := left
		for i, name := range b.groups {
			s.Rect(x, 42, 11, 11, shade(false, i, len(b.groups)))
			s.Rect(x+12, 42, 11, 11, shade(true, i, len(b.groups)))
			s.Text(x+28, 52, name, svg.Muted, "start", 12, false)
			x += 48 + 7*float64(len([]rune(name)))
		}
	}
	var values []float64
	for _, r := range b.rows {
		values = append(values, r.values...)
	}
	scale := newScale(values, b.log, width-left-right)
	for _, tick := range scale.Ticks() {
		s.Line(left+scale.At(tick), top-6, left+scale.At(tick), float64(height)-12, svg.Grid, 1)
	}
	for i, r := range b.rows {
		y := top + each*float64(i)
		colour := svg.Dark
		if r.own {
			colour = svg.Strong
		}
		s.Text(left-8, y+thick*float64(len(b.groups))/2+4, r.label, colour, "end", 13, r.own)
		for j, v := range r.values {
			if v < 0 {
				s.Text(left+4, y+thick*float64(j)+10, "–", svg.Muted, "start", 11, false)
				continue
			}
			s.Rect(left, y+thick*float64(j), scale.At(v), thick-2, shade(r.own, j, len(b.groups)))
			s.Text(left+scale.At(v)+5, y+thick*float64(j)+10, b.format(v), svg.Muted, "start", 11, false)
		}
	}
	return s.End()
}

// shade returns the colour of the i-th of n bars. The last is the strongest.
func shade(own bool, i, n int) string {
	colours := shades
	if own {
		colours = ownShades
	}
	return colours[min(i+max(len(colours)-n, 0), len(colours)-1)]
}

// byFirst sorts rows by their first values. Rows without one come last.
func (b *bars) byFirst(highestFirst bool) {
	slices.SortStableFunc(b.rows, func(x, y barRow) int {
		v, w := x.values[0], y.values[0]
		switch {
		case (v < 0) != (w < 0):
			if v < 0 {
				return 1
			}
			return -1
		case v == w:
			return 0
		case (v > w) == highestFirst:
			return -1
		}
		return 1
	})
}
