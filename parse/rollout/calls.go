package rollout

import (
	"time"

	"codexlag/parse/record"
)

// implausible is what no request, tool or turn lasts: a wrong unit or a wrong
// clock made such a duration.
const implausible = 30 * 24 * time.Hour

// A call is one tool call, known by its call id. What tells of it comes from up
// to four lines, in any order.
type call struct {
	tool string
	// The lines that hold the call and its output. Waiting for the user's
	// approval is in between.
	asked, answered time.Time
	// What an event at the end of the call states: its time, and a duration
	// that gives the start.
	ran, ended time.Time
	// What a paginated file states of the item.
	begun, done time.Time
	// unknown: the lines were written in one go after the tool had run.
	unknown bool
}

// interval returns the time that the call took. A call without an output was
// cut off when its turn was aborted; abort is zero where it was not.
func (c *call) interval(abort time.Time) (i record.Interval, ok bool) {
	i = record.Interval{Start: c.asked, End: c.answered, Tool: c.tool}
	switch {
	case !c.begun.IsZero() && !c.done.IsZero():
		i.Start, i.End = c.begun, c.done
	case c.unknown:
		i.Start, i.End = c.ran, c.ended
	default:
		if i.Start.IsZero() || !c.ran.IsZero() && c.ran.Before(i.Start) {
			i.Start = c.ran
		}
		if i.End.IsZero() {
			i.End = c.ended
		}
		if i.End.IsZero() {
			i.End = abort
		}
	}
	if i.Start.IsZero() || i.End.IsZero() {
		return i, false
	}
	took := i.End.Sub(i.Start)
	return i, took >= 0 && took < implausible
}

// maxID is how much of a call id is kept to tell calls apart, in bytes.
const maxID = 256

// find returns the turn's call of that id, nil where there is none.
func (t *turn) find(id []byte) *call {
	return t.calls[string(id[:min(len(id), maxID)])]
}

// call returns the turn's call of that id, a new one where there is none yet.
func (t *turn) call(id []byte) *call {
	c := t.find(id)
	if c == nil {
		c = new(call)
		if t.calls == nil {
			t.calls = make(map[string]*call)
		}
		t.calls[string(id[:min(len(id), maxID)])] = c
		t.order = append(t.order, c)
	}
	return c
}

// tools returns the intervals of the turn's calls in the order in which the
// calls came up.
func (t *turn) tools(abort time.Time) []record.Interval {
	var all []record.Interval
	for _, c := range t.order {
		if i, ok := c.interval(abort); ok {
			all = append(all, i)
		}
	}
	return all
}

// toolItem reports whether a paginated item of this type is a tool run by Codex. WebSearch and ImageGeneration are not among them: the server runs those
// while it answers, so their time is part of the request.
func toolItem(typ []byte) bool {
	switch string(typ) {
	case "CommandExecution", "FileChange", "McpToolCall", "DynamicToolCall", "CollabToolCall", "CollabAgentToolCall", "ImageView", "Sleep":
		return true
	}
	return false
}
