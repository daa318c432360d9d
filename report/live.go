package report

import (
	"bufio"
	"slices"
	"strconv"
	"strings"
	"time"

	"codexlag/analyze"
	"codexlag/analyze/human"
	"codexlag/analyze/lang"
)

// LiveLine is one completed request in one line: when, the model, TTFT, tokens,
// TPS, phase and what was slow. Where it is wider than the terminal, the least
// needed fields go.
func LiveLine(q *analyze.Request, ended, now time.Time, o TextOptions) string {
	t := &terminal{TextOptions: o.in(o.Language)}
	clock := "15:04:05"
	if now.Sub(ended) > halfDay {
		clock = "2006-01-02 15:04:05" // an old log that was moved here
	}
	model := human.Undefined
	if q.Model != nil {
		model = *q.Model
	}
	outcome := (&builder{Language: o.Language}).outcomeCell(q)
	fields := []liveField{
		{text: ended.Format(clock), columns: 8, drop: 4},
		{text: shorten(t.clean(model), 20), columns: 16, drop: 3},
		{text: "TTFT " + pad(t.clean(ttftText(q)), 8, true), columns: 13},
		{text: t.clean(tokensText(q.OutputTokens)) + " tok", columns: 10, right: true, drop: 2},
		{text: t.clean(t.liveTPS(q)), columns: 11, right: true, drop: 1},
		{text: t.clean(outcome.Text), columns: 8, tone: outcome.Tone},
		{text: t.slowness(q), tone: Warn},
	}
	return t.fields(fields)
}

const halfDay = 12 * time.Hour

// A liveField is a column of a line that stands alone: it knows its width
// beforehand, and may be wider.
type liveField struct {
	text    string
	columns int
	right   bool
	drop    int // how early it goes where there is too little room; 0 never
	tone    Tone
}

// fields puts the fields side by side, without those that do not fit.
func (t *terminal) fields(l []liveField) string {
	for {
		plain := t.fieldLine(l, false)
		if t.Width <= 0 || width(plain) <= t.Width {
			return t.fieldLine(l, true)
		}
		least := -1
		for i, f := range l {
			if f.drop > 0 && (least < 0 || f.drop > l[least].drop) {
				least = i
			}
		}
		if least < 0 {
			return crop(plain, t.Width)
		}
		l = slices.Delete(slices.Clone(l), least, least+1)
	}
}

func (t *terminal) fieldLine(l []liveField, paint bool) string {
	var b strings.Builder
	for i, f := range l {
		if i > 0 && f.text != "" {
			b.WriteString("  ")
		}
		s := pad(f.text, f.columns, f.right)
		if paint && f.tone != NoTone {
			s = t.paint(f.text, toneANSI[f.tone]) + s[len(f.text):] // such a field is aligned to the left
		}
		b.WriteString(s)
	}
	return strings.TrimRight(b.String(), " ")
}

// liveTPS is the rate of a request, or that it says nothing.
func (t *terminal) liveTPS(q *analyze.Request) string {
	switch {
	case q.TPS == nil || q.Status != "ok":
		return human.Undefined
	case !q.Clean():
		return t.Language.Text("noisy")
	}
	return human.Rate(*q.TPS)
}

// slowness says what of a request was beyond the limits.
func (t *terminal) slowness(q *analyze.Request) string {
	start, stream := slices.Contains(q.Flags, analyze.SlowStart), slices.Contains(q.Flags, analyze.SlowStream)
	switch {
	case start && stream:
		return t.Language.Text("slow start and stream")
	case start:
		return t.Language.Text("slow start")
	case stream:
		return t.Language.Text("slow stream")
	case slices.Contains(q.Flags, analyze.Burst):
		return t.Language.Text("came in one piece")
	}
	return ""
}

// A LiveView is what stands below the lines of a live report.
type LiveView struct {
	Windows []LiveWindow
	Recent  []float64 // TTFT in ms, the latest at the end
	Status  string    // what is going on, in one line
}

// A LiveWindow is the figures of one stretch of time.
type LiveWindow struct {
	Name string
	*analyze.LiveFigures
}

// minColored is the width from which the windows fit without being cut.
const minColored = 40

// Footer returns the lines of the view, each narrower than the terminal and at
// most height of them. What does not fit is left out, the least needed first.
func (v *LiveView) Footer(o TextOptions, height int) []string {
	if o.Width <= 0 {
		o.Width = 80
	}
	o.Width-- // a terminal may wrap behind the last column
	if o.Width < minColored {
		o.Color = false // lines that have to be cut
	}
	o = o.in(o.Language)
	t := &terminal{TextOptions: o}
	rule := "─"
	if !o.Unicode {
		rule = "-"
	}
	table := v.table(t)
	if o.Width < minColored {
		for i := range table {
			table[i] = crop(table[i], o.Width)
		}
	}
	lines := append([]string{t.paint(strings.Repeat(rule, max(o.Width, 0)), ansiDim)}, table...)
	for _, s := range []string{v.turns(t), v.spark(t), t.paint(crop(t.clean(v.Status), o.Width), ansiDim)} {
		if s != "" {
			lines = append(lines, s)
		}
	}
	switch height = max(height, 1); {
	case height <= len(table): // no room for all windows: the shortest alone
		return table[1:2]
	case height < len(lines):
		return lines[:height]
	}
	return lines
}

// table writes the windows one below the other.
func (v *LiveView) table(t *terminal) []string {
	x := Table{Columns: []Column{{Title: ""}, {Title: "n", Right: true}, {Title: "TTFT p50", Right: true}, {Title: "p90", Right: true, Drop: 2},
		{Title: t.Language.Text("TPS clean"), Right: true, Drop: 3}, {Title: t.Language.Text("pooled"), Right: true, Drop: 1},
		{Title: t.Language.Text("prefill"), Right: true, Drop: 4}, {Title: t.Language.Text("decode"), Right: true, Drop: 5}, {Title: t.Language.Text("unsplit"), Right: true, Drop: 8},
		{Title: t.Language.Text("in flight"), Right: true, Drop: 9}, {Title: t.Language.Text("failed"), Right: true, Drop: 7}, {Title: t.Language.Text("SLO met"), Right: true, Drop: 6}}}
	for _, w := range v.Windows {
		x.Rows = append(x.Rows, t.liveRow(w))
	}
	var b strings.Builder
	own := *t
	own.b, own.prose = bufio.NewWriter(&b), t.Width
	own.rows(x, own.grid(x)) // without a word on what does not fit
	own.b.Flush()
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

func (t *terminal) liveRow(w LiveWindow) []Cell {
	f := w.LiveFigures
	n := human.Count(f.Requests)
	if f.Cut {
		n = "≥ " + n
	}
	ttft := [2]string{human.Undefined, human.Undefined}
	for i, q := range f.TTFT {
		ttft[i] = human.Duration(q.Value)
		if q.Thin {
			ttft[i] += "*"
		}
	}
	split := f.Prefill + f.Decode
	share := func(part, whole float64) string {
		if whole <= 0 {
			return human.Undefined
		}
		return human.Percent(part / whole)
	}
	rate := func(v *float64) string {
		if v == nil {
			return human.Undefined
		}
		return human.Number(*v)
	}
	flight := human.Undefined
	if f.InFlight != nil {
		flight = strconv.FormatFloat(*f.InFlight, 'f', 2, 64)
	}
	met := human.PercentOr(f.SLO.Share)
	if f.SLO.Unknown > 0 {
		met += " " + t.Language.Sprintf("(%s not known)", human.Count(f.SLO.Unknown))
	}
	return []Cell{cell(t.Language.Word(w.Name)), cell(n), cell(ttft[0]), cell(ttft[1]), cell(rate(f.TPSClean)), cell(rate(f.TPSPooled)),
		{Span: Span{Text: share(f.Prefill, split), Tone: Prefill}}, {Span: Span{Text: share(f.Decode, split), Tone: Decode}},
		cell(share(f.Unsplit, split+f.Unsplit)), cell(flight), cell(human.Count(f.Failed)), cell(met)}
}

// turns says where the time of the turns of the widest window with any went.
func (v *LiveView) turns(t *terminal) string {
	for i := len(v.Windows) - 1; i >= 0; i-- {
		w := v.Windows[i]
		u := w.Turns
		all := u.Prefill + u.Decode + u.Model + u.Tool + u.Other
		if all <= 0 || w.Name == "all" && i > 0 && v.Windows[i-1].Turns.Count > 0 {
			continue
		}
		return t.clean(crop(t.Language.Sprintf("%s (%s): prefill %s, decode %s, model %s, tools %s, other %s", lang.Plural(t.Language, u.Count, "turn"), t.Language.Word(w.Name),
			human.Percent(u.Prefill/all), human.Percent(u.Decode/all), human.Percent(u.Model/all), human.Percent(u.Tool/all), human.Percent(u.Other/all)), t.Width))
	}
	return ""
}

var (
	sparkBlocks = []rune("▁▂▃▄▅▆▇█")
	sparkASCII  = []rune("_.-~=+*#")
)

// spark draws the latest TTFTs beside the least and the greatest of them, or
// alone where there is little room.
func (v *LiveView) spark(t *terminal) string {
	const head, least = "TTFT ", 5
	recent := v.Recent
	for len(recent) > 0 {
		tail := t.clean(t.Language.Sprintf("  last %s, %s to %s", human.Count(len(recent)), human.Duration(slices.Min(recent)), human.Duration(slices.Max(recent))))
		room := t.Width - len(head) - width(tail)
		if len(recent) <= room {
			return head + t.paint(sparkLine(recent, t.Unicode), toneANSI[Prefill]) + tail
		}
		if room < least {
			room = max(0, min(len(recent), t.Width-len(head)))
			return crop(head, t.Width) + sparkLine(recent[len(recent)-room:], t.Unicode)
		}
		recent = recent[len(recent)-room:]
	}
	return ""
}

// sparkLine draws one character a value, from nothing to the greatest.
func sparkLine(values []float64, unicode bool) string {
	steps := sparkASCII
	if unicode {
		steps = sparkBlocks
	}
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	line := make([]rune, len(values))
	for i, v := range values {
		k := 0
		if top > 0 {
			k = int(v / top * float64(len(steps)))
		}
		line[i] = steps[min(k, len(steps)-1)]
	}
	return string(line)
}

// crop cuts text without colours to so many columns.
func crop(s string, columns int) string { return screen.Truncate(s, max(columns, 0), "") }
