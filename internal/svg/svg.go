// Package svg writes charts as SVG, the same bytes for the same data.
package svg

import (
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"
)

const font = "font-family=\"system-ui, -apple-system, 'Segoe UI', sans-serif\""

// Colours on a white background.
const (
	Dark   = "#1f2328"
	Muted  = "#59636e"
	Grid   = "#d1d9e0"
	Strong = "#0969da"
	Alarm  = "#cf222e"
	Pale   = "#ddf4ff"
)

// night has the colours of a dark page in place of those above.
var night = `<style>@media(prefers-color-scheme:dark){` +
	rule("#ffffff", "#0d1117") + rule(Dark, "#f0f6fc") + rule(Muted, "#9198a1") + rule(Grid, "#3d444d") +
	rule(Strong, "#4493f8") + rule(Alarm, "#f85149") + rule(Pale, "#12243d") + "}</style>\n"

// Chart is a picture under construction.
type Chart struct {
	strings.Builder
	width, height int
}

func rule(day, night string) string {
	return fmt.Sprintf(`[fill="%s"]{fill:%s}[stroke="%s"]{stroke:%s}`, day, night, day, night)
}

// New returns a chart with a white background and a title at its top, to be read on dark
// pages too.
func New(width, height int, title string) *Chart {
	return begin(width, height, title, "")
}

// NewDark is New, but the chart's colours follow the page: light or dark.
func NewDark(width, height int, title string) *Chart { return begin(width, height, title, night) }

func begin(width, height int, title, style string) *Chart {
	s := &Chart{width: width, height: height}
	fmt.Fprintf(s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" %s>`, width, height, width, height, font)
	fmt.Fprintf(s, "\n<title>%s</title>\n%s", escape(title), style)
	fmt.Fprintf(s, "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\" rx=\"6\"/>\n", width, height)
	s.Text(16, 26, title, Dark, "start", 15, true)
	return s
}

// Text writes text: size in pixels, and the anchor start, middle or end.
func (s *Chart) Text(x, y float64, text, colour, anchor string, size int, bold bool) {
	weight := ""
	if bold {
		weight = ` font-weight="600"`
	}
	fmt.Fprintf(s, "<text x=\"%.1f\" y=\"%.1f\" fill=\"%s\" font-size=\"%d\" text-anchor=\"%s\"%s>%s</text>\n", x, y, colour, size, anchor, weight, escape(text))
}

// Rect draws a filled rectangle, at least half a pixel wide.
func (s *Chart) Rect(x, y, w, h float64, colour string) {
	fmt.Fprintf(s, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x, y, math.Max(w, 0.5), h, colour)
}

// Line draws a straight line.
func (s *Chart) Line(x1, y1, x2, y2 float64, colour string, width float64) {
	fmt.Fprintf(s, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"%.1f\"/>\n", x1, y1, x2, y2, colour, width)
}

// End returns the finished chart.
func (s *Chart) End() string {
	s.WriteString("</svg>\n")
	return s.String()
}

func escape(text string) string {
	var b strings.Builder
	// A strings.Builder never fails.
	_ = xml.EscapeText(&b, []byte(text))
	return b.String()
}

// Scale maps values to lengths.
type Scale struct{ high, length float64 }

// NewScale returns a scale from 0 on that has room for all values.
func NewScale(values []float64, length float64) Scale {
	high := slices.Max(append([]float64{0}, values...))
	if high == 0 {
		high = 1
	}
	return Scale{high, length}
}

// At returns the length of a value.
func (s Scale) At(v float64) float64 { return s.length * math.Max(v, 0) / s.high }

// Ticks returns round values of the scale.
func (s Scale) Ticks() []float64 {
	var ticks []float64
	step := math.Pow(10, math.Floor(math.Log10(s.high)))
	for s.high/step < 3 {
		step /= 2
	}
	for v := 0.0; v <= s.high; v += step {
		ticks = append(ticks, v)
	}
	return ticks
}

// Amount writes a tick's value.
func Amount(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%g M", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%g k", v/1e3)
	default:
		return fmt.Sprintf("%g", v)
	}
}

// High returns the highest value.
func (s Scale) High() float64 { return s.high }
