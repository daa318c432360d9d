package report

import (
	"fmt"

	"codexlag/analyze"
	"codexlag/analyze/human"
)

// A drawer draws the charts of one report. Each method returns nil where its
// chart has no data.
type drawer struct {
	*analyze.Charts
	r   *analyze.Report
	all *analyze.Group
}

// sampled tells that a chart stands on a sample; "" where it does not.
func (d *drawer) sampled() string {
	if d.SampledShare == nil {
		return ""
	}
	return "; a sample of " + human.Percent(*d.SampledShare) + " of the requests"
}

// The margins that most charts have.
const (
	plotLeft   = 48
	plotRight  = plotWidth - 8
	plotTop    = 12
	plotBottom = 34
)

func (d *drawer) ttft() *Figure {
	f := drawSpread("TTFT", d.TTFT, timeAxis, "prefill")
	if f != nil {
		f.ID, f.Title = "ttft", "Time to first token: distribution (ms, s)"
	}
	return f
}

func (d *drawer) tps() *Figure {
	f := drawSpread("TPS", d.TPS, rateAxis, "decode")
	if f != nil {
		f.ID, f.Title = "tps", "Output rate: distribution (tokens/s)"
	}
	return f
}

// Heights of a distribution: the histogram, below it the cumulative shares.
const (
	histogramTop, histogramBottom = 30, 150
	curveTop, curveBottom         = 168, 258
	spreadHeight                  = 282
)

func drawSpread(what string, s *analyze.Spread, values axis, class string) *Figure {
	if s == nil || len(s.Bins) == 0 {
		return nil
	}
	most, clean, noisy := 0, 0, s.Beyond
	for _, b := range s.Bins {
		most = max(most, b.Clean+b.Noisy)
		clean += b.Clean
		noisy += b.Noisy
	}
	p := &plot{height: spreadHeight}
	x := scale{lo: s.Bins[0].From, hi: s.Bins[len(s.Bins)-1].To, from: plotLeft, to: plotRight, log: true, round: values.round, write: values.label}
	bars := frame{x: x, y: scale{lo: 0, hi: float64(most), from: histogramBottom, to: histogramTop, write: shortNumber}}
	curve := scale{lo: 0, hi: 1, from: curveBottom, to: curveTop}
	for _, v := range bars.y.ticks(4, decimalSteps) {
		if v == float64(int(v)) {
			p.line("grid", x.from, bars.y.at(v), x.to, bars.y.at(v))
			p.text("tick", "end", x.from-5, bars.y.at(v)+4, shortNumber(v))
		}
	}
	for _, v := range []float64{0, 0.5, 1} {
		p.line("grid", x.from, curve.at(v), x.to, curve.at(v))
		p.text("tick", "end", x.from-5, curve.at(v)+4, fmt.Sprintf("%.0f %%", 100*v))
	}
	for _, v := range x.ticks(6, values.steps) {
		p.xTick(x.at(v), curveBottom, x.write(v))
	}
	drawBins(p, s, &x, &bars.y, class)
	drawCurves(p, s, &x, &curve, class)
	marked := markPercentiles(p, s, &x, values.tell)
	for i, b := range s.Bins {
		p.mark("hit", x.at(b.From), histogramTop, x.at(b.To)-x.at(b.From), curveBottom-histogramTop, binTip(s, i, values.tell))
	}
	f := &Figure{svg: p.svg(what + ", histogram above cumulative shares: " + marked), Numbers: spreadTable(s, values.tell)}
	f.Legend = []Key{{class, "clean, n = " + human.Count(clean)}}
	if noisy > 0 {
		f.Legend = append(f.Legend, Key{class + " faint", "noisy, n = " + human.Count(noisy)}, Key{"line " + class, "share of the clean below"}, Key{"line dashed", "share of all below"})
	} else {
		f.Legend = append(f.Legend, Key{"line " + class, "share below"})
	}
	f.Note = "Dotted: percentiles of " + percentilesOf(s) + ". The axis is logarithmic; above, requests in each bar; below, the share that is smaller."
	if s.Beyond > 0 {
		f.Note += " " + human.Count(s.Beyond) + " beyond the axis."
	}
	if s.NoisyEstimated {
		f.Note += " Noisy ones are counted in a sample."
	}
	return f
}

func drawBins(p *plot, s *analyze.Spread, x, y *scale, class string) {
	for _, b := range s.Bins {
		left, w := x.at(b.From)+0.4, x.at(b.To)-x.at(b.From)-0.8
		split, top := y.at(float64(b.Clean)), y.at(float64(b.Clean+b.Noisy))
		if b.Clean > 0 {
			p.rect(class, left, split, w, histogramBottom-split)
		}
		if b.Noisy > 0 {
			p.rect(class+" faint", left, top, w, split-top)
		}
	}
	p.line("axis", x.from, histogramBottom, x.to, histogramBottom)
}

func drawCurves(p *plot, s *analyze.Spread, x, y *scale, class string) {
	var clean, all []*[2]float64
	for _, c := range s.Curve {
		clean = append(clean, &[2]float64{x.at(c.X), y.at(c.Clean)})
		all = append(all, &[2]float64{x.at(c.X), y.at(c.All)})
	}
	if s.All != nil {
		p.path("line dashed", all)
	}
	if s.Clean != nil {
		p.path("line "+class, clean)
	}
	p.line("axis", x.from, y.from, x.to, y.from)
}

// marked is the distribution whose percentiles are marked.
func marked(s *analyze.Spread) *analyze.Dist {
	if s.Clean != nil {
		return s.Clean
	}
	return s.All
}

func percentilesOf(s *analyze.Spread) string {
	if s.Clean != nil {
		return "the clean"
	}
	return "all"
}

// markPercentiles draws a line for each and returns them in words.
func markPercentiles(p *plot, s *analyze.Spread, x *scale, write func(float64) string) string {
	d := marked(s)
	if d == nil {
		return "no percentiles"
	}
	words, free := "", 0.0
	for _, q := range d.Quantiles {
		words += q.Name() + " " + write(q.Value) + ", "
		if q.Value < x.lo || q.Value > x.hi {
			continue
		}
		at := x.at(q.Value)
		p.line("percentile", at, histogramTop-6, at, curveBottom)
		if at-12 >= free {
			p.text("tick", "middle", at, histogramTop-10, q.Name())
			free = at + 16
		}
	}
	return words + "n = " + human.Count(d.N)
}

func binTip(s *analyze.Spread, i int, write func(float64) string) string {
	b := s.Bins[i]
	tip := write(b.From) + " – " + write(b.To) + ": " + human.Count(b.Clean) + " clean"
	if s.All != nil || b.Noisy > 0 {
		tip += ", " + human.Count(b.Noisy) + " noisy"
	}
	c := s.Curve[(i+1)*(len(s.Curve)-1)/len(s.Bins)]
	if s.Clean != nil {
		return tip + "; " + human.Percent(c.Clean) + " of the clean are below " + write(b.To)
	}
	return tip + "; " + human.Percent(c.All) + " are below " + write(b.To)
}

func spreadTable(s *analyze.Spread, write func(float64) string) *Table {
	d := marked(s)
	if d == nil {
		return nil
	}
	t := &Table{Columns: []Column{{Title: "Percentile"}, {Title: "Clean", Right: true}, {Title: "All", Right: true}}}
	value := func(d *analyze.Dist, p float64) Cell { return quantileCell(d.At(p), write) }
	for _, q := range d.Quantiles {
		all := s.All
		if all == nil {
			all = s.Clean
		}
		t.Rows = append(t.Rows, []Cell{cell(q.Name()), value(s.Clean, q.P), value(all, q.P)})
	}
	return t
}
