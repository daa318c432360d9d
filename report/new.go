package report

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"codexlag/analyze"
	"codexlag/analyze/human"
	"codexlag/analyze/lang"
)

// New builds the document of a report: the verdict first, then what it stands
// on, then how far that can be trusted. Sections without content are left out,
// and of many groups the tables show fewer, so that it fits in an issue.
func New(r *analyze.Report) *Document {
	var d *Document
	for _, rows := range []int{maxGroups, 10, 5, 3} {
		if d = newDocument(r, rows); markdownLines(d) < maxLines {
			break
		}
	}
	return d
}

// maxLines is how long a report may be in Markdown: more nobody reads in an issue.
const maxLines = 200

func markdownLines(d *Document) int {
	var b strings.Builder
	Markdown(&b, d) // a builder takes everything
	return strings.Count(b.String(), "\n")
}

// newDocument shows up to rows groups in a table.
func newDocument(r *analyze.Report, rows int) *Document {
	b := &builder{Language: r.Options.Language, r: r, all: r.Overall, zone: zone(r.Options.Timezone), rows: rows}
	if b.all == nil {
		b.all = &analyze.Group{}
	}
	b.verdict()
	b.tiles()
	b.latency()
	b.split()
	b.turns()
	b.tail()
	b.findings()
	b.figures()
	b.groups()
	b.noise()
	b.slowest()
	b.slo()
	b.influences()
	b.models()
	b.quality()
	b.definitions()
	return &Document{Language: b.Language, Title: b.Text("Codex latency: where the waiting went"), Blocks: b.blocks}
}

// A builder collects the blocks of one report.
type builder struct {
	lang.Language
	r      *analyze.Report
	all    *analyze.Group
	zone   *time.Location // nil: every time in its own
	rows   int            // of a table of groups
	blocks []Block
}

func (b *builder) add(blocks ...Block)     { b.blocks = append(b.blocks, blocks...) }
func (b *builder) section(title string)    { b.add(Heading{2, title}) }
func (b *builder) part(title string)       { b.add(Heading{3, title}) }
func (b *builder) paragraph(spans ...Span) { b.add(Paragraph{spans}) }
func (b *builder) note(mark, text string)  { b.add(Note{mark, text}) }

// verdict is the first screen: the answer, and in the same breath its doubts.
func (b *builder) verdict() {
	v := b.all.Verdict
	headline := v.Headline
	if headline == "" {
		headline = b.Text("No request with timing was found.")
	}
	b.paragraph(Span{Text: headline, Style: Strong, Tone: phaseTone(v.Phase)})
	if v.Confidence != "" {
		doubts := ""
		if len(v.Doubts) > 0 {
			doubts = b.Text(" — ") + strings.Join(v.Doubts, b.Text("; "))
		}
		basis := ""
		if v.Basis != "" && v.Phase != analyze.PhaseNone && v.Phase != "" {
			basis = b.Sprintf(", %s", b.Word(v.Basis))
			if v.Basis == analyze.BasisMeasured && b.mostlyEstimated() {
				basis = b.Text(", estimated")
			}
			if m := b.all.RequestModel; v.Basis == analyze.BasisModelled && len(v.Doubts) == 0 && m != nil {
				doubts = b.Sprintf(" (%s explained)", human.Percent(m.Explained))
			}
		}
		b.paragraph(plain(b.Text("Confidence: ")), Span{Text: b.Word(v.Confidence), Style: Strong, Tone: confidenceTone(v.Confidence)},
			plain(basis+doubts+b.Text(".")))
	}
	b.paragraph(plain(b.scope()))
	b.filters(b.r.Options.Filters)
}

// filters tells that only a part of what was read is looked at.
func (b *builder) filters(l []string) {
	if len(l) == 0 {
		return
	}
	b.paragraph(plain(b.Text("Only what passes these filters counts: ")), name(strings.Join(l, " ")), plain(b.Text(". Files, bytes and lines are of all that was read.")))
}

// mostlyEstimated reports whether most of the known TTFTs were made of timestamps.
func (b *builder) mostlyEstimated() bool {
	q := b.r.Quality.TTFT
	return q["estimated"] > q["measured"]+q["derived"]
}

// scope says what the figures are about: 2 requests in 2 files, … to ….
func (b *builder) scope() string {
	s := lang.Plural(b.Language, b.all.Requests, "request")
	var not []string
	for _, x := range []struct {
		n    int
		what string
	}{{b.all.Failed, b.Text("failed")}, {b.all.Aborted, b.Text("aborted")}, {b.all.Warmup, b.Text("warm-up")}} {
		if x.n > 0 {
			not = append(not, b.Sprintf("%s %s", human.Count(x.n), x.what))
		}
	}
	if len(not) > 0 {
		s += b.Sprintf(" (%s)", strings.Join(not, b.Text(", ")))
	}
	if n := b.all.Turns.Count; n > 0 {
		s += b.Sprintf(" and %s", lang.Plural(b.Language, n, "turn"))
	}
	s += b.Sprintf(" in %s", lang.Plural(b.Language, b.r.Inputs.Files, "file"))
	if first, last := b.r.Inputs.First, b.r.Inputs.Last; first != nil && last != nil {
		from, to := b.time(*first)[:len("2006-01-02 15:04")], b.time(*last)[:len("2006-01-02 15:04")]
		if from[:len("2006-01-02")] == to[:len("2006-01-02")] {
			to = to[len("2006-01-02 "):]
		}
		s += b.Sprintf(", %s to %s (%s)", from, to, b.zoneName(*last))
	}
	return s + b.Text(".")
}

// zone is the place of the report's times; nil where its name is unknown here.
func zone(name string) *time.Location {
	z, err := time.LoadLocation(name)
	if err != nil {
		return nil
	}
	return z
}

func (b *builder) time(t time.Time) string {
	if b.zone != nil {
		t = t.In(b.zone)
	}
	return t.Format("2006-01-02 15:04:05")
}

// zoneName names the zone of t: UTC, Europe/Berlin, or its abbreviation.
func (b *builder) zoneName(t time.Time) string {
	switch {
	case b.zone == nil:
		return t.Format("MST")
	case b.zone == time.Local:
		return t.In(b.zone).Format("MST")
	}
	return b.zone.String()
}

// sentence ends a text with a full stop where it has no end yet.
func (b *builder) sentence(s string) string {
	if last, _ := utf8.DecodeLastRuneInString(s); s == "" || strings.ContainsRune(".!?。！？", last) {
		return s
	}
	return s + b.Text(".")
}

func phaseTone(phase string) Tone {
	switch phase {
	case analyze.PhasePrefill:
		return Prefill
	case analyze.PhaseDecode:
		return Decode
	}
	return NoTone
}

func confidenceTone(c string) Tone {
	if c == analyze.ConfidenceHigh {
		return NoTone
	}
	return Warn
}

func severityTone(s string) Tone {
	switch s {
	case analyze.SeverityInfo:
		return Info
	case analyze.SeverityWarn:
		return Warn
	case analyze.SeverityBad:
		return Bad
	}
	return NoTone
}

// percentiles are those that were asked for, or else those that are there.
func (b *builder) percentiles() []float64 {
	if len(b.r.Options.Percentiles) > 0 {
		return b.r.Options.Percentiles
	}
	for _, d := range []*analyze.Dist{b.all.Total, b.all.TTFT, b.all.OutputTokens} {
		if d != nil {
			var ps []float64
			for _, q := range d.Quantiles {
				ps = append(ps, q.P)
			}
			return ps
		}
	}
	return nil
}

// groupPercentiles are the one or two that fit in a table of groups.
func (b *builder) groupPercentiles() []float64 {
	ps := b.percentiles()
	if slices.Contains(ps, 50) && slices.Contains(ps, 90) {
		return []float64{50, 90}
	}
	return ps[:min(2, len(ps))]
}
