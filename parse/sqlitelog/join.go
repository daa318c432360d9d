package sqlitelog

import (
	"slices"
	"time"

	"codexlag/parse/record"
)

const (
	// sameEnd is how far apart the rows may be in which a stream and telemetry
	// tell of the end of one request. They are written one after the other.
	sameEnd = 2 * time.Second
	// maxHeld bounds the answers that wait for telemetry to tell of them; within
	// two seconds there are not that many.
	maxHeld = 1024
)

// An ending is what a request that telemetry told of is known by.
type ending struct {
	at            time.Time
	input, output record.Tokens
	status        record.Status
}

func (e *ending) is(r *record.Request) bool {
	return !e.at.IsZero() && e.at.Sub(r.End).Abs() <= sameEnd && e.status == r.Status &&
		(e.output == r.Output || !e.output.Known || !r.Output.Known) &&
		(e.input == r.Input || !e.input.Known || !r.Input.Known)
}

// hold keeps an answer that ended until it is certain whether telemetry tells
// of it too. Telemetry comes a little later, as a rule.
func (c *combiner) hold(a *answer) {
	for i := range a.thread.told {
		if e := &a.thread.told[i]; e.is(&a.Request) {
			*e = ending{}
			a.thread.unsampled = false
			c.drop(a.Pos, record.Merge, a.Session)
			return
		}
	}
	if len(c.held) >= maxHeld {
		c.settle(c.held[0])
		c.held = slices.Delete(c.held, 0, 1)
	}
	c.held = append(c.held, a)
}

// release passes on the answers of which telemetry will not tell any more.
func (c *combiner) release(now time.Time) {
	n := 0
	for n < len(c.held) && now.Sub(c.held[n].End) > sameEnd {
		c.settle(c.held[n])
		n++
	}
	if n > 0 {
		c.held = slices.Delete(c.held, 0, n)
	}
}

func (c *combiner) releaseAll() {
	for _, a := range c.held {
		c.settle(a)
	}
	c.held = nil
}

// settle emits an answer of which only its stream tells.
func (c *combiner) settle(a *answer) {
	if a.Start.IsZero() {
		c.drop(a.Pos, record.OutsideTurn, a.Session)
		return
	}
	c.emit(&a.Request)
}

// told takes a record that telemetry makes.
func (c *combiner) told(r record.Record) {
	switch r := r.(type) {
	case *record.Request:
		c.toldRequest(r)
	case *record.Dropped:
		if r.Reason == record.NoTime {
			// Codex is done with an answer that telemetry knows nothing of.
			if t := c.threads[r.Session]; t != nil && t.unsampled {
				t.unsampled = false
				return
			}
		}
	}
	c.emit(r)
}

// toldRequest joins a request of telemetry with the same one of a stream, if
// there is. Telemetry knows when the request was sent; where it does not know
// when the first output came, the stream does.
func (c *combiner) toldRequest(r *record.Request) {
	e := ending{at: r.End, input: r.Input, output: r.Output, status: r.Status}
	i := slices.IndexFunc(c.held, func(a *answer) bool { return a.Session == r.Session && e.is(&a.Request) })
	if i < 0 {
		t := c.thread(r.Session)
		t.told[t.nextTold] = e
		t.nextTold = (t.nextTold + 1) % len(t.told)
		return
	}
	a := c.held[i]
	c.held = slices.Delete(c.held, i, i+1)
	a.thread.unsampled = false
	r.Merged = true
	fill(r, a)
}

// fill gives r what only its stream knows.
func fill(r *record.Request, a *answer) {
	if r.ID == "" {
		r.ID = a.ID
	}
	if r.Turn == "" {
		r.Turn = a.Turn
	}
	if r.Effort == "" {
		r.Effort = a.Effort
	}
	if !r.Cached.Known {
		r.Cached = a.Cached
	}
	if !r.Reasoning.Known {
		r.Reasoning = a.Reasoning
	}
	if r.Start.IsZero() && !a.Start.IsZero() && a.Start.Before(r.End) {
		r.Start = a.Start
		r.Total = r.End.Sub(r.Start)
	}
	if r.Quality < record.Estimated && a.Quality == record.Estimated && !a.first.Before(r.Start) && !a.first.After(r.End) {
		r.TTFT, r.Quality, r.FirstVisible = a.first.Sub(r.Start), record.Estimated, false
	}
}

// sortByRow puts answers in the order of their rows.
func sortByRow(list []*answer) {
	slices.SortFunc(list, func(a, b *answer) int {
		if d := a.Start.Compare(b.Start); d != 0 {
			return d
		}
		return int(a.Line - b.Line)
	})
}
