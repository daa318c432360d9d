package report

import (
	"cmp"

	"codexlag/analyze"
	"codexlag/analyze/human"
)

const scatterHeight = 250

// An axis is one side of a scatter: how its values are labelled and told.
type axis struct {
	label, tell func(float64) string
	steps       []float64
	round       []float64 // of the steps
}

var (
	timeAxis   = axis{shortDuration, human.Duration, durationSteps, roundDurations}
	tokenAxis  = axis{shortNumber, func(v float64) string { return human.Quantity(v) + " tokens" }, decimalSteps, roundDecimals}
	rateAxis   = axis{shortNumber, human.Rate, decimalSteps, roundDecimals}
	flightAxis = axis{shortNumber, func(v float64) string { return human.Number(v) + " in flight" }, decimalSteps, roundDecimals}
)

func (d *drawer) prompt() *Figure {
	f, p, fr := drawScatter(d.Prompt, tokenAxis, timeAxis, false)
	if f == nil {
		return nil
	}
	f.ID, f.Title = "prompt", "TTFT (ms, s) against uncached input (tokens)"
	words := ""
	if m := d.Prompt.Model; m != nil {
		slope := 0.0 // ms a token
		words = "Fitted: " + human.Duration(m.Overhead) + " overhead, TTFT does not grow with the prompt"
		if m.Rate != nil && *m.Rate > 0 {
			slope = 1000 / *m.Rate
			words = "Fitted: " + human.Duration(m.Overhead) + " overhead, then " + human.Rate(*m.Rate) + " of prompt"
		}
		words += "; explains " + human.Percent(m.Explained) + " of the spread (" + human.Plural(m.Requests, "request") + "). "
		drawModel(p, fr, m.Overhead, slope)
		f.Legend = append(f.Legend, Key{"line fit", "fitted line"})
	}
	f.svg = p.svg("Scatter of TTFT against uncached input tokens, n = " + human.Count(d.Prompt.N) + ". " + words)
	f.Note = words + f.Note + d.sampled() + "."
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
	f, p, _ := drawScatter(d.Length, tokenAxis, timeAxis, true)
	if f == nil {
		return nil
	}
	f.ID, f.Title = "length", "Total time (ms, s) against output (tokens)"
	f.svg = p.svg("Scatter of total time against output tokens, both logarithmic, n = " + human.Count(d.Length.N))
	f.Note = "Both axes are logarithmic; the colour is the phase that dominates the request. " + f.Note + d.sampled() + "."
	return f
}

func (d *drawer) crowd() *Figure {
	f, p, fr := drawScatter(d.Crowd, flightAxis, rateAxis, false)
	if f == nil {
		return nil
	}
	f.ID, f.Title = "crowd", "TPS (tokens/s) against requests in flight"
	words := "Median"
	f.Numbers = &Table{Columns: []Column{{Title: "In flight"}, {Title: "n", Right: true}, {Title: "TPS p50, tok/s", Right: true}}}
	var line []*[2]float64
	for i, m := range d.Crowd.Medians {
		line = append(line, &[2]float64{fr.x.at(m.X), fr.y.at(m.Y)})
		words += map[bool]string{true: " ", false: ", "}[i == 0] + human.Rate(m.Y) + " at " + m.Key
		f.Numbers.Rows = append(f.Numbers.Rows, []Cell{cell(m.Key), cell(human.Count(m.N)), cell(human.Number(m.Y))})
	}
	p.path("line fit", line)
	for _, m := range d.Crowd.Medians {
		p.dot("median", fr.x.at(m.X), fr.y.at(m.Y), 5, "median at "+m.Key+" in flight: "+human.Rate(m.Y)+", n = "+human.Count(m.N))
	}
	f.Legend = append(f.Legend, Key{"line fit", "median of each band"})
	f.svg = p.svg("Scatter of TPS against requests in flight, n = " + human.Count(d.Crowd.N) + ". " + words)
	f.Note = words + " in flight (mean over the request's time, itself included). " + f.Note + "."
	return f
}

// phaseKeys are the colours of dots; shape tells nothing.
var phaseKeys = []Key{{"prefill", analyze.PhasePrefill}, {"balanced", analyze.PhaseBalanced}, {"decode", analyze.PhaseDecode}, {"other", "split unknown"}}

func phaseClass(phase string) string {
	if phase == "" {
		return "other"
	}
	return phase
}

func drawScatter(s *analyze.Scatter, x, y axis, logarithmic bool) (*Figure, *plot, *frame) {
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
	for _, d := range s.Points {
		class := phaseClass(d.Phase)
		used[class] = true
		p.dot("dot "+class, fr.x.at(d.X), fr.y.at(d.Y), 3, x.tell(d.X)+", "+y.tell(d.Y)+"; "+cmp.Or(d.Phase, "split unknown"))
	}
	f := &Figure{Note: "n = " + human.Plural(s.N, "request")}
	if drawn := len(s.Points); drawn < s.N-s.Beyond {
		f.Note += ", " + human.Count(drawn) + " of them drawn"
	}
	if s.Beyond > 0 {
		f.Note += ", " + human.Count(s.Beyond) + " beyond the axes"
	}
	for _, k := range phaseKeys {
		if used[k.Class] {
			f.Legend = append(f.Legend, k)
		}
	}
	return f, p, fr
}
