package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"codexlag/analyze/human"
	"codexlag/parse/record"
)

// ExplainTurn explains one turn: its parts, and what happened when.
func ExplainTurn(t *record.Turn, o *Options) *Explanation {
	e := &Explanation{Title: "Turn that ends at " + t.Pos.String(), Length: t.Duration}
	e.step("requests", "calls of the model in this turn", human.Count(len(t.Requests)))
	e.step("status", "how the turn ended", t.Status.String())
	if t.HasTTFT {
		e.step("turn TTFT", "from the start of the turn to its first visible output, as Codex states it; set-up and hidden reasoning are inside", exact(t.TTFT))
	}
	if t.Duration <= 0 {
		e.step("duration", "the log does not tell, so there are no parts that add up", human.Undefined)
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
	e.step("duration", "start to end of the turn", exact(t.Duration))
	part := func(name, how string, d time.Duration) {
		e.step(name, how, fmt.Sprintf("%s, %s", exact(d), human.Percent(float64(d)/float64(t.Duration))))
	}
	part("prefill", "Σ TTFT of the requests with a known split", p.prefill)
	part("decode", "Σ decode of the same", p.decode)
	part("model", "Σ total of the requests whose split is unknown", p.model)
	part("tools", fmt.Sprintf("union of %s; waits for approval are inside", human.Plural(len(t.Tools), "interval")), p.tool)
	part("other", "duration − the four above, never below 0: set-up, hooks, queues, pauses", p.other)
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
		p = append(p, requestPhases(r, &m, fmt.Sprintf("request %d: ", i+1), r.Start.Sub(start))...)
	}
	for _, tool := range t.Tools {
		if tool.End.After(tool.Start) && !tool.Start.Before(start) {
			p = append(p, Phase{KindTool, cmp.Or(tool.Tool, "tool"), tool.Start.Sub(start), tool.End.Sub(start)})
		}
	}
	return withWaits(p, t.Duration)
}

// minWait is the shortest gap that a timeline shows: below, it is only the
// writing of the log.
const minWait = 50 * time.Millisecond

// withWaits sorts the phases and fills the gaps that no log tells of.
func withWaits(p []Phase, length time.Duration) []Phase {
	slices.SortStableFunc(p, func(a, b Phase) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) })
	if len(p) == 0 {
		return nil
	}
	var out []Phase
	var end time.Duration
	wait := func(until time.Duration) {
		if until-end >= minWait {
			out = append(out, Phase{KindWait, "no log tells", end, until})
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
