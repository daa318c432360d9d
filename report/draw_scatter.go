package report

import (
	"cmp"
	"strings"

	"codexlag/analyze"
	"codexlag/analyze/human"
	"codexlag/analyze/lang"
)

const scatterHeight = 250

// An axis is one side of a scatter: how its values are labelled and told.
type axis struct {
	label, tell func(float64) string
	steps       []float64
	round       []float64 // of the steps
}

var (
	timeAxis = axis{shortDuration, human.Duration, durationSteps, roundDurations}
	rateAxis = axis{shortNumber, human.Rate, decimalSteps, roundDecimals}
)

func (d *drawer) tokenAxis() axis {
	return axis{shortNumber, func(v float64) string { return d.Sprintf("%s tokens", human.Quantity(v)) }, decimalSteps, roundDecimals}
}

func (d *drawer) flightAxis() axis {
	return axis{shortNumber, func(v float64) string { return d.Sprintf("%s in flight", human.Number(v)) }, decimalSteps, roundDecimals}
}

func (d *drawer) prompt() *Figure {
	f, p, fr := d.drawScatter(d.Prompt, d.tokenAxis(), timeAxis, false)
	if f == nil {
		return nil
	}
	f.ID, f.Title = "prompt", d.Text("TTFT (ms, s) against uncached input (tokens)")
	words := ""
	if m := d.Prompt.Model; m != nil {
		slope := 0.0 // ms a token
		words = d.Sprintf("Fitted: %s overhead, TTFT does not grow with the prompt", human.Duration(m.Overhead))
		if m.Rate != nil && *m.Rate > 0 {
			slope = 1000 / *m.Rate
			words = d.Sprintf("Fitted: %s overhead, then %s of prompt", human.Duration(m.Overhead), human.Rate(*m.Rate))
		}
		words += d.Sprintf("; explains %s of the spread (%s). ", human.Percent(m.Explained), lang.Plural(d.Language, m.Requests, "request"))
		drawModel(p, fr, m.Overhead, slope)
		f.Legend = append(f.Legend, Key{"line fit", d.Text("fitted line")})
	}
	f.svg = p.svg(d.Sprintf("Scatter of TTFT against uncached input tokens, n = %s. %s", human.Count(d.Prompt.N), words))
	f.Note = words + f.Note + d.sampled() + d.Text(".")
	return f
}

// drawModel draws the line up to where it leaves the chart.
func drawModel(p *plot, f *frame, overhead, slope float64) {
	end := f.x.hi
	if slope > 0 && overhead+slope*end > f.y.hi {
		end = (f.y.hi - overhead) / slope
	}
	if end > 0 {
		p.line("line fit", f.x.at(0), f.y.at(overhead), f.x.at(end), f.y.at(overhead+slope*end))
	}
}

func (d *drawer) length() *Figure {
	f, p, _ := d.drawScatter(d.Length, d.tokenAxis(), timeAxis, true)
	if f == nil {
		return nil
	}
	f.ID, f.Title = "length", d.Text("Total time (ms, s) against output (tokens)")
	f.svg = p.svg(d.Sprintf("Scatter of total time against output tokens, both logarithmic, n = %s", human.Count(d.Length.N)))
	f.Note = d.Text("Both axes are logarithmic; the colour is the phase that dominates the request. ") + f.Note + d.sampled() + d.Text(".")
	return f
}

func (d *drawer) crowd() *Figure {
	f, p, fr := d.drawScatter(d.Crowd, d.flightAxis(), rateAxis, false)
	if f == nil {
		return nil
	}
	f.ID, f.Title = "crowd", d.Text("TPS (tokens/s) against requests in flight")
	var medians []string
	f.Numbers = &Table{Columns: []Column{{Title: d.Text("In flight")}, {Title: "n", Right: true}, {Title: "TPS p50, tok/s", Right: true}}}
	var line []*[2]float64
	for _, m := range d.Crowd.Medians {
		line = append(line, &[2]float64{fr.x.at(m.X), fr.y.at(m.Y)})
		medians = append(medians, d.Sprintf("%s at %s", human.Rate(m.Y), m.Key))
		f.Numbers.Rows = append(f.Numbers.Rows, []Cell{cell(m.Key), cell(human.Count(m.N)), cell(human.Number(m.Y))})
	}
	words := d.Sprintf("Median %s", strings.Join(medians, d.Text(", ")))
	p.path("line fit", line)
	for _, m := range d.Crowd.Medians {
		p.dot("median", fr.x.at(m.X), fr.y.at(m.Y), 5, d.Sprintf("median at %s in flight: %s, n = %s", m.Key, human.Rate(m.Y), human.Count(m.N)))
	}
	f.Legend = append(f.Legend, Key{"line fit", d.Text("median of each band")})
	f.svg = p.svg(d.Sprintf("Scatter of TPS against requests in flight, n = %s. %s", human.Count(d.Crowd.N), words))
	f.Note = d.Sprintf("%s in flight (mean over the request's time, itself included). %s.", words, f.Note)
	return f
}

// phaseKeys are the colours of dots; shape tells nothing.
var phaseKeys = []Key{{"prefill", analyze.PhasePrefill}, {"balanced", analyze.PhaseBalanced}, {"decode", analyze.PhaseDecode}, {"other", lang.Mark("split unknown")}}

func phaseClass(phase string) string {
	if phase == "" {
		return "other"
	}
	return phase
}

func (d *drawer) drawScatter(s *analyze.Scatter, x, y axis, logarithmic bool) (*Figure, *plot, *frame) {
	if s == nil || s.N < 2 {
		return nil, nil, nil
	}
	p := &plot{height: scatterHeight}
	fr := &frame{
		x:      scale{lo: s.MinX, hi: s.MaxX, from: plotLeft, to: plotRight, log: logarithmic, round: x.round, write: x.label},
		y:      scale{lo: s.MinY, hi: s.MaxY, from: scatterHeight - plotBottom, to: plotTop, log: logarithmic, round: y.round, write: y.label},
		xSteps: x.steps, ySteps: y.steps,
	}
	p.axes(fr)
	used := make(map[string]bool)
	for _, pt := range s.Points {
		class := phaseClass(pt.Phase)
		used[class] = true
		p.dot("dot "+class, fr.x.at(pt.X), fr.y.at(pt.Y), 3, x.tell(pt.X)+d.Text(", ")+y.tell(pt.Y)+d.Text("; ")+d.Word(cmp.Or(pt.Phase, "split unknown")))
	}
	f := &Figure{Note: "n = " + lang.Plural(d.Language, s.N, "request")}
	if drawn := len(s.Points); drawn < s.N-s.Beyond {
		f.Note += d.Sprintf(", %s of them drawn", human.Count(drawn))
	}
	if s.Beyond > 0 {
		f.Note += d.Sprintf(", %s beyond the axes", human.Count(s.Beyond))
	}
	for _, k := range phaseKeys {
		if used[k.Class] {
			f.Legend = append(f.Legend, Key{k.Class, d.Word(k.Text)})
		}
	}
	return f, p, fr
}
