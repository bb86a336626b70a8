package main

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/goweir/weir/cmd/weir/internal/simulate"
	"github.com/goweir/weir/internal/inspect"
	"github.com/goweir/weir/internal/svg"
)

// The places of an SVG chart, in pixels.
const (
	svgWidth, svgLeft, svgRight = 820, 154, 158
	svgTop, svgBottom           = 70, 40
	stripHeight, stripGap       = 56, 22
	maxBars                     = 150
)

// picture is a chart under construction: a strip of bars for each report.
type picture struct {
	*svg.Chart
	provider bool
	step     time.Duration
	x, y     svg.Scale
}

// draw returns the SVG chart of reports.
func (s *simulation) draw(reports []simulate.Report) string {
	height := svgTop + len(reports)*(stripHeight+stripGap) + svgBottom - stripGap
	p := picture{Chart: svg.NewDark(svgWidth, height, cmp.Or(s.title, "weir simulate")), provider: s.provider != ""}
	lines := timelines(reports)
	var most []float64
	longest := 0
	for _, t := range lines {
		p.step, longest = t.Step, max(longest, len(t.Bins))
		for _, b := range t.Bins {
			ok, refused := p.bar(b)
			most = append(most, float64(ok+refused))
		}
	}
	p.x = svg.NewScale([]float64{float64(longest) * p.step.Seconds()}, svgWidth-svgLeft-svgRight)
	p.y = svg.NewScale(most, stripHeight)
	p.legend(svgLeft, window(reports))
	for i := range reports {
		p.strip(float64(svgTop+i*(stripHeight+stripGap)), &reports[i], &lines[i])
	}
	p.axis(float64(height - svgBottom))
	return p.End()
}

// timelines returns the timelines with bins of one length.
func timelines(reports []simulate.Report) []simulate.Timeline {
	var step, length time.Duration
	for i := range reports {
		t := &reports[i].Timeline
		step, length = max(step, t.Step), max(length, t.Step*time.Duration(len(t.Bins)))
	}
	step *= (length + step*maxBars - 1) / (step * maxBars)
	all := make([]simulate.Timeline, len(reports))
	for i := range reports {
		t := &reports[i].Timeline
		all[i] = t.Merge(int(step / t.Step))
	}
	return all
}

func (p *picture) bar(b simulate.Bin) (ok, refused int64) {
	if p.provider {
		return b.Served, b.Rejected
	}
	return b.Admitted, b.Refused
}

func (p *picture) legend(x float64, window string) {
	ok, refused := "leave", "refused"
	if p.provider {
		ok, refused = "admitted by the provider", "refused by the provider"
	}
	items := []struct{ text, colour string }{{ok, svg.Strong}, {refused, svg.Alarm}, {"most calls in any " + window, svg.Pale}}
	if p.provider {
		items = items[:2]
	}
	for _, item := range items {
		p.Rect(x, 42, 11, 11, item.colour)
		p.Text(x+16, 52, item.text, svg.Muted, "start", 12, false)
		x += 34 + 6.4*float64(len(item.text))
	}
	p.Text(16, 52, "calls per "+inspect.Span(p.step).String(), svg.Muted, "start", 12, false)
}

// strip draws one report at a height.
func (p *picture) strip(top float64, r *simulate.Report, t *simulate.Timeline) {
	base, right := top+stripHeight, float64(svgWidth-svgRight)
	at := func(micros int64) float64 {
		return svgLeft + p.x.At(float64(micros-t.Start)/1e6)
	}
	if from := max(r.WorstEnd-r.Window.Microseconds(), t.Start); !p.provider {
		p.Rect(at(from), top, p.x.At(r.Window.Seconds()), stripHeight, svg.Pale)
	}
	p.Line(svgLeft, top, right, top, svg.Grid, 1)
	p.Text(svgLeft-8, top+9, svg.Amount(math.Round(p.y.High())), svg.Muted, "end", 11, false)
	p.Text(svgLeft-8, base, "0", svg.Muted, "end", 11, false)
	wide := max(p.x.At(p.step.Seconds())-0.6, 0.8)
	for i, b := range t.Bins {
		ok, refused := p.bar(b)
		x, low, high := svgLeft+p.x.At(float64(i)*p.step.Seconds()), p.y.At(float64(ok)), p.y.At(float64(refused))
		if ok > 0 {
			p.Rect(x, base-low, wide, low, svg.Strong)
		}
		if refused > 0 {
			p.Rect(x, base-low-high, wide, high, svg.Alarm)
		}
	}
	p.Line(svgLeft, base, right, base, svg.Muted, 1)
	p.Text(16, top+stripHeight/2+4, r.Name, svg.Dark, "start", 13, true)
	refused := r.Refused
	if p.provider {
		refused = r.Served.Refused
	}
	colour := svg.Muted
	if refused > 0 {
		colour = svg.Alarm
	}
	p.Text(right+12, top+12, fmt.Sprintf("%d in the worst %s", r.Worst, inspect.Span(r.Window)), svg.Dark, "start", 12, true)
	p.Text(right+12, top+29, fmt.Sprintf("%d of %d refused", refused, r.Offered), colour, "start", 12, false)
	if r.Max > 0 {
		p.Text(right+12, top+46, "waits up to "+inspect.Span(r.Max).String(), svg.Muted, "start", 12, false)
	}
}

func (p *picture) axis(y float64) {
	for _, v := range p.x.Ticks() {
		x := svgLeft + p.x.At(v)
		p.Line(x, y, x, y+4, svg.Muted, 1)
		p.Text(x, y+18, svg.Amount(v), svg.Muted, "middle", 12, false)
	}
	p.Text(svgWidth-svgRight+12, y+18, "seconds", svg.Muted, "start", 12, false)
}
