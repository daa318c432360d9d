package telemetry

import (
	"time"

	"codexlag/parse/record"
)

// sameEnd is how far apart a span's end and another account of the end of the
// same request may be; real ones differ by a millisecond.
const sameEnd = 2 * time.Second

// spans rebuilds the requests of one conversation from its spans, for logs
// without telemetry events. Where an event tells of the same request, the event
// wins: a request is held until none can come any more.
type spans struct {
	opened int       // model spans that are open
	start  time.Time // of the span, where exactly one is open
	held   *record.Request
	ends   [8]time.Time // of the last requests that events told of
	next   int
	marked bool // a request ended since the last Sampled
}

func (s *spans) add(c *conversation, e *Event) {
	switch e.Kind {
	case ModelSpanOpened:
		s.opened++
		s.start = e.Time
	case ModelSpanClosed:
		s.closed(c, e)
	case Usage:
		s.usage(c, e)
	case Sampled:
		if !s.marked {
			// The end of a request of which nothing else is known.
			c.emit(&record.Dropped{Pos: e.Pos, Reason: record.NoTime, Session: c.id})
		}
		s.marked = false
	}
}

func (s *spans) closed(c *conversation, e *Event) {
	var start time.Time
	switch {
	case s.opened == 1 && !s.start.After(e.Time):
		start = s.start
	case e.HasDuration:
		start = e.start()
	}
	s.opened = max(0, s.opened-1)
	if h := s.held; h != nil && h.Start.IsZero() && e.Time.Sub(h.End) < sameEnd { // its usage came first
		h.Pos, h.End = e.Pos, e.Time
	} else {
		s.flush(c)
		s.hold(e)
	}
	if s.held.Start = start; !start.IsZero() {
		s.held.Total = e.Time.Sub(start)
	}
}

func (s *spans) usage(c *conversation, e *Event) {
	if h := s.held; h == nil || h.Output.Known || e.Time.Sub(h.End) > sameEnd {
		s.flush(c)
		s.hold(e)
	}
	h := s.held
	h.Input, h.Cached, h.Output, h.Reasoning = e.Input, e.Cached, e.Output, e.Reasoning
}

func (s *spans) hold(e *Event) {
	s.marked = true
	s.held = &record.Request{Pos: e.Pos, End: e.Time, Turn: e.Turn, Model: e.Model, Version: e.Version, Effort: e.Effort}
}

// told takes note of a request that an event told of.
func (s *spans) told(r *record.Request) {
	if r.Status == record.Warmup || r.End.IsZero() {
		return
	}
	s.ends[s.next] = r.End
	s.next = (s.next + 1) % len(s.ends)
	s.marked = true
}

// tick emits the request that is held once no event can tell of it any more.
func (s *spans) tick(c *conversation, now time.Time) {
	if s.held != nil && now.Sub(s.held.End) > sameEnd {
		s.flush(c)
	}
}

func (s *spans) flush(c *conversation) {
	r := s.held
	s.held = nil
	if r == nil || s.isTold(r) {
		return
	}
	if r.Output.Known && r.Output.N == 0 {
		r.Status = record.Warmup
	}
	c.publish(r)
}

// isTold reports whether an event told of r too: it ended while r ran, or just
// after.
func (s *spans) isTold(r *record.Request) bool {
	from := r.Start
	if from.IsZero() {
		from = r.End.Add(-sameEnd)
	}
	for _, end := range s.ends {
		if end.After(from) && !end.After(r.End.Add(sameEnd)) {
			return true
		}
	}
	return false
}
