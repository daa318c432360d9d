package report

import (
	"math"
	"strconv"

	"codexlag/analyze"
	"codexlag/analyze/human"
)

// split shows the time of the requests whose TTFT and total are known.
func (b *builder) split() {
	t := b.all.Time
	if t.Total <= 0 && t.Unsplit <= 0 {
		return
	}
	b.section("Where the time went")
	if t.Total > 0 {
		b.paragraph(plain(human.Duration(t.Total) + " of waiting in " + human.Plural(t.Requests, "request") + " with a known split:"))
		b.add(Bars{[]Bar{
			{"prefill", t.Prefill / t.Total, human.Duration(t.Prefill), Prefill},
			{"decode", t.Decode / t.Total, human.Duration(t.Decode), Decode},
		}})
	}
	if t.Unsplit > 0 {
		lead := "Another "
		if t.Total <= 0 {
			lead = "All "
		}
		b.paragraph(plain(lead + human.Duration(t.Unsplit) + " (" + human.Percent(t.Unsplit/(t.Unsplit+t.Total)) +
			" of the waiting) went to completed requests whose split is not known." + b.modelledSplit()))
	}
	b.reasoning()
}

// modelledSplit says what a model makes of the requests that no log splits.
func (b *builder) modelledSplit() string {
	m := b.all.RequestModel
	t := b.all.Time
	if m == nil || m.PrefillShare == nil || t.Unsplit < 0.1*t.Total {
		return "" // next to nothing is left to be modelled
	}
	return " Modelled from token counts, prefill is " + human.Percent(*m.PrefillShare) + " and decode " + human.Percent(1-*m.PrefillShare) +
		" of the time (see Modelled, not measured)."
}

// reasoning tells the part of the decoding that nobody got to read.
func (b *builder) reasoning() {
	r := b.all.Reasoning
	if r == nil || r.Share == nil {
		return
	}
	b.paragraph(plain("Of the output, " + human.Percent(*r.Share) + " was hidden reasoning: " + human.Quantity(r.Reasoning) + " of " +
		human.Quantity(r.Output) + " tokens in the " + human.Plural(r.Requests, "request") + " that tell it."))
}

// turns shows the time of whole agent turns.
func (b *builder) turns() {
	t := b.all.Turns
	if t.Count == 0 {
		return
	}
	b.part("Agent turns")
	s := human.Plural(t.Count, "turn")
	if t.Duration != nil {
		s += ", " + human.Duration(t.Duration.Mean) + " each on average"
		if q := t.Duration.At(50); q != nil {
			s += " (median " + human.Duration(q.Value) + ")"
		}
	}
	for _, x := range []struct {
		n    int
		what string
	}{{t.Failed, "failed"}, {t.Aborted, "aborted"}, {t.Unfinished, "unfinished"}} {
		if x.n > 0 {
			s += "; " + human.Count(x.n) + " " + x.what
		}
	}
	if t.TTFT != nil {
		if q := t.TTFT.At(50); q != nil {
			s += "; median wait for the first visible output " + human.Duration(q.Value) + " (" + human.Plural(t.TTFT.N, "turn") + ")"
		}
	}
	b.paragraph(plain(s + "."))
	sum := t.Prefill + t.Decode + t.Model + t.Tool + t.Other
	if sum <= 0 {
		return
	}
	b.add(Bars{[]Bar{
		{"prefill", t.Prefill / sum, human.Duration(t.Prefill), Prefill},
		{"decode", t.Decode / sum, human.Duration(t.Decode), Decode},
		{"model", t.Model / sum, human.Duration(t.Model), NoTone},
		{"tools", t.Tool / sum, human.Duration(t.Tool), Other},
		{"other", t.Other / sum, human.Duration(t.Other), NoTone},
	}})
	if t.Model > 0 {
		b.note("", "model: requests of turns whose split into prefill and decode is not known")
	}
}

// causes says in words what makes a tail slow.
var causes = map[string]struct{ short, why string }{
	analyze.CauseSlowStart:  {"slow start", "they wait longer for the first token"},
	analyze.CauseLongOutput: {"long output", "they generate more tokens; the decoder is not slower"},
	analyze.CauseSlowStream: {"slow stream", "their tokens come more slowly"},
}

// tail says why the slow requests are slow.
func (b *builder) tail() {
	t := b.all.Verdict.Tail
	if t == nil {
		return
	}
	b.section("Why the slow ones are slow")
	c, known := causes[t.Cause]
	if !known {
		c.short, c.why = t.Cause, "see the parts"
	}
	b.paragraph(plain("Of the "+human.Plural(b.all.Time.Requests, "request")+" with a known split, the slowest "+human.Count(t.Requests)+" (total ≥ p90) take "+human.Duration(math.Abs(t.Delta))+
		" longer than the others on average, mostly for one reason: "), strong(c.short), plain(" — "+c.why+"."))
	tbl := Table{Columns: []Column{{Title: "Part"}, {Title: "Δ mean", Right: true}, {Title: "Share of Δ", Right: true}, {Title: "What it is", Fit: Wrap}}}
	for _, p := range []struct {
		cause string
		ms    float64
		what  string
	}{
		{analyze.CauseSlowStart, t.TTFT, "later first token"},
		{analyze.CauseLongOutput, t.Length, "more tokens"},
		{analyze.CauseSlowStream, t.Speed, "more time per token"},
	} {
		row := []Cell{cell(causes[p.cause].short), cell(human.Difference(p.ms)), cell(signedShare(p.ms, t.Delta)), cell(p.what)}
		if p.cause == t.Cause {
			row[0].Style = Strong
		}
		tbl.Rows = append(tbl.Rows, row)
	}
	b.add(tbl)
}

// signedShare is a part of a difference, which may point the other way.
func signedShare(part, whole float64) string {
	if whole == 0 {
		return human.Undefined
	}
	v := part / whole
	if v < 0 {
		return "−" + human.Percent(-v)
	}
	return human.Percent(v)
}

// findings are what is worth knowing, the worst first as analyze orders them.
func (b *builder) findings() {
	if len(b.r.Findings) == 0 {
		return
	}
	b.section("Findings")
	var l List
	for i, f := range b.r.Findings {
		item := Item{Anchor: findingAnchor(i), Text: Inline{
			{Text: severityLabel(f.Severity) + ": " + sentence(f.Title), Style: Strong, Tone: severityTone(f.Severity)},
		}}
		if f.Evidence != "" {
			item.Text = append(item.Text, plain(" "+sentence(f.Evidence)))
		}
		if f.Advice != "" {
			item.More = append(item.More, text("What to do: "+sentence(f.Advice)))
		}
		l.Items = append(l.Items, item)
	}
	b.add(l)
}

// findingAnchor is the place of a finding on a page.
func findingAnchor(i int) string { return "finding-" + strconv.Itoa(i+1) }

func severityLabel(s string) string {
	switch s {
	case analyze.SeverityInfo:
		return "Note"
	case analyze.SeverityWarn:
		return "Warning"
	case analyze.SeverityBad:
		return "Problem"
	}
	return s
}
