package report

import (
	"math"
	"strconv"
	"strings"

	"codexlag/analyze"
	"codexlag/analyze/human"
	"codexlag/analyze/lang"
)

// split shows the time of the requests whose TTFT and total are known.
func (b *builder) split() {
	t := b.all.Time
	if t.Total <= 0 && t.Unsplit <= 0 && t.Failed <= 0 {
		return
	}
	b.section(b.Text("Where the time went"))
	if t.Total > 0 {
		b.paragraph(plain(b.Sprintf("%s of waiting in %s with a known split:", human.Duration(t.Total), lang.Plural(b.Language, t.Requests, "request"))))
		b.add(Bars{[]Bar{
			{b.Text("prefill"), t.Prefill / t.Total, human.Duration(t.Prefill), Prefill},
			{b.Text("decode"), t.Decode / t.Total, human.Duration(t.Decode), Decode},
		}})
	}
	if t.Unsplit > 0 {
		lead := b.Text("Another ")
		if t.Total <= 0 {
			lead = b.Text("All ")
		}
		b.paragraph(plain(b.Sprintf("%s%s (%s of the waiting) went to completed requests whose split is not known.%s",
			lead, human.Duration(t.Unsplit), human.Percent(t.Unsplit/(t.Unsplit+t.Total)), b.modelledSplit())))
	}
	b.failedTime()
	b.reasoning()
}

// failedTime tells what was waited for in vain, which is in no bar.
func (b *builder) failedTime() {
	t := b.all.Time
	if t.FailedRequests == 0 {
		return
	}
	s := b.Sprintf("Requests that failed or were aborted took another %s, which is in none of these figures", human.Duration(t.Failed))
	if all := b.all.Failed + b.all.Aborted; all > t.FailedRequests {
		s += b.Sprintf(" (%s of %s tell how long)", human.Count(t.FailedRequests), human.Count(all))
	}
	b.paragraph(plain(s + b.Text(".")))
}

// modelledSplit says what a model makes of the requests that no log splits.
func (b *builder) modelledSplit() string {
	m := b.all.RequestModel
	t := b.all.Time
	if m == nil || m.PrefillShare == nil || t.Unsplit < 0.1*t.Total {
		return "" // next to nothing is left to be modelled
	}
	return b.Sprintf(" A model from token counts, which covers requests of both kinds, makes prefill %s and decode %s of their time (see Modelled, not measured).",
		human.Percent(*m.PrefillShare), human.Percent(1-*m.PrefillShare))
}

// reasoning tells the part of the decoding that nobody got to read.
func (b *builder) reasoning() {
	r := b.all.Reasoning
	if r == nil || r.Share == nil {
		return
	}
	b.paragraph(plain(b.Sprintf("Of the output, %s was hidden reasoning: %s of %s tokens in the %s that tell it.",
		human.Percent(*r.Share), human.Quantity(r.Reasoning), human.Quantity(r.Output), lang.Plural(b.Language, r.Requests, "request"))))
}

// turns shows the time of whole agent turns.
func (b *builder) turns() {
	t := b.all.Turns
	if t.Count == 0 {
		return
	}
	b.part(b.Text("Agent turns"))
	s := lang.Plural(b.Language, t.Count, "turn")
	if t.Duration != nil {
		s += b.Sprintf(", %s each on average", human.Duration(t.Duration.Mean))
		if q := t.Duration.At(50); q != nil {
			s += b.Sprintf(" (median %s)", human.Duration(q.Value))
		}
	}
	for _, x := range []struct {
		n    int
		what string
	}{{t.Failed, b.Text("failed")}, {t.Aborted, b.Text("aborted")}, {t.Unfinished, b.Text("unfinished")}} {
		if x.n > 0 {
			s += b.Text("; ") + b.Sprintf("%s %s", human.Count(x.n), x.what)
		}
	}
	if t.TTFT != nil {
		if q := t.TTFT.At(50); q != nil {
			s += b.Sprintf("; median wait for the first visible output %s (%s)", human.Duration(q.Value), lang.Plural(b.Language, t.TTFT.N, "turn"))
		}
	}
	b.paragraph(plain(s + b.Text(".")))
	sum := t.Prefill + t.Decode + t.Model + t.Tool + t.Other
	if sum <= 0 {
		return
	}
	b.add(Bars{[]Bar{
		{b.Text("prefill"), t.Prefill / sum, human.Duration(t.Prefill), Prefill},
		{b.Text("decode"), t.Decode / sum, human.Duration(t.Decode), Decode},
		{b.Text("model"), t.Model / sum, human.Duration(t.Model), NoTone},
		{b.Text("tools"), t.Tool / sum, human.Duration(t.Tool), Other},
		{b.Text("other"), t.Other / sum, human.Duration(t.Other), NoTone},
	}})
	if t.Model > 0 {
		b.note("", b.Text("model: requests of turns whose split into prefill and decode is not known"))
	}
	b.failedParts()
}

// failedParts tells how much of the parts of turns was waited for in vain.
func (b *builder) failedParts() {
	t := b.all.Turns
	var l []string
	for _, x := range []struct {
		part string
		ms   float64
	}{{b.Text("prefill"), t.FailedPrefill}, {b.Text("decode"), t.FailedDecode}, {b.Text("model"), t.FailedModel}} {
		if x.ms > 0 {
			l = append(l, x.part+" "+human.Duration(x.ms))
		}
	}
	if len(l) > 0 {
		b.note("", b.Sprintf("of this, requests that failed or were aborted took: %s", strings.Join(l, b.Text(", "))))
	}
	if b.all.Failed+b.all.Aborted > 0 {
		b.note("", b.Text("other: also failed requests that the log of the turn does not tell of"))
	}
}

// causes says in words what makes a tail slow.
var causes = map[string]struct{ short, why string }{
	analyze.CauseSlowStart:  {lang.Mark("slow start"), lang.Mark("they wait longer for the first token")},
	analyze.CauseLongOutput: {lang.Mark("long output"), lang.Mark("they generate more tokens, which takes longer at any rate")},
	analyze.CauseSlowStream: {lang.Mark("slow stream"), lang.Mark("their tokens come more slowly")},
}

// tail says why the slow requests are slow.
func (b *builder) tail() {
	t := b.all.Verdict.Tail
	if t == nil {
		return
	}
	b.section(b.Text("Why the slow ones are slow"))
	c, known := causes[t.Cause]
	if !known {
		c.short, c.why = t.Cause, lang.Mark("see the parts")
	}
	b.paragraph(plain(b.Sprintf("Of the %s with a known split, the slowest %s (total ≥ p90) take %s longer than the others on average, mostly for one reason: ",
		lang.Plural(b.Language, b.all.Time.Requests, "request"), human.Count(t.Requests), human.Duration(math.Abs(t.Delta)))), strong(b.Word(c.short)), plain(b.Sprintf(" — %s.", b.Word(c.why))))
	tbl := Table{Columns: []Column{{Title: b.Text("Part")}, {Title: b.Text("Δ mean"), Right: true}, {Title: b.Text("Share of Δ"), Right: true}, {Title: b.Text("What it is"), Fit: Wrap}}}
	for _, p := range []struct {
		cause string
		ms    float64
		what  string
	}{
		{analyze.CauseSlowStart, t.TTFT, either(t.TTFT, b.Text("later first token"), b.Text("earlier first token"))},
		{analyze.CauseLongOutput, t.Length, either(t.Length, b.Text("more tokens"), b.Text("fewer tokens"))},
		{analyze.CauseSlowStream, t.Speed, either(t.Speed, b.Text("more time per token"), b.Text("less time per token"))},
	} {
		row := []Cell{cell(b.Word(causes[p.cause].short)), cell(human.Difference(p.ms)), cell(signedShare(p.ms, t.Delta)), cell(p.what)}
		if p.cause == t.Cause {
			row[0].Style = Strong
		}
		tbl.Rows = append(tbl.Rows, row)
	}
	b.add(tbl)
}

func either(v float64, more, less string) string {
	if v < 0 {
		return less
	}
	return more
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
	b.section(b.Text("Findings"))
	var l List
	for i, f := range b.r.Findings {
		item := Item{Anchor: findingAnchor(i), Text: Inline{
			{Text: b.severityLabel(f.Severity) + b.Text(": ") + b.sentence(f.Title), Style: Strong, Tone: severityTone(f.Severity)},
		}}
		if f.Evidence != "" {
			item.Text = append(item.Text, plain(" "+b.sentence(f.Evidence)))
		}
		if f.Advice != "" {
			item.More = append(item.More, text(b.Sprintf("What to do: %s", b.sentence(f.Advice))))
		}
		l.Items = append(l.Items, item)
	}
	b.add(l)
}

// findingAnchor is the place of a finding on a page.
func findingAnchor(i int) string { return "finding-" + strconv.Itoa(i+1) }

func (b *builder) severityLabel(s string) string {
	switch s {
	case analyze.SeverityInfo:
		return b.Text("Note")
	case analyze.SeverityWarn:
		return b.Text("Warning")
	case analyze.SeverityBad:
		return b.Text("Problem")
	}
	return s
}
