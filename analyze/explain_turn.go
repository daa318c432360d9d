package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"codexlag/analyze/human"
	"codexlag/analyze/lang"
	"codexlag/parse/record"
)

// ExplainTurn explains one turn: its parts, and what happened when.
func ExplainTurn(t *record.Turn, o *Options) *Explanation {
	e := &Explanation{Language: o.Language, Title: o.Language.Sprintf("Turn that ends at %s", t.Pos), Length: t.Duration}
	e.step(e.Text("requests"), e.Text("calls of the model in this turn"), human.Count(len(t.Requests)))
	e.step(e.Text("status"), e.Text("how the turn ended"), e.Word(t.Status.String()))
	if t.HasTTFT {
		e.step(e.Text("turn TTFT"), e.Text("from the start of the turn to its first visible output, as Codex states it; set-up and hidden reasoning are inside"), exact(t.TTFT))
	}
	if t.Duration <= 0 {
		e.step(e.Text("duration"), e.Text("the log does not tell, so there are no parts that add up"), human.Undefined)
	} else {
		e.parts(t, o)
	}
	e.Timeline = turnPhases(t, o)
	if n := len(e.Timeline); n > 0 {
		for _, p := range e.Timeline {
			e.Length = max(e.Length, p.End)
		}
	}
	return e
}

func (e *Explanation) parts(t *record.Turn, o *Options) {
	p := splitTurn(t, o)
	e.step(e.Text("duration"), e.Text("start to end of the turn"), exact(t.Duration))
	part := func(name, how string, d time.Duration) {
		e.step(name, how, fmt.Sprintf("%s, %s", exact(d), human.Percent(float64(d)/float64(t.Duration))))
	}
	part(e.Text("prefill"), e.Text("Σ TTFT of the requests with a known split"), p.prefill)
	part(e.Text("decode"), e.Text("Σ decode of the same"), p.decode)
	part(e.Text("model"), e.Text("Σ total of the requests whose split is unknown"), p.model)
	part(e.Text("tools"), e.Sprintf("union of %s; waits for approval are inside", lang.Plural(e.Language, len(t.Tools), "interval")), p.tool)
	part(e.Text("other"), e.Text("duration − the four above, never below 0: set-up, hooks, queues, pauses"), p.other)
}

// turnPhases lays a turn on a timeline. It is empty where its start is unknown.
func turnPhases(t *record.Turn, o *Options) []Phase {
	start := t.Start
	for _, r := range t.Requests {
		if !r.Start.IsZero() && (start.IsZero() || r.Start.Before(start)) {
			start = r.Start
		}
	}
	if start.IsZero() {
		return nil
	}
	var p []Phase
	for i, r := range t.Requests {
		if r.Start.IsZero() {
			continue
		}
		m := derive(r, o)
		p = append(p, requestPhases(r, &m, o.Language.Sprintf("request %d: ", i+1), r.Start.Sub(start), o.Language)...)
	}
	for _, tool := range t.Tools {
		if tool.End.After(tool.Start) && !tool.Start.Before(start) {
			p = append(p, Phase{KindTool, cmp.Or(tool.Tool, o.Language.Text("tool")), tool.Start.Sub(start), tool.End.Sub(start)})
		}
	}
	return withWaits(p, t.Duration, o.Language)
}

// minWait is the shortest gap that a timeline shows: below, it is only the
// writing of the log.
const minWait = 50 * time.Millisecond

// withWaits sorts the phases and fills the gaps that no log tells of.
func withWaits(p []Phase, length time.Duration, l lang.Language) []Phase {
	slices.SortStableFunc(p, func(a, b Phase) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) })
	if len(p) == 0 {
		return nil
	}
	var out []Phase
	var end time.Duration
	wait := func(until time.Duration) {
		if until-end >= minWait {
			out = append(out, Phase{KindWait, l.Text("no log tells"), end, until})
		}
	}
	for _, ph := range p {
		wait(ph.Start)
		out = append(out, ph)
		end = max(end, ph.End)
	}
	wait(length)
	return out
}
