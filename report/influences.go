package report

import (
	"strconv"
	"strings"

	"codexlag/analyze"
	"codexlag/analyze/human"
)

// influences shows what TTFT and TPS go with: the cache, and what else was in
// flight. One band alone has nothing to be compared with.
func (b *builder) influences() {
	cache, c := b.all.TTFTByCache, b.all.Concurrency
	crowds := c != nil && len(c.Bands) > 1
	unknown := c == nil && b.all.SampledShare != nil
	if len(cache) < 2 && !crowds && !unknown {
		return
	}
	b.section("What the latency goes with")
	if len(cache) > 1 {
		b.cache(cache)
	}
	switch {
	case crowds:
		b.concurrency(c)
	case unknown:
		b.paragraph(strong("Requests in flight"), plain(" are not known: there are too many requests to keep each, and the sample of "+human.Percent(*b.all.SampledShare)+
			" doesn't tell what else was in flight. Choose a shorter time with --since and --until."))
	}
}

// cache is one sentence: there are four bands at most.
func (b *builder) cache(bands []analyze.Band) {
	var l []string
	for _, band := range bands {
		l = append(l, human.DurationOr(band.TTFT)+" at "+band.Key+" (n = "+human.Count(band.Requests)+")")
	}
	b.paragraph(strong("TTFT p50"), plain(" by the part of the prompt that came from the cache: "+strings.Join(l, ", ")+"."))
}

func (b *builder) concurrency(c *analyze.Concurrency) {
	s := "While a request ran, " + human.Number(c.Mean) + " were in flight on average, itself included, and at most " + human.Number(c.Max) +
		" (mean over its time; " + human.Plural(c.Requests, "request") + " with known start and end)."
	if c.Correlation != nil {
		s += " " + crowding(*c.Correlation) + " (rank correlation " + correlation(*c.Correlation) + ", n = " + human.Count(c.CorrelationRequests) + ")."
	}
	b.paragraph(plain(s))
	t := Table{Columns: []Column{{Title: "In flight"}, {Title: "Requests", Right: true}, {Title: "TTFT p50", Right: true}, {Title: "TTFT n", Right: true, Drop: 2},
		{Title: "TPS p50, tok/s", Right: true}, {Title: "TPS n", Right: true, Drop: 1}}}
	for _, band := range c.Bands {
		tps := human.Undefined
		if band.TPS != nil {
			tps = human.Number(*band.TPS)
		}
		t.Rows = append(t.Rows, []Cell{cell(band.InFlight), cell(human.Count(band.Requests)), cell(human.DurationOr(band.TTFT)), cell(human.Count(band.TTFTRequests)),
			cell(tps), cell(human.Count(band.TPSRequests))})
	}
	b.add(t)
}

// weak: a rank correlation below it explains less than a tenth of the ranks.
const weak = 0.3

func crowding(r float64) string {
	switch {
	case r <= -weak:
		return "TPS falls with the number in flight: that points to contention, not to a slow model"
	case r >= weak:
		return "TPS does not fall with the number in flight, it rises: no sign of contention"
	}
	return "TPS hardly goes with the number in flight: no sign of contention"
}

// correlation writes a coefficient between −1 and 1: −0.62.
func correlation(r float64) string {
	if !human.Defined(r) {
		return human.Undefined
	}
	return strings.Replace(strconv.FormatFloat(r, 'f', 2, 64), "-", "−", 1)
}
