package report

import (
	"fmt"

	"codexlag/analyze"
	"codexlag/analyze/human"
	"codexlag/analyze/lang"
)

// A drawer draws the charts of one report. Each method returns nil where its
// chart has no data.
type drawer struct {
	lang.Language
	*analyze.Charts
	r   *analyze.Report
	all *analyze.Group
}

// sampled tells that a chart stands on a sample; "" where it does not.
func (d *drawer) sampled() string {
	if d.SampledShare == nil {
		return ""
	}
	return d.Sprintf("; a sample of %s of the requests", human.Percent(*d.SampledShare))
}

// The margins that most charts have.
const (
	plotLeft   = 48
	plotRight  = plotWidth - 8
	plotTop    = 12
	plotBottom = 34
)

func (d *drawer) ttft() *Figure {
	f := d.drawSpread("TTFT", d.TTFT, timeAxis, "prefill")
	if f != nil {
		f.ID, f.Title = "ttft", d.Text("Time to first token: distribution (ms, s)")
	}
	return f
}

func (d *drawer) tps() *Figure {
	f := d.drawSpread("TPS", d.TPS, rateAxis, "decode")
	if f != nil {
		f.ID, f.Title = "tps", d.Text("Output rate: distribution (tokens/s)")
	}
	return f
}

// Heights of a distribution: the histogram, below it the cumulative shares.
const (
	histogramTop, histogramBottom = 30, 150
	curveTop, curveBottom         = 168, 258
	spreadHeight                  = 282
)

func (d *drawer) drawSpread(what string, s *analyze.Spread, values axis, class string) *Figure {
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
	marked := d.markPercentiles(p, s, &x, values.tell)
	for i, b := range s.Bins {
		p.mark("hit", x.at(b.From), histogramTop, x.at(b.To)-x.at(b.From), curveBottom-histogramTop, d.binTip(s, i, values.tell))
	}
	f := &Figure{svg: p.svg(d.Sprintf("%s, histogram above cumulative shares: %s", what, marked)), Numbers: d.spreadTable(s, values.tell)}
	f.Legend = []Key{{class, d.Sprintf("clean, n = %s", human.Count(clean))}}
	if noisy > 0 {
		f.Legend = append(f.Legend, Key{class + " faint", d.Sprintf("noisy, n = %s", human.Count(noisy))}, Key{"line " + class, d.Text("share of the clean below")}, Key{"line dashed", d.Text("share of all below")})
	} else {
		f.Legend = append(f.Legend, Key{"line " + class, d.Text("share below")})
	}
	f.Note = d.Sprintf("Dotted: percentiles of %s. The axis is logarithmic; above, requests in each bar; below, the share that is smaller.", d.percentilesOf(s))
	if s.Beyond > 0 {
		f.Note += d.Sprintf(" %s beyond the axis.", human.Count(s.Beyond))
	}
	if s.NoisyEstimated {
		f.Note += d.Text(" Noisy ones are counted in a sample.")
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

func (d *drawer) percentilesOf(s *analyze.Spread) string {
	if s.Clean != nil {
		return d.Text("the clean")
	}
	return d.Text("all")
}

// markPercentiles draws a line for each and returns them in words.
func (d *drawer) markPercentiles(p *plot, s *analyze.Spread, x *scale, write func(float64) string) string {
	dist := marked(s)
	if dist == nil {
		return d.Text("no percentiles")
	}
	words, free := "", 0.0
	for _, q := range dist.Quantiles {
		words += q.Name() + " " + write(q.Value) + d.Text(", ")
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
	return words + "n = " + human.Count(dist.N)
}

func (d *drawer) binTip(s *analyze.Spread, i int, write func(float64) string) string {
	b := s.Bins[i]
	tip := d.Sprintf("%s – %s: %s clean", write(b.From), write(b.To), human.Count(b.Clean))
	if s.All != nil || b.Noisy > 0 {
		tip += d.Sprintf(", %s noisy", human.Count(b.Noisy))
	}
	c := s.Curve[(i+1)*(len(s.Curve)-1)/len(s.Bins)]
	if s.Clean != nil {
		return tip + d.Sprintf("; %s of the clean are below %s", human.Percent(c.Clean), write(b.To))
	}
	return tip + d.Sprintf("; %s are below %s", human.Percent(c.All), write(b.To))
}

func (d *drawer) spreadTable(s *analyze.Spread, write func(float64) string) *Table {
	dist := marked(s)
	if dist == nil {
		return nil
	}
	t := &Table{Columns: []Column{{Title: d.Text("Percentile")}, {Title: d.Text("Clean"), Right: true}, {Title: d.Text("All"), Right: true}}}
	value := func(d *analyze.Dist, p float64) Cell { return quantileCell(d.At(p), write) }
	for _, q := range dist.Quantiles {
		all := s.All
		if all == nil {
			all = s.Clean
		}
		t.Rows = append(t.Rows, []Cell{cell(q.Name()), value(s.Clean, q.P), value(all, q.P)})
	}
	return t
}
