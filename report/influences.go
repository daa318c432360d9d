package report

import (
	"strconv"
	"strings"

	"codexlag/analyze"
	"codexlag/analyze/human"
	"codexlag/analyze/lang"
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
	b.section(b.Text("What the latency goes with"))
	if len(cache) > 1 {
		b.cache(cache)
	}
	switch {
	case crowds:
		b.concurrency(c)
	case unknown:
		b.paragraph(strong(b.Text("Requests in flight")), plain(b.Sprintf(" are not known: there are too many requests to keep each, and the sample of %s doesn't tell what else was in flight. Choose a shorter time with --since and --until.",
			human.Percent(*b.all.SampledShare))))
	}
}

// cache is one sentence: there are four bands at most.
func (b *builder) cache(bands []analyze.Band) {
	var l []string
	for _, band := range bands {
		l = append(l, b.Sprintf("%s at %s (n = %s)", human.DurationOr(band.TTFT), b.Word(band.Key), human.Count(band.Requests)))
	}
	b.paragraph(strong("TTFT p50"), plain(b.Sprintf(" by the part of the prompt that came from the cache: %s.", strings.Join(l, b.Text(", ")))))
}

func (b *builder) concurrency(c *analyze.Concurrency) {
	s := b.Sprintf("While a request ran, %s were in flight on average, itself included, and at most %s (mean over its time; %s with known start and end).",
		human.Number(c.Mean), human.Number(c.Max), lang.Plural(b.Language, c.Requests, "request"))
	if c.Correlation != nil {
		s += b.Sprintf(" %s (rank correlation %s, n = %s).", b.crowding(*c.Correlation), correlation(*c.Correlation), human.Count(c.CorrelationRequests))
	}
	b.paragraph(plain(s))
	t := Table{Columns: []Column{{Title: b.Text("In flight")}, {Title: b.Text("Requests"), Right: true}, {Title: "TTFT p50", Right: true}, {Title: "TTFT n", Right: true, Drop: 2},
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

func (b *builder) crowding(r float64) string {
	switch {
	case r <= -weak:
		return b.Text("TPS falls with the number in flight: that points to contention, not to a slow model")
	case r >= weak:
		return b.Text("TPS does not fall with the number in flight, it rises: no sign of contention")
	}
	return b.Text("TPS hardly goes with the number in flight: no sign of contention")
}

// correlation writes a coefficient between −1 and 1: −0.62.
func correlation(r float64) string {
	if !human.Defined(r) {
		return human.Undefined
	}
	return strings.Replace(strconv.FormatFloat(r, 'f', 2, 64), "-", "−", 1)
}
