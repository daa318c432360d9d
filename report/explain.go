package report

import (
	"math"
	"strings"

	"codexlag/analyze"
	"codexlag/analyze/human"
	"codexlag/analyze/lang"
)

// Explanation builds a document of one request's or turn's arithmetic, with a
// timeline. Two explanations, a request and its turn, make one document.
func Explanation(parts ...*analyze.Explanation) *Document {
	b := &builder{Language: parts[0].Language}
	for i, e := range parts {
		if i > 0 {
			b.section(e.Title)
		}
		b.about(e.Request)
		t := Table{Columns: []Column{{Title: b.Text("Figure")}, {Title: b.Text("How"), Fit: Wrap}, {Title: b.Text("Result"), Fit: Wrap}}}
		for _, s := range e.Steps {
			t.Rows = append(t.Rows, []Cell{cell(s.What), cell(s.How), {Span: strong(s.Result)}})
		}
		b.add(t)
		b.timeline(e)
	}
	return &Document{Language: b.Language, Title: parts[0].Title, Blocks: b.blocks}
}

// about names the request: when, which model, which session.
func (b *builder) about(q *analyze.Request) {
	if q == nil {
		return
	}
	var line Inline
	add := func(what string, name *string) {
		if name == nil {
			return
		}
		if len(line) > 0 {
			line = append(line, plain(b.Text(", ")))
		}
		line = append(line, plain(what+" "), Span{Text: *name, Style: Name})
	}
	add(b.Text("model"), q.Model)
	add(b.Text("effort"), q.Effort)
	add(b.Text("provider"), q.Provider)
	add(b.Text("session"), q.Session)
	add(b.Text("turn"), q.Turn)
	add(b.Text("label"), q.Label)
	if len(line) > 0 {
		b.add(Paragraph{line})
	}
}

const (
	timelineWidth = 40 // columns
	maxPhases     = 60 // rows; a turn can have hundreds of requests
)

// timeline draws what happened when, a row for each phase.
func (b *builder) timeline(e *analyze.Explanation) {
	if len(e.Timeline) == 0 || e.Length <= 0 {
		return
	}
	b.part(b.Text("Timeline"))
	t := Table{Columns: []Column{{Title: b.Text("From"), Right: true}, {Title: b.Text("Lasts"), Right: true}, {Title: b.Text("Phase")}, {Title: "0 … " + human.Duration(float64(e.Length)/1e6), Drop: 1}, {Title: b.Text("What"), Fit: Wrap}}}
	for i, p := range e.Timeline {
		if i == maxPhases {
			b.add(t)
			b.paragraph(plain(b.Sprintf("… and %s more.", lang.Plural(b.Language, len(e.Timeline)-i, "phase"))))
			return
		}
		tone := phaseKindTone(p.Kind)
		t.Rows = append(t.Rows, []Cell{cell(human.Duration(float64(p.Start) / 1e6)), cell(human.Duration(float64(p.End-p.Start) / 1e6)),
			{Span: Span{Text: b.Word(p.Kind), Tone: tone}}, {Span: Span{Text: lane(p, float64(e.Length)), Tone: tone}}, {Span: Span{Text: p.Label}}})
	}
	b.add(t)
}

// lane draws where on the timeline a phase lies.
func lane(p analyze.Phase, length float64) string {
	at := func(v float64) int { return int(math.Round(v / length * timelineWidth)) }
	from := min(at(float64(p.Start)), timelineWidth-1)
	to := min(max(at(float64(p.End)), from+1), timelineWidth)
	return strings.Repeat("·", from) + strings.Repeat("█", to-from) + strings.Repeat("·", timelineWidth-to)
}

func phaseKindTone(kind string) Tone {
	switch kind {
	case analyze.KindPrefill:
		return Prefill
	case analyze.KindDecode, analyze.KindReasoning:
		return Decode
	case analyze.KindTool:
		return Other
	}
	return NoTone
}
