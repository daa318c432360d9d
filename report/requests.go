package report

import (
	"strconv"
	"strings"
	"time"

	"codexlag/analyze"
	"codexlag/analyze/human"
)

// slowest lists the requests with the longest total.
func (b *builder) slowest() {
	if len(b.r.Slowest) == 0 {
		return
	}
	b.section(b.Text("The slowest requests"))
	b.requests(b.r.Slowest)
	b.paragraph(plain(b.Text("What one of them waited for, step by step: ")), name("codexlag explain "+shellWord(b.r.Slowest[0].Source)))
}

// shellWord writes a word as it has to be typed.
func shellWord(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-:=+,@%", r) || r > 0x7f)
	}) {
		return "'" + strings.ReplaceAll(s, "'", `'\\''`) + "'"
	}
	return s
}

// Requests builds a document with a table of requests, their times in zone
// (nil: each time in its own). For millions use a [RequestWriter].
func Requests(requests []*analyze.Request, zone *time.Location) *Document {
	b := &builder{zone: zone}
	if len(requests) == 0 {
		b.paragraph(plain(b.Text("No requests.")))
	} else {
		b.requests(requests)
	}
	return &Document{Language: b.Language, Title: b.Text("Requests"), Blocks: b.blocks}
}

// requests adds a table of requests and explains its signs. Columns that are
// empty for all of them are left out.
func (b *builder) requests(requests []*analyze.Request) {
	ended := b.Text("Ended")
	for _, q := range requests {
		if q.Time != nil {
			ended += b.Sprintf(" (%s)", b.zoneName(*q.Time))
			break
		}
	}
	t := Table{Columns: []Column{{Title: b.Text("Source"), Fit: Shorten}, {Title: ended, Drop: 6}, {Title: b.Text("Model"), Fit: Shorten, Drop: 2},
		{Title: "TTFT", Right: true}, {Title: b.Text("Total"), Right: true}, {Title: b.Text("Tokens"), Right: true, Drop: 1},
		{Title: "TPS, tok/s", Right: true}, {Title: b.Text("Phase"), Fit: Wrap}, {Title: b.Text("Flags"), Fit: Wrap, Drop: 3}}}
	var estimated, bound bool
	for _, q := range requests {
		estimated = estimated || q.TTFT != nil && q.TTFTQuality == "estimated"
		bound = bound || q.TTFT != nil && q.TTFTQuality == "bound"
		t.Rows = append(t.Rows, b.requestRow(q))
	}
	b.add(withoutEmpty(t))
	if estimated {
		b.note("~", b.Text("estimated from the timestamps around the request"))
	}
	if bound {
		b.note("≤", b.Text("only an upper bound of the TTFT is known"))
	}
}

func (b *builder) requestRow(q *analyze.Request) []Cell {
	ended := human.Undefined
	if q.Time != nil {
		ended = b.time(*q.Time)
	}
	flags := cell("")
	if len(q.Flags) > 0 {
		flags = nameCell(flagList(q.Flags, ", "))
	}
	return []Cell{nameCell(q.Source), cell(ended), optionalName(q.Model), cell(ttftText(q)), cell(human.DurationOr(q.Total)),
		cell(tokensText(q.OutputTokens)), cell(tpsText(q)), b.outcomeCell(q), flags}
}

func optionalName(s *string) Cell {
	if s == nil || *s == "" {
		return cell(human.Undefined)
	}
	return nameCell(*s)
}

// ttftText is a TTFT with the sign of its quality: ~ estimated, ≤ bound.
func ttftText(q *analyze.Request) string {
	if q.TTFT == nil {
		return human.Undefined
	}
	switch q.TTFTQuality {
	case "estimated":
		return "~" + human.Duration(*q.TTFT)
	case "bound":
		return "≤ " + human.Duration(*q.TTFT)
	}
	return human.Duration(*q.TTFT)
}

func tokensText(n *int64) string {
	if n == nil {
		return human.Undefined
	}
	return human.Count(*n)
}

// tpsText is the rate of one request, which is never told without its error.
func tpsText(q *analyze.Request) string {
	if q.TPS == nil {
		return human.Undefined
	}
	if q.TPSError == nil {
		return human.Number(*q.TPS)
	}
	return human.Number(*q.TPS) + " " + human.RelativeError(*q.TPSError)
}

// outcomeCell is the phase of a request, or why it has none.
func (b *builder) outcomeCell(q *analyze.Request) Cell {
	if q.Status != "ok" && q.Status != "" {
		c := cell(b.Word(q.Status))
		switch {
		case q.HTTPStatus != nil:
			c.Text += " (HTTP " + strconv.Itoa(*q.HTTPStatus) + ")"
		case q.Error != nil && *q.Error != "":
			c.Text += " (" + *q.Error + ")"
		}
		if q.Status == "failed" {
			c.Tone = Bad
		}
		return c
	}
	if q.Phase == nil {
		return cell(human.Undefined)
	}
	return Cell{Span: Span{Text: b.Word(*q.Phase), Tone: phaseTone(*q.Phase)}}
}

func flagList(flags []analyze.Flag, sep string) string {
	s := make([]string, len(flags))
	for i, f := range flags {
		s[i] = string(f)
	}
	return strings.Join(s, sep)
}
