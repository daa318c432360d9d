package telemetry

import (
	"time"

	"codexlag/parse/record"
)

const (
	// promptLead is how long before its turn an input of the user may be told.
	promptLead = 5 * time.Second
	// maxTurn bounds what is kept of one turn; a longer one is not told of.
	maxTurn = 10_000
)

// A turn is a turn that has begun. Its records are emitted only where both its
// beginning and its end are certain:
//
//   - by the span session_task.turn, from its opening to its closing line;
//   - else from codex.user_prompt (or the start that codex.turn_ttft states) to
//     the end of the last request before the next such mark. The last turn of a
//     log has no next mark: its end and duration are unknown.
//
// A mark that comes while a request or a tool is under way may be an
// interruption or a hint given to the running turn. The log does not say which,
// so neither of the two turns is told of. Requests are told of in any case.
type turn struct {
	record.Turn
	bySpan   bool
	promptAt time.Time // zero where the turn began without a prompt
	doubtful bool
	last     happening
	lastEnd  time.Time // of the last request
}

// A happening is what came last in a turn.
type happening uint8

const (
	nothing happening = iota
	answered
	failed
	aborted
	tool
)

func (c *conversation) begin(e *Event, start time.Time) *turn {
	c.turn = &turn{Turn: record.Turn{Pos: e.Pos, Start: start}}
	return c.turn
}

// add takes the next request. A warm-up is part of no turn: it is sent ahead.
func (t *turn) add(r *record.Request) {
	if r.Status == record.Warmup {
		return
	}
	at := r.Start
	if at.IsZero() {
		at = r.End
	}
	if at.Before(t.Start) {
		if r.Status != record.Aborted {
			t.doubtful = true // it belongs to the turn before, or the turn began earlier
		}
		return
	}
	if t.bySpan && r.Turn == "" {
		r.Turn = t.ID
	}
	if t.ID == "" {
		t.ID = r.Turn
	}
	if len(t.Requests) >= maxTurn || r.Turn != t.ID && r.Turn != "" {
		t.doubtful = true
		return
	}
	t.Pos = r.Pos
	t.Requests = append(t.Requests, r)
	keep(&t.Model, r.Model)
	t.lastEnd = r.End
	switch r.Status {
	case record.Failed:
		t.last = failed
	case record.Aborted:
		t.last = aborted
	default:
		t.last = answered
	}
}

func (c *conversation) toolResult(e *Event) {
	t := c.turn
	if t == nil || !e.HasDuration || e.start().Before(t.Start) {
		return
	}
	if len(t.Tools) >= maxTurn {
		t.doubtful = true
		return
	}
	t.Pos = e.Pos
	t.Tools = append(t.Tools, record.Interval{Start: e.start(), End: e.Time, Tool: e.Tool})
	t.last = tool
}

func (c *conversation) userPrompt(e *Event) {
	if c.open.refused != nil {
		c.settle(true)
	}
	if c.turn != nil && c.turn.bySpan {
		return // a hint for the running turn
	}
	busy := c.turn != nil && (c.open.active || c.turn.last == tool)
	if busy {
		c.turn = nil
	}
	c.closeTurn(true)
	t := c.begin(e, e.Time)
	t.promptAt = e.Time
	t.ID = e.Turn
	t.doubtful = busy
}

// turnTTFT takes the first visible output of a turn, and with it when the turn
// started.
func (c *conversation) turnTTFT(e *Event) {
	if !e.HasDuration {
		return
	}
	start := e.start()
	c.visible = visible{at: e.Time, turnStart: start}
	t := c.turn
	switch {
	case t != nil && t.bySpan:
	case t != nil && !t.HasTTFT && start.Sub(t.promptAt).Abs() < promptLead:
		t.Start = start
	default:
		busy := t != nil && (t.last == tool || t.lastEnd.After(start))
		if busy {
			c.turn = nil
		}
		c.closeTurn(true)
		t = c.begin(e, start)
		t.doubtful = busy
	}
	if !t.HasTTFT {
		t.TTFT, t.HasTTFT = e.Duration, true
	}
}

func (c *conversation) turnOpened(e *Event) {
	t := c.turn
	switch {
	case t == nil:
	case t.bySpan && t.ID == e.Turn: // nested or repeated: the outer one counts
		return
	case !t.bySpan && len(t.Requests) == 0 && len(t.Tools) == 0: // the prompt of this turn
	default:
		c.closeTurn(!t.bySpan && t.last != tool)
	}
	t = c.begin(e, e.Time)
	t.bySpan, t.ID = true, e.Turn
	keep(&t.Model, e.Model)
}

// turnClosed ends the turn of a span. Where only the ends of spans are traced
// there is no turn: its requests cannot be told from those before it.
func (c *conversation) turnClosed(e *Event) {
	t := c.turn
	if t == nil || !t.bySpan || t.ID != e.Turn {
		return
	}
	if c.open.refused != nil || c.open.active {
		c.settle(true)
	}
	c.spans.flush(c)
	c.turn = nil
	t.Pos = e.Pos
	t.End = e.Time
	t.Duration = e.Time.Sub(t.Start)
	c.emitTurn(t)
}

// closeTurn ends the turn, if there is one; over says that the log shows that
// it is over.
func (c *conversation) closeTurn(over bool) {
	t := c.turn
	c.turn = nil
	if t == nil {
		return
	}
	over = over && !t.bySpan && !t.lastEnd.IsZero() && (t.last == answered || t.last == failed)
	if over {
		t.End = t.lastEnd
		t.Duration = t.End.Sub(t.Start)
	}
	if over || t.last == aborted {
		c.emitTurn(t)
		return
	}
	t.Status = record.Unfinished
	c.emitTurn(t)
}

// emitTurn emits a turn that is certain and of which something is known: one
// without requests would show all its time as waiting for nothing.
func (c *conversation) emitTurn(t *turn) {
	if t.doubtful || len(t.Requests) == 0 || t.Duration < 0 {
		return
	}
	switch {
	case t.Status == record.Unfinished:
	case t.last == aborted:
		t.Status = record.Aborted
	case t.last == failed:
		t.Status = record.Failed
	}
	t.Session = c.id
	t.Version, t.Provider, t.Effort = c.version, c.provider, c.effort
	out := t.Turn
	c.emit(&out)
}
