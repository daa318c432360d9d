package report

import (
	"fmt"
	"strconv"

	"codexlag/analyze"
	"codexlag/analyze/human"
	"codexlag/analyze/lang"
)

// A stack is one stacked bar: parts of one whole.
type stack struct {
	by, key string
	count   string // 12 requests
	parts   []part
}

// A part is a piece of a stacked bar or of a lane.
type part struct {
	class, name string
	ms          float64
}

func (s *stack) total() float64 {
	t := 0.0
	for _, p := range s.parts {
		t += p.ms
	}
	return t
}

func (d *drawer) time() *Figure {
	var l []stack
	for _, b := range d.Time {
		l = append(l, stack{b.By, b.Key, lang.Plural(d.Language, b.Requests, "request"),
			[]part{{"prefill", d.Text("prefill"), b.Prefill}, {"decode", d.Text("decode"), b.Decode}, {"other", d.Text("split unknown"), b.Unsplit}}})
	}
	return d.drawStacks(l, "time", d.Text("Where the time of requests went (share of the summed waiting, %)"), d.Text("requests"), d.omitted())
}

func (d *drawer) turnTime() *Figure {
	var l []stack
	for _, b := range d.TurnTime {
		l = append(l, stack{b.By, b.Key, lang.Plural(d.Language, b.Count, "turn"),
			[]part{{"prefill", d.Text("prefill"), b.Prefill}, {"decode", d.Text("decode"), b.Decode}, {"model", d.Text("model, split unknown"), b.Model}, {"tool", d.Text("tools"), b.Tool}, {"other", d.Text("other"), b.Other}}})
	}
	return d.drawStacks(l, "turn-time", d.Text("Where the time of turns went (share of the summed duration, %)"), d.Text("turns"), d.omitted())
}

// omitted tells how many groups have no bar.
func (d *drawer) omitted() string {
	drawn := 0
	for _, b := range d.Time {
		if b.By != "" {
			drawn++
		}
	}
	if more := len(d.r.Groups) - drawn; more > 0 && len(d.r.Options.By) > 0 {
		return d.Sprintf(" The groups with the most waiting; %s more have no bar.", human.Count(more))
	}
	if drawn > 0 && len(d.r.Options.By) == 0 && d.SampledShare != nil {
		return d.Sprintf(" Models are from a sample of %s of the requests.", human.Percent(*d.SampledShare))
	}
	return ""
}

const (
	stackStep   = 42
	stackHeight = 16
)

func (d *drawer) drawStacks(l []stack, id, title, nouns, more string) *Figure {
	if len(l) == 0 || !(l[0].total() > 0) {
		return nil
	}
	p := &plot{}
	f := &Figure{ID: id, Title: title, Numbers: &Table{Columns: []Column{{Title: d.Text("Group"), Fit: Shorten}, {Title: "n", Right: true}}}}
	used := make(map[string]bool)
	y, by := 0.0, ""
	for i := range l {
		s := &l[i]
		if s.by != by {
			by = s.by
			p.text("head", "start", 0, y+11, d.Sprintf("by %s", d.Word(by)))
			y += 18
		}
		d.drawStack(p, s, y, used)
		y += stackStep
	}
	p.height = y
	for _, part := range l[0].parts {
		if used[part.class] {
			f.Legend = append(f.Legend, Key{part.class, part.name})
			f.Numbers.Columns = append(f.Numbers.Columns, Column{Title: part.name, Right: true})
		}
	}
	for i := range l {
		f.Numbers.Rows = append(f.Numbers.Rows, d.stackRow(&l[i], used))
	}
	f.svg = p.svg(d.Sprintf("Stacked bars, all %s: %s", l[0].count, d.shares(&l[0])))
	f.Note = d.Sprintf("n = %s; each bar is 100 %% of the time of its %s.%s", l[0].count, nouns, more)
	return f
}

func (d *drawer) drawStack(p *plot, s *stack, y float64, used map[string]bool) {
	name := shorten(visible(d.stackName(s)), 28)
	p.text("label", "start", 0, y+11, name)
	p.text("tick", "end", plotWidth, y+11, human.Duration(s.total())+d.Text(", ")+s.count)
	x := 0.0
	for _, part := range s.parts {
		share := part.ms / s.total()
		if !(share > 0) {
			continue
		}
		used[part.class] = true
		w := share * plotWidth
		p.mark(part.class+" seg", x, y+16, w, stackHeight, d.Sprintf("%s, %s: %s, %s (%s)", name, part.name, human.Percent(share), human.Duration(part.ms), s.count))
		if w > 46 {
			p.text("in", "middle", x+w/2, y+28, fmt.Sprintf("%.0f %%", 100*share))
		}
		x += w
	}
}

func (d *drawer) stackName(s *stack) string {
	if s.by == "" {
		return d.Text("all")
	}
	b := builder{Language: d.Language}
	return b.keyCell(s.by, s.key).Text
}

func (d *drawer) stackRow(s *stack, used map[string]bool) []Cell {
	row := []Cell{nameCell(d.stackName(s)), cell(s.count)}
	for _, part := range s.parts {
		if used[part.class] {
			row = append(row, cell(human.Percent(part.ms/s.total())))
		}
	}
	return row
}

func (d *drawer) shares(s *stack) string {
	words := ""
	for _, part := range s.parts {
		if part.ms > 0 {
			words += part.name + " " + human.Percent(part.ms/s.total()) + d.Text(", ")
		}
	}
	return d.Sprintf("%sof %s", words, human.Duration(s.total()))
}

// kinds are how the phases of a lane look and are called.
var kinds = map[string]Key{
	analyze.KindPrefill:   {"prefill", lang.Mark("prefill")},
	analyze.KindReasoning: {"reasoning", lang.Mark("hidden reasoning")},
	analyze.KindDecode:    {"decode", lang.Mark("decode")},
	analyze.KindModel:     {"model", lang.Mark("model, split unknown")},
	analyze.KindTool:      {"tool", lang.Mark("tools (lower track)")},
}

var kindOrder = []string{analyze.KindPrefill, analyze.KindReasoning, analyze.KindDecode, analyze.KindModel, analyze.KindTool}

const laneStep = 46

// slowest is the waterfall of the longest turns, or where no log tells of
// turns, of the slowest requests.
func (d *drawer) slowest() *Figure {
	if len(d.SlowTurns) == 0 {
		return d.slowRequests()
	}
	x := scale{lo: 0, hi: d.SlowTurns[0].Duration, from: 0, to: plotWidth, write: shortDuration}
	for _, l := range d.SlowTurns {
		for _, ph := range l.Phases {
			x.hi = max(x.hi, float64(ph.End.Microseconds())/1000)
		}
	}
	p := &plot{height: float64(laneStep*len(d.SlowTurns)) + 22}
	f := &Figure{ID: "slowest-turns", Title: d.Text("The slowest turns (time since the turn began)"),
		Numbers: &Table{Columns: []Column{{Title: d.Text("Turn ends at"), Fit: Shorten}, {Title: d.Text("Duration"), Right: true}, {Title: d.Text("Requests"), Right: true}, {Title: d.Text("Tool calls"), Right: true}}}}
	drawLaneAxis(p, &x)
	used := make(map[string]bool)
	left := 0
	for i := range d.SlowTurns {
		l := &d.SlowTurns[i]
		left += l.Left
		y := float64(laneStep * i)
		p.text("label", "start", 0, y+11, shorten(visible(l.Source), 34))
		p.text("tick", "end", plotWidth, y+11, human.Duration(l.Duration))
		p.rect("track", 0, y+16, x.at(l.Duration), 24)
		for _, ph := range l.Phases {
			from, to := x.at(float64(ph.Start.Microseconds())/1000), x.at(float64(ph.End.Microseconds())/1000)
			top, height := y+16, 14.0
			if ph.Kind == analyze.KindTool {
				top, height = y+31, 9
			}
			used[ph.Kind] = true
			k := kinds[ph.Kind]
			p.mark(k.Class, from, top, max(to-from, 0.6), height, d.Sprintf("%s, %s: %s, from %s",
				d.kindName(ph.Kind), ph.Label, human.Duration(float64((ph.End-ph.Start).Microseconds())/1000), human.Duration(float64(ph.Start.Microseconds())/1000)))
		}
		f.Numbers.Rows = append(f.Numbers.Rows, []Cell{nameCell(l.Source), cell(human.Duration(l.Duration)), cell(strconv.Itoa(l.Requests)), cell(strconv.Itoa(l.Tools))})
	}
	for _, k := range kindOrder {
		if used[k] {
			f.Legend = append(f.Legend, Key{kinds[k].Class, d.Word(kinds[k].Text)})
		}
	}
	f.svg = p.svg(d.Sprintf("Timelines of the %s; the longest took %s", lang.Plural(d.Language, len(d.SlowTurns), "slowest turn"), human.Duration(d.SlowTurns[0].Duration)))
	f.Note = d.Sprintf("n = %s of %s. Where nothing is drawn, no log tells what happened.", lang.Plural(d.Language, len(d.SlowTurns), "turn"), human.Count(d.all.Turns.Count))
	if left > 0 {
		f.Note += d.Sprintf(" %s short phases are left out.", human.Count(left))
	}
	return f
}

func (d *drawer) kindName(kind string) string {
	if kind == analyze.KindTool {
		return d.Text("tool")
	}
	return d.Word(kinds[kind].Text)
}

func drawLaneAxis(p *plot, x *scale) {
	bottom := p.height - 22
	for _, v := range x.ticks(6, durationSteps) {
		p.line("grid", x.at(v), 16, x.at(v), bottom)
		p.xTick(x.at(v), bottom, x.write(v))
	}
	p.line("axis", 0, bottom, plotWidth, bottom)
}

// slowRequests draws the requests with the longest totals.
func (d *drawer) slowRequests() *Figure {
	var l []*analyze.Request
	for _, q := range d.r.Slowest {
		if q.Total != nil && *q.Total > 0 && len(l) < 10 {
			l = append(l, q)
		}
	}
	if len(l) == 0 {
		return nil
	}
	const step = 34
	p := &plot{height: float64(step*len(l)) + 22}
	x := scale{lo: 0, hi: *l[0].Total, from: 0, to: plotWidth, write: shortDuration}
	drawLaneAxis(p, &x)
	used := make(map[string]bool)
	for i, q := range l {
		y := float64(step * i)
		p.text("label", "start", 0, y+11, shorten(visible(q.Source), 34))
		p.text("tick", "end", plotWidth, y+11, human.Duration(*q.Total))
		from := 0.0
		for _, part := range d.requestParts(q) {
			if !(part.ms > 0) {
				continue
			}
			used[part.class] = true
			to := from + part.ms
			p.mark(part.class, x.at(from), y+16, max(x.at(to)-x.at(from), 0.6), 12, d.Sprintf("%s, %s: %s of %s, %s tokens, %s",
				q.Source, part.name, human.Duration(part.ms), human.Duration(*q.Total), tokensText(q.OutputTokens), d.Word(q.Status)))
			from = to
		}
	}
	f := &Figure{ID: "slowest-requests", Title: d.Text("The slowest requests (time since they were sent)")}
	for _, k := range []Key{{"prefill", d.Text("prefill")}, {"decode", d.Text("decode")}, {"other", d.Text("split unknown")}} {
		if used[k.Class] {
			f.Legend = append(f.Legend, k)
		}
	}
	f.svg = p.svg(d.Sprintf("Timelines of the %s; the longest took %s", lang.Plural(d.Language, len(l), "slowest request"), human.Duration(*l[0].Total)))
	f.Note = d.Sprintf("n = %s of %s.", lang.Plural(d.Language, len(l), "request"), human.Count(d.all.Requests))
	return f
}

func (d *drawer) requestParts(q *analyze.Request) []part {
	if q.PrefillShare == nil || q.TTFT == nil {
		return []part{{"other", d.Text("split unknown"), *q.Total}}
	}
	return []part{{"prefill", d.Text("prefill"), *q.TTFT}, {"decode", d.Text("decode"), *q.Total - *q.TTFT}}
}
