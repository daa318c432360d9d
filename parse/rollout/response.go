package rollout

import (
	"time"

	"codexlag/parse/record"
)

// A response gathers the lines between two token counts: what was sent, what
// came back. From them follow the bounds of one request.
//
// A request starts at the latest trigger (user message, output of a tool,
// compacted history, turn_context, …) before the first thing that came back.
// It ends at its token count, if nothing came in between; where outputs of
// tools did (Codex counts after them from 0.137 on), at the last item before
// them. The order of the lines decides, not the version.
type response struct {
	triggers []trigger // the latest few, in the order of the lines
	items    int       // things that came back, written when they were done
	live     int       // of which events that are written at once in every version
	first    time.Time // when the first of them was done
	last     time.Time
	line     time.Time // when the first one that is no event was written
	begun    time.Time // when the first of them started, which paginated files tell
	thought  time.Time // when the first reasoning was done
	thinking bool      // when reasoning started is known too
	calls    []*call

	// What was sent after the first thing came back: it starts the next request.
	next     trigger
	answered bool // outputs came after the last item
	trailed  bool // outputs or messages did
	late     bool // the items may belong to the request that was counted before; see settle

	model, effort string
}

// A trigger is a moment at which Codex had something to send to the model.
type trigger struct {
	at    time.Time
	exact bool // stated by the log, not the time at which a line was written
}

// maxTriggers bounds the memory of a response. Only the latest ones matter, and
// those before an item that is told later than it started.
const maxTriggers = 8

func (r *response) trigger(g trigger) {
	if r.items > 0 {
		if g.at.After(r.next.at) {
			r.next = g
		}
		return
	}
	if len(r.triggers) == maxTriggers {
		copy(r.triggers, r.triggers[1:])
		r.triggers = r.triggers[:maxTriggers-1]
	}
	r.triggers = append(r.triggers, g)
}

// reopen makes r ready for the next response, which does not start before g.
func (r *response) reopen(g trigger) {
	next := r.next
	*r = response{triggers: r.triggers[:0], calls: r.calls[:0]}
	r.trigger(g)
	if !next.at.IsZero() && next.at.After(g.at) {
		r.trigger(next)
	}
}

// start returns the time of the latest trigger that is not later than limit,
// and that of the latest exact one.
func (r *response) start(limit time.Time) (start, exact time.Time) {
	for _, t := range r.triggers {
		if t.at.After(limit) {
			continue
		}
		if t.at.After(start) {
			start = t.at
		}
		if t.exact && t.at.After(exact) {
			exact = t.at
		}
	}
	return start, exact
}

// came notes something that the model sent. begun is zero where its start is
// not known.
func (d *Decoder) came(c arrival, pos record.Pos) *response {
	t := d.running(c.at, pos)
	r := &t.response
	if r.trailed && r.late {
		d.settle(t)
	}
	if r.items == 0 {
		r.model, r.effort = d.model, d.effort
		r.first = c.at
	}
	r.items++
	r.answered, r.trailed = false, false
	if c.live {
		r.live++
	} else if r.line.IsZero() {
		r.line = c.at
	}
	if c.at.Before(r.first) {
		r.first = c.at
	}
	if c.at.After(r.last) {
		r.last = c.at
	}
	if c.reasoning && r.thought.IsZero() {
		r.thought = c.at
	}
	d.info.HasItemStarts = d.info.HasItemStarts || !c.begun.IsZero() && !d.replay.on
	if !c.begun.IsZero() && !c.begun.Before(t.floor) {
		r.thinking = r.thinking || c.reasoning
		if r.begun.IsZero() || c.begun.Before(r.begun) {
			r.begun = c.begun
		}
	}
	t.active = true
	t.touch(c.at, pos)
	return r
}

// An arrival is one thing that the model sent.
type arrival struct {
	at, begun time.Time
	live      bool // an event, written at once in every version
	reasoning bool
}

// sent notes something that will go to the model with the next request: the
// output of a tool, or a message.
func (d *Decoder) sent(at time.Time, output bool, pos record.Pos) {
	t := d.turn
	if t == nil {
		return
	}
	r := &t.response
	r.trigger(trigger{at: at})
	if r.items > 0 {
		r.trailed = true
		r.answered = r.answered || output
		r.late = t.bare && r.live == 0 && (!output || at.Sub(r.line) <= sameBatch)
	}
	t.owed = true
	t.touch(at, pos)
}

const (
	// sameBatch: lines that are written in one go get times that differ by the
	// time it takes to write them.
	sameBatch = 5 * time.Millisecond
	// atOnce: a token count that Codex writes after the outputs of tools follows
	// them within that time; no response comes as fast.
	atOnce = 50 * time.Millisecond
	// toolTime: two lines that are further apart than that had a tool run between them.
	toolTime = 200 * time.Millisecond
)

// settle gives the items at hand to the request counted before them.
//
// Versions of 2025 (0.34 to 0.58 were seen) write the items of a response, calls
// and outputs alike, in one batch when its tools are done, after the token count.
// Up to 0.40 the count, too, comes after the tools have run: then the batch
// follows it at once, how long the response itself took cannot be told, and
// neither can the time of the tools. Later ones count when the response ends;
// the tools ran from there to the batch.
func (d *Decoder) settle(t *turn) {
	r := &t.response
	if len(r.calls) > 0 && len(t.requests) > 0 {
		gap := r.line.Sub(t.counted)
		d.liveCounts = d.liveCounts || gap > toolTime
		for _, c := range r.calls {
			if d.liveCounts {
				c.asked = t.counted
			} else {
				c.unknown = true
			}
		}
		if q := t.requests[len(t.requests)-1]; !d.liveCounts {
			q.Total = 0
		}
	}
	t.bare = false
	r.reopen(r.next)
}

// counted ends a response: its usage is known.
func (d *Decoder) counted(u usage, id string, at time.Time, pos record.Pos) {
	t := d.running(at, pos)
	r := &t.response
	if r.late && r.trailed && (!r.answered || at.Sub(r.next.at) > atOnce) {
		d.settle(t)
	}
	end := at
	if r.answered {
		end = r.last
	}
	if r.items == 0 {
		r.model, r.effort = d.model, d.effort
	}
	if d.replay.on {
		d.drop(pos, record.Replayed)
	} else {
		t.requests = append(t.requests, d.request(t, u, id, end, pos))
		t.touch(at, pos)
	}
	t.bare = r.items == r.live
	t.counted, t.floor = at, end
	t.active = true
	r.reopen(trigger{at: end})
}

// request makes a record of the response at hand.
func (d *Decoder) request(t *turn, u usage, id string, end time.Time, pos record.Pos) *record.Request {
	r := &t.response
	q := &record.Request{
		Pos: pos, Format: record.FormatRollout,
		ID: id, Session: d.info.Session,
		Model: r.model, Provider: d.provider, Effort: r.effort, Version: d.version, Origin: d.origin,
		Input: record.Count(u.input), Cached: record.Count(u.cached),
		Output: record.Count(u.output), Reasoning: record.Count(u.reasoning),
		End: end,
	}
	if u.output == 0 {
		q.Status = record.Warmup
	}
	limit := end
	switch {
	case !r.begun.IsZero():
		limit = r.begun
	case r.items > 0:
		limit = r.first
	}
	start, exact := r.start(limit)
	if start.Before(t.floor) {
		start = t.floor
	}
	if !t.spoke {
		t.first = firstRequest{index: len(t.requests), exact: exact, thought: r.thought}
		t.spoke = q.Status != record.Warmup
	}
	q.Start = start
	q.Total = between(q.Start, end)
	if q.Total < atOnce {
		q.Start, q.Total = time.Time{}, 0 // its lines were written in one go: they don't tell when it was sent
	}
	d.firstToken(q, r)
	return q
}

// firstToken sets the TTFT of a request as far as the lines of its response tell.
func (d *Decoder) firstToken(q *record.Request, r *response) {
	if q.Total <= 0 {
		return
	}
	if ttft := r.begun.Sub(q.Start); !r.begun.IsZero() && ttft >= 0 && ttft <= q.Total {
		q.TTFT, q.Quality = ttft, record.Estimated
		// The message started, but what was thought before it left no item.
		q.FirstVisible = q.Reasoning.N > 0 && !r.thinking
		return
	}
	if ttft := r.first.Sub(q.Start); r.items > 0 && ttft > 0 && ttft <= q.Total {
		q.TTFT, q.Quality = ttft, record.Bound
	}
}

// between returns how long it is from a to b; 0 where that is not known,
// because a time is missing or the clock was set.
func between(a, b time.Time) time.Duration {
	if a.IsZero() || b.IsZero() {
		return 0
	}
	if d := b.Sub(a); d > 0 && d < implausible {
		return d
	}
	return 0
}
