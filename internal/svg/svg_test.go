package svg_test

import (
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/goweir/weir/internal/leaktest"
	"github.com/goweir/weir/internal/svg"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestScale(t *testing.T) {
	for _, test := range []struct {
		name   string
		values []float64
		v, at  float64
	}{
		{"the most is as long as there is room", []float64{1, 50}, 50, 100},
		{"half of it is half as long", []float64{1, 50}, 25, 50},
		{"below nothing is nothing", []float64{-5, 50}, -5, 0},
		{"of nothing", nil, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := svg.NewScale(test.values, 100)
			if got := s.At(test.v); math.Abs(got-test.at) > 1e-9 {
				t.Errorf("%v, want %v", got, test.at)
			}
			if n := len(s.Ticks()); n == 0 || n > 12 {
				t.Errorf("%d ticks", n)
			}
		})
	}
}

// TestNight checks that a dark page recolours each colour of a chart.
func TestNight(t *testing.T) {
	c := svg.NewDark(100, 50, "a < b")
	c.Rect(0, 0, 10, 10, svg.Strong)
	text := c.End()
	for _, part := range []string{"a &lt; b", `[fill="#ffffff"]{fill:#0d1117}`, `[fill="#0969da"]{fill:#4493f8}`} {
		if !strings.Contains(text, part) {
			t.Errorf("no %s in %s", part, text)
		}
	}
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
