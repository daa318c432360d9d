package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"codexlag/analyze/human"
)

// plotWidth is that of every chart, in user units: a phone shows it nearly one
// to one, so that the letters stay readable.
const plotWidth = 380

// A plot is a chart that is being drawn, as SVG.
type plot struct {
	strings.Builder
	height float64
}

// svg wraps what was drawn. alt is the chart in words, for those who can't see it.
func (p *plot) svg(alt string) string {
	return fmt.Sprintf(`<svg class="plot" role="img" tabindex="0" aria-label="%s" viewBox="0 0 %d %s">%s</svg>`,
		htmlText(alt), plotWidth, px(p.height), p.String())
}

// px writes a coordinate.
func px(v float64) string {
	return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
}

func (p *plot) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(p, `<path class="%s" d="M%s %sL%s %s"/>`, class, px(x1), px(y1), px(x2), px(y2))
}

func (p *plot) rect(class string, x, y, w, h float64) {
	fmt.Fprintf(p, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, px(x), px(y), px(w), px(h))
}

// mark is a rectangle that tells its numbers when it is pointed at.
func (p *plot) mark(class string, x, y, w, h float64, tip string) {
	fmt.Fprintf(p, `<rect class="%s" x="%s" y="%s" width="%s" height="%s" data-t="%s"/>`, class, px(x), px(y), px(w), px(h), htmlText(tip))
}

func (p *plot) dot(class string, x, y, r float64, tip string) {
	fmt.Fprintf(p, `<circle class="%s" cx="%s" cy="%s" r="%s" data-t="%s"/>`, class, px(x), px(y), px(r), htmlText(tip))
}

// text writes a label; anchor is start, middle or end.
func (p *plot) text(class, anchor string, x, y float64, s string) {
	if anchor == "start" {
		anchor = ""
	} else {
		anchor = ` text-anchor="` + anchor + `"`
	}
	fmt.Fprintf(p, `<text class="%s"%s x="%s" y="%s">%s</text>`, class, anchor, px(x), px(y), htmlText(s))
}

// path draws lines through points; a nil one is a gap.
func (p *plot) path(class string, points []*[2]float64) {
	var d strings.Builder
	pen := "M"
	for _, q := range points {
		if q == nil {
			pen = "M"
			continue
		}
		d.WriteString(pen + px(q[0]) + " " + px(q[1]))
		pen = "L"
	}
	if d.Len() > 0 {
		fmt.Fprintf(p, `<path class="%s" d="%s"/>`, class, d.String())
	}
}

// A scale maps values to a coordinate.
type scale struct {
	lo, hi   float64
	from, to float64 // coordinates of lo and hi
	log      bool
	round    []float64            // the steps that are left where a logarithmic axis has too many
	write    func(float64) string // a tick's label
}

func (s *scale) at(v float64) float64 {
	lo, hi := s.lo, s.hi
	if s.log {
		v, lo, hi = math.Log(max(v, lo)), math.Log(lo), math.Log(hi)
	}
	if hi <= lo {
		return (s.from + s.to) / 2
	}
	return s.from + min(max((v-lo)/(hi-lo), 0), 1)*(s.to-s.from)
}

// ticks returns the values to label, at most most of them.
func (s *scale) ticks(most int, steps []float64) []float64 {
	if s.log {
		return s.logTicks(most, steps)
	}
	for _, step := range steps {
		first := math.Ceil(s.lo / step)
		n := math.Floor(s.hi/step) - first + 1
		if n > float64(most) {
			continue
		}
		var l []float64
		for i := range int(n) {
			l = append(l, (first+float64(i))*step)
		}
		return l
	}
	return nil
}

// logTicks takes the steps that lie on the scale, or the round ones of them,
// where they would be too many.
func (s *scale) logTicks(most int, steps []float64) []float64 {
	on := func(steps []float64) []float64 {
		return slices.DeleteFunc(slices.Clone(steps), func(v float64) bool { return v < s.lo || v > s.hi })
	}
	l := on(steps)
	if len(l) > most {
		l = slices.DeleteFunc(l, func(v float64) bool { return !slices.Contains(s.round, v) })
	}
	for len(l) > most {
		for i := 1; i < len(l); i++ {
			l = slices.Delete(l, i, i+1)
		}
	}
	if len(l) < 3 { // a short stretch is nearly linear
		return (&scale{lo: s.lo, hi: s.hi}).ticks(most, steps)
	}
	return l
}

// decimalSteps and durationSteps (ms) are what ticks may stand at or apart.
var (
	decimalSteps  = steps125(-2, 12)
	durationSteps = append(steps125(0, 2), timeSteps()...)

	roundDecimals  = tens(-2, 12)
	roundDurations = append(tens(0, 4), 60_000, 600_000, 3_600_000, 36_000_000, 864_000_000)
)

func tens(from, to int) []float64 {
	var l []float64
	for i, v := range steps125(from, to) {
		if i%3 == 0 {
			l = append(l, v)
		}
	}
	return l
}

func steps125(from, to int) []float64 {
	var l []float64
	for e := from; e <= to; e++ {
		for _, m := range []float64{1, 2, 5} {
			v, _ := strconv.ParseFloat(strconv.FormatFloat(m, 'f', 0, 64)+"e"+strconv.Itoa(e), 64)
			l = append(l, v)
		}
	}
	return l
}

func timeSteps() []float64 {
	const s, min, h = 1000, 60_000, 3_600_000
	return []float64{s, 2 * s, 5 * s, 10 * s, 20 * s, 30 * s, min, 2 * min, 5 * min, 10 * min, 20 * min, 30 * min,
		h, 2 * h, 5 * h, 10 * h, 24 * h, 48 * h, 120 * h, 240 * h, 480 * h, 1200 * h, 2400 * h}
}

// shortDuration labels an axis: 500 ms, 5 s, 2 min, 1.5 h.
func shortDuration(ms float64) string {
	v, unit := ms, " ms"
	switch {
	case ms == 0:
		return "0"
	case ms >= 3_600_000:
		v, unit = ms/3_600_000, " h"
	case ms >= 60_000:
		v, unit = ms/60_000, " min"
	case ms >= 1000:
		v, unit = ms/1000, " s"
	}
	return shortNumber(v) + unit
}

// shortNumber labels an axis: 0.5, 20, 5 k, 2 M.
func shortNumber(v float64) string {
	unit := ""
	switch {
	case v >= 1e6:
		v, unit = v/1e6, " M"
	case v >= 10_000:
		v, unit = v/1000, " k"
	}
	if v >= 100 {
		return human.Quantity(math.Round(v)) + unit
	}
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) + unit
}

// A frame is the axes of a chart with two of them.
type frame struct {
	x, y           scale
	xSteps, ySteps []float64
}

// axes draws the grid and its labels.
func (p *plot) axes(f *frame) {
	for _, v := range f.y.ticks(5, f.ySteps) {
		y := f.y.at(v)
		p.line("grid", f.x.from, y, f.x.to, y)
		p.text("tick", "end", f.x.from-5, y+4, f.y.write(v))
	}
	for _, v := range f.x.ticks(5, f.xSteps) {
		p.xTick(f.x.at(v), f.y.from, f.x.write(v))
	}
	p.line("axis", f.x.from, f.y.from, f.x.to, f.y.from)
}

// xTick labels a place on the x axis; the letters stay inside the chart.
func (p *plot) xTick(x, y float64, label string) {
	p.line("axis", x, y, x, y+4)
	half := 3.4 * float64(width(label))
	p.text("tick", "middle", min(max(x, half), plotWidth-half), y+17, label)
}
