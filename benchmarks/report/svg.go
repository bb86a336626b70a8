package report

import (
	"encoding/xml"
	"fmt"
	"math"
	"strings"
)

// Charts are SVG with a background of their own, to be read on dark pages too.
const (
	font   = "font-family=\"system-ui, -apple-system, 'Segoe UI', sans-serif\""
	dark   = "#1f2328"
	muted  = "#59636e"
	grid   = "#d1d9e0"
	strong = "#0969da" // weir
)

// palette are the colours of rivals' lines, and shades of bars in a group.
var palette = []string{"#bc4c00", "#1a7f37", "#8250df", "#bf3989", "#9a6700", "#0a7ea4", "#cf222e", "#4d2d00"}

// shades are those of a contender's own bars, for each value of a row.
var shades, ownShades = []string{"#afb8c1", "#8c959f", "#57606a"}, []string{"#80ccff", "#54aeff", strong}

type svg struct {
	strings.Builder
	width, height int
}

func newSVG(width, height int, title string) *svg {
	s := &svg{width: width, height: height}
	fmt.Fprintf(s, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" %s>`, width, height, width, height, font)
	fmt.Fprintf(s, "\n<title>%s</title>\n", escape(title))
	fmt.Fprintf(s, "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\" rx=\"6\"/>\n", width, height)
	s.text(16, 26, title, dark, "start", 15, true)
	return s
}

func (s *svg) text(x, y float64, text, colour, anchor string, size int, bold bool) {
	weight := ""
	if bold {
		weight = ` font-weight="600"`
	}
	fmt.Fprintf(s, "<text x=\"%.1f\" y=\"%.1f\" fill=\"%s\" font-size=\"%d\" text-anchor=\"%s\"%s>%s</text>\n", x, y, colour, size, anchor, weight, escape(text))
}

func (s *svg) rect(x, y, w, h float64, colour string) {
	fmt.Fprintf(s, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x, y, math.Max(w, 0.5), h, colour)
}

func (s *svg) line(x1, y1, x2, y2 float64, colour string, width float64) {
	fmt.Fprintf(s, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"%.1f\"/>\n", x1, y1, x2, y2, colour, width)
}

func (s *svg) end() string {
	s.WriteString("</svg>\n")
	return s.String()
}

func escape(text string) string {
	var b strings.Builder
	// A strings.Builder never fails.
	_ = xml.EscapeText(&b, []byte(text))
	return b.String()
}

// scale maps values to lengths.
type scale struct {
	low, high float64
	log       bool
	length    float64
}

// newScale returns a scale that has room for all values; a logarithmic one
// starts at the power of ten below the least.
func newScale(values []float64, log bool, length float64) scale {
	s := scale{log: log, length: length}
	least := math.Inf(1)
	for _, v := range values {
		s.high = math.Max(s.high, v)
		if v > 0 {
			least = math.Min(least, v)
		}
	}
	if s.high <= 0 {
		s.high, least = 1, 0.1
	}
	if log {
		s.low = math.Pow(10, math.Floor(math.Log10(least)))
	}
	return s
}

func (s scale) at(v float64) float64 {
	if s.log {
		if v <= s.low {
			return 0
		}
		return s.length * math.Log(v/s.low) / math.Log(s.high/s.low)
	}
	return s.length * math.Max(v, 0) / s.high
}

// ticks returns round values of the scale.
func (s scale) ticks() []float64 {
	var ticks []float64
	if s.log {
		for v := s.low; v <= s.high; v *= 10 {
			ticks = append(ticks, v)
		}
		return ticks
	}
	step := math.Pow(10, math.Floor(math.Log10(s.high)))
	for s.high/step < 3 {
		step /= 2
	}
	for v := 0.0; v <= s.high; v += step {
		ticks = append(ticks, v)
	}
	return ticks
}

// amount writes a tick's value.
func amount(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%g M", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%g k", v/1e3)
	default:
		return fmt.Sprintf("%g", v)
	}
}
