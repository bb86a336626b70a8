package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/goweir/weir/internal/svg"
)

// palette are the colours of rivals' lines.
var palette = []string{"#bc4c00", "#1a7f37", "#8250df", "#bf3989", "#9a6700", "#0a7ea4", "#cf222e", "#4d2d00"}

// lines is a chart of one line per contender, on a logarithmic scale.
type lines struct {
	title string
	x     []string
	rows  []barRow
}

func (l lines) draw() string {
	const width, height, left, right, top, bottom = 820, 420, 64.0, 210.0, 48.0, 40.0
	s := svg.New(width, height, l.title)
	var values []float64
	for _, r := range l.rows {
		values = append(values, r.values...)
	}
	scale := newScale(values, true, height-top-bottom)
	for _, tick := range scale.Ticks() {
		y := height - bottom - scale.At(tick)
		s.Line(left, y, width-right, y, svg.Grid, 1)
		s.Text(left-8, y+4, svg.Amount(tick), svg.Muted, "end", 12, false)
	}
	xAt := func(i int) float64 {
		return left + 20 + float64(i)*(width-left-right-40)/math.Max(1, float64(len(l.x)-1))
	}
	for i, name := range l.x {
		s.Text(xAt(i), height-bottom+20, name, svg.Muted, "middle", 12, false)
	}
	type label struct {
		y            float64
		text, colour string
		own          bool
	}
	var labels []label
	rival := 0
	for _, r := range l.rows {
		colour, thick, dashes := svg.Strong, 3.0, ""
		switch {
		case r.limit:
			colour, thick, dashes = svg.Muted, 1, ` stroke-dasharray="5 4"`
		case !r.own:
			colour, thick = palette[rival%len(palette)], 1.6
			rival++
		}
		var points []string
		end := -1.0
		for i, v := range r.values {
			if v <= 0 {
				continue
			}
			end = height - bottom - scale.At(v)
			points = append(points, fmt.Sprintf("%.1f,%.1f", xAt(i), end))
			fmt.Fprintf(s, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\"/>\n", xAt(i), end, thick+0.8, colour)
		}
		if len(points) == 0 {
			continue
		}
		fmt.Fprintf(s, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"%.1f\"%s points=\"%s\"/>\n", colour, thick, dashes, strings.Join(points, " "))
		labels = append(labels, label{end, r.label, colour, r.own})
	}
	slices.SortFunc(labels, func(a, b label) int { return int(math.Copysign(1, a.y-b.y)) })
	at := math.Inf(-1)
	for _, n := range labels {
		at = math.Max(at+15, n.y+4)
		s.Text(width-right+8, at, n.text, n.colour, "start", 12, n.own)
	}
	return s.End()
}
