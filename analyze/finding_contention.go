package analyze

import (
	"codexlag/analyze/human"
)

// contended: a loss of rate by less than a fifth is not worth waiting in line.
const contended = 0.8

// contention tells that tokens come more slowly while several requests are in
// flight: they share something, and the model alone would be faster.
func contention(f *facts) []found {
	if f.share < 1 {
		return nil // in a sample, requests seem alone that were not
	}
	inFlight := inFlight(f.population)
	model := f.crowdedModel(inFlight)
	var alone, crowded []float64
	var decode int64
	for i, w := range f.rows {
		tps, ok := w.steadyRate()
		if !ok || w.model() != model || inFlight[i] == 0 {
			continue
		}
		switch n := inFlight[i]; {
		case n < 1.5:
			alone = append(alone, tps)
		case n >= 2.5:
			crowded = append(crowded, tps)
			decode += w.total - w.ttft
		}
	}
	c, ok := contrasted(alone, crowded, minMedian)
	if !ok {
		return f.contentionUnknown(c)
	}
	if c.factor() > contended || c.p() >= Alpha {
		return nil
	}
	stake := int64((1 - c.factor()) * float64(decode))
	return one(SeverityWarn, "contention", stake, f.Text("Tokens come more slowly while several requests are in flight"),
		f.Sprintf("TPS p50%s is %s alone (n=%d), %s with three or more in flight (n=%d): %s, %s",
			f.of(model), human.Rate(c.ma), c.a.n(), human.Rate(c.mb), c.b.n(), human.Change(c.factor()-1), human.PValue(c.p())),
		f.Text("That is contention, not a slow model: run fewer sessions or sub-agents at once, or ask for more capacity where they share a gateway or a tier"))
}

// crowdedModel returns the model with the most rates whose neighbours are known.
func (f *facts) crowdedModel(inFlight []float64) string {
	known := make([]*row, 0, len(f.rows))
	for i, w := range f.rows {
		if _, ok := w.steadyRate(); ok && inFlight[i] > 0 {
			known = append(known, w)
		}
	}
	model, _ := mostUsed(known)
	return model
}

// contentionUnknown says why contention cannot be judged, where the stream is
// slow and requests did run at the same time.
func (f *facts) contentionUnknown(c *contrast) []found {
	if c.b.n() < minMedian || f.all.TPS.Pooled == nil || *f.all.TPS.Pooled >= f.options.SLO.TPS {
		return nil
	}
	return f.inconclusive("contention", f.Text("is it the model or too much at once?"),
		f.Sprintf("%d requests ran with three or more in flight, only %d alone (%d are needed)", c.b.n(), c.a.n(), minMedian),
		f.Text("Run some requests one after the other and compare"))
}
