package report

import (
	"cmp"
	"fmt"
	"strconv"

	"codexlag/analyze"
	"codexlag/analyze/human"
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
		l = append(l, stack{b.By, b.Key, human.Plural(b.Requests, "request"),
			[]part{{"prefill", "prefill", b.Prefill}, {"decode", "decode", b.Decode}, {"other", "split unknown", b.Unsplit}}})
	}
	return drawStacks(l, "time", "Where the time of requests went (share of the summed waiting, %)", "request", d.omitted())
}

func (d *drawer) turnTime() *Figure {
	var l []stack
	for _, b := range d.TurnTime {
		l = append(l, stack{b.By, b.Key, human.Plural(b.Count, "turn"),
			[]part{{"prefill", "prefill", b.Prefill}, {"decode", "decode", b.Decode}, {"model", "model, split unknown", b.Model}, {"tool", "tools", b.Tool}, {"other", "other", b.Other}}})
	}
	return drawStacks(l, "turn-time", "Where the time of turns went (share of the summed duration, %)", "turn", d.omitted())
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
		return " The groups with the most waiting; " + human.Count(more) + " more have no bar."
	}
	if drawn > 0 && len(d.r.Options.By) == 0 && d.SampledShare != nil {
		return " Models are from a sample of " + human.Percent(*d.SampledShare) + " of the requests."
	}
	return ""
}

const (
	stackStep   = 42
	stackHeight = 16
)

func drawStacks(l []stack, id, title, noun, more string) *Figure {
	if len(l) == 0 || !(l[0].total() > 0) {
		return nil
	}
	p := &plot{}
	f := &Figure{ID: id, Title: title, Numbers: &Table{Columns: []Column{{Title: "Group", Fit: Shorten}, {Title: "n", Right: true}}}}
	used := make(map[string]bool)
	y, by := 0.0, ""
	for i := range l {
		s := &l[i]
		if s.by != by {
			by = s.by
			p.text("head", "start", 0, y+11, "by "+by)
			y += 18
		}
		drawStack(p, s, y, used)
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
		f.Numbers.Rows = append(f.Numbers.Rows, stackRow(&l[i], used))
	}
	f.svg = p.svg("Stacked bars, all " + l[0].count + ": " + shares(&l[0]))
	f.Note = "n = " + l[0].count + "; each bar is 100 % of the time of its " + noun + "s." + more
	return f
}

func drawStack(p *plot, s *stack, y float64, used map[string]bool) {
	name := shorten(visible(stackName(s)), 28)
	p.text("label", "start", 0, y+11, name)
	p.text("tick", "end", plotWidth, y+11, human.Duration(s.total())+", "+s.count)
	x := 0.0
	for _, part := range s.parts {
		share := part.ms / s.total()
		if !(share > 0) {
			continue
		}
		used[part.class] = true
		w := share * plotWidth
		p.mark(part.class+" seg", x, y+16, w, stackHeight, name+", "+part.name+": "+human.Percent(share)+", "+human.Duration(part.ms)+" ("+s.count+")")
		if w > 46 {
			p.text("in", "middle", x+w/2, y+28, fmt.Sprintf("%.0f %%", 100*share))
		}
		x += w
	}
}

func stackName(s *stack) string {
	if s.by == "" {
		return "all"
	}
	return cmp.Or(s.key, "(not stated)")
}

func stackRow(s *stack, used map[string]bool) []Cell {
	row := []Cell{nameCell(stackName(s)), cell(s.count)}
	for _, part := range s.parts {
		if used[part.class] {
			row = append(row, cell(human.Percent(part.ms/s.total())))
		}
	}
	return row
}

func shares(s *stack) string {
	words := ""
	for _, part := range s.parts {
		if part.ms > 0 {
			words += part.name + " " + human.Percent(part.ms/s.total()) + ", "
		}
	}
	return words + "of " + human.Duration(s.total())
}

// kinds are how the phases of a lane look and are called.
var kinds = map[string]Key{
	analyze.KindPrefill:   {"prefill", "prefill"},
	analyze.KindReasoning: {"reasoning", "hidden reasoning"},
	analyze.KindDecode:    {"decode", "decode"},
	analyze.KindModel:     {"model", "model, split unknown"},
	analyze.KindTool:      {"tool", "tools (lower track)"},
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
	f := &Figure{ID: "slowest-turns", Title: "The slowest turns (time since the turn began)",
		Numbers: &Table{Columns: []Column{{Title: "Turn ends at", Fit: Shorten}, {Title: "Duration", Right: true}, {Title: "Requests", Right: true}, {Title: "Tool calls", Right: true}}}}
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
			p.mark(k.Class, from, top, max(to-from, 0.6), height, kindName(ph.Kind)+", "+ph.Label+": "+human.Duration(float64((ph.End-ph.Start).Microseconds())/1000)+
				", from "+human.Duration(float64(ph.Start.Microseconds())/1000))
		}
		f.Numbers.Rows = append(f.Numbers.Rows, []Cell{nameCell(l.Source), cell(human.Duration(l.Duration)), cell(strconv.Itoa(l.Requests)), cell(strconv.Itoa(l.Tools))})
	}
	for _, k := range kindOrder {
		if used[k] {
			f.Legend = append(f.Legend, kinds[k])
		}
	}
	f.svg = p.svg("Timelines of the " + human.Plural(len(d.SlowTurns), "slowest turn") + "; the longest took " + human.Duration(d.SlowTurns[0].Duration))
	f.Note = "n = " + human.Plural(len(d.SlowTurns), "turn") + " of " + human.Count(d.all.Turns.Count) + ". Where nothing is drawn, no log tells what happened."
	if left > 0 {
		f.Note += " " + human.Count(left) + " short phases are left out."
	}
	return f
}

func kindName(kind string) string {
	if kind == analyze.KindTool {
		return "tool"
	}
	return kinds[kind].Text
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
		for _, part := range requestParts(q) {
			if !(part.ms > 0) {
				continue
			}
			used[part.class] = true
			to := from + part.ms
			p.mark(part.class, x.at(from), y+16, max(x.at(to)-x.at(from), 0.6), 12, q.Source+", "+part.name+": "+human.Duration(part.ms)+" of "+human.Duration(*q.Total)+
				", "+tokensText(q.OutputTokens)+" tokens, "+q.Status)
			from = to
		}
	}
	f := &Figure{ID: "slowest-requests", Title: "The slowest requests (time since they were sent)"}
	for _, k := range []Key{{"prefill", "prefill"}, {"decode", "decode"}, {"other", "split unknown"}} {
		if used[k.Class] {
			f.Legend = append(f.Legend, k)
		}
	}
	f.svg = p.svg("Timelines of the " + human.Plural(len(l), "slowest request") + "; the longest took " + human.Duration(*l[0].Total))
	f.Note = "n = " + human.Plural(len(l), "request") + " of " + human.Count(d.all.Requests) + "."
	return f
}

func requestParts(q *analyze.Request) []part {
	if q.PrefillShare == nil || q.TTFT == nil {
		return []part{{"other", "split unknown", *q.Total}}
	}
	return []part{{"prefill", "prefill", *q.TTFT}, {"decode", "decode", *q.Total - *q.TTFT}}
}
