// Package telemetry rebuilds the requests and turns of Codex sessions from the
// telemetry events that Codex writes to its trace, its log database and OTLP
// collectors.
//
// No event carries the id of a request, so requests are put together in order,
// conversation by conversation:
//
//   - A request starts when codex.websocket_request or codex.api_request says
//     so, less the duration that the event states. Attempts of an API request
//     that failed and were tried again belong to the request: it starts with the
//     first of them.
//   - It ends with a codex.sse_event of kind response.completed, or an error.
//   - TTFT is the stated ttft_ms, which on HTTP runs from the answer's headers:
//     the time up to them is added. Where it is not stated it is estimated from
//     the time of the first response.output_item.added, else from
//     codex.turn_ttft for the first request of a turn.
//
// Without telemetry, the spans that Codex traces give the total of a request
// and its tokens, and never a TTFT.
package telemetry

import (
	"container/list"
	"time"

	"codexlag/parse/record"
)

const (
	// maxLive is how many conversations are kept in mind; the one that was
	// silent longest goes first.
	maxLive = 10_000
	// idle is how long a conversation may be silent before it is taken to be
	// over. People leave a prompt open overnight.
	idle = 24 * time.Hour
	// copyWithin is how far apart the copies of one event may be. Codex emits
	// them one after the other on one thread; each has a time of its own.
	copyWithin = 50 * time.Millisecond
	// maxSeen bounds the memory of completions that a log may show again, when a
	// session reads its own log.
	maxSeen = 1 << 16
)

// Info is what a log turned out to hold.
type Info struct {
	Version  string // of Codex, the last one seen
	Events   int64  // telemetry events that matter, copies included
	Copies   int64  // of those, second copies
	Requests int64  // records of requests
	HasTTFT  bool   // some request has a usable TTFT
}

// Events takes the events of one log, in order within each conversation, and
// emits what they tell of.
type Events struct {
	format record.Format
	emit   func(record.Record)
	info   Info

	live map[string]*list.Element // of *conversation
	age  list.List                // the one silent longest first

	seen, seenBefore map[uint64]struct{}
}

// New returns Events that emit records of the given format.
func New(format record.Format, emit func(record.Record)) *Events {
	return &Events{format: format, emit: emit, live: map[string]*list.Element{}, seen: map[uint64]struct{}{}}
}

// Info tells what was found so far.
func (t *Events) Info() Info { return t.info }

// A conversation is what is known of a session at one point of its log.
type conversation struct {
	*Events
	id string

	last      time.Time  // of the newest event
	recent    [16]recent // ring of events, to know copies by
	next      int
	lastEnd   time.Time // of the last request that ended
	lastBreak time.Time // of the last stream that broke

	version, provider, effort string

	open    attempt
	visible visible
	turn    *turn
	spans   spans
}

type recent struct {
	print uint64
	at    time.Time
}

// Add takes the next event. It does not keep e.
func (t *Events) Add(e *Event) {
	if !e.Matters() {
		return
	}
	if e.Kind < ModelSpanOpened {
		t.info.Events++
	}
	if e.Version != "" {
		t.info.Version = e.Version
	}
	if e.Time.IsZero() {
		if e.Kind == Stream && e.Part == Completed {
			t.emit(&record.Dropped{Pos: e.Pos, Reason: record.NoTime, Session: e.Conversation})
		}
		return
	}
	c := t.conversation(e)
	if e.Kind < ModelSpanOpened && e.Part != FirstItem && c.isCopy(e) {
		t.info.Copies++
		if e.Part == Completed {
			c.isReplay(e) // its time may differ: both are to be known again
		}
		return
	}
	c.add(e)
}

// End tells that the log is over.
func (t *Events) End() {
	for t.age.Len() > 0 {
		t.forget(t.age.Front())
	}
}

func (t *Events) conversation(e *Event) *conversation {
	el := t.live[e.Conversation]
	if el == nil {
		if len(t.live) >= maxLive {
			t.forget(t.age.Front())
		}
		el = t.age.PushBack(&conversation{Events: t, id: e.Conversation})
		t.live[e.Conversation] = el
	}
	t.age.MoveToBack(el)
	c := el.Value.(*conversation)
	if e.Time.After(c.last) {
		c.last = e.Time
	}
	for f := t.age.Front(); f != el && f.Value.(*conversation).last.Before(e.Time.Add(-idle)); f = t.age.Front() {
		t.forget(f)
	}
	return c
}

func (t *Events) forget(el *list.Element) {
	c := el.Value.(*conversation)
	c.settle(false)
	c.spans.flush(c)
	c.closeTurn(false)
	t.age.Remove(el)
	delete(t.live, c.id)
}

// isCopy reports whether the event was seen just before: most are written to
// two targets, and some twice to one.
func (c *conversation) isCopy(e *Event) bool {
	p := e.print()
	for i := range c.recent {
		r := &c.recent[i]
		if r.print == p && !r.at.IsZero() && e.Time.Sub(r.at).Abs() <= copyWithin {
			return true
		}
	}
	c.recent[c.next] = recent{p, e.Time}
	c.next = (c.next + 1) % len(c.recent)
	return false
}

// isReplay reports whether this very completion was seen before, however long
// ago: a tool that prints the log puts its lines into it again.
func (c *conversation) isReplay(e *Event) bool {
	key := hashInt(hashBytes(e.print(), c.id), e.Time.UnixNano())
	if _, ok := c.seen[key]; ok {
		return true
	}
	if _, ok := c.seenBefore[key]; ok {
		return true
	}
	if len(c.Events.seen) >= maxSeen {
		c.Events.seenBefore, c.Events.seen = c.Events.seen, map[uint64]struct{}{}
	}
	c.Events.seen[key] = struct{}{}
	return false
}

func (c *conversation) add(e *Event) {
	keep(&c.version, e.Version)
	keep(&c.provider, e.Provider)
	keep(&c.effort, e.Effort)
	c.spans.tick(c, e.Time)
	if c.isPast(e) {
		return
	}
	switch e.Kind {
	case APIRequest:
		c.apiRequest(e)
	case WebsocketConnect:
		if e.Failed || e.HTTPStatus >= 300 {
			c.done(c.failed(e, e.start()))
		}
	case WebsocketRequest:
		c.websocketRequest(e)
	case Stream:
		c.stream(e)
	case TurnTTFT:
		c.turnTTFT(e)
	case ToolResult:
		c.toolResult(e)
	case UserPrompt:
		c.userPrompt(e)
	case TurnSpanOpened:
		c.turnOpened(e)
	case TurnSpanClosed:
		c.turnClosed(e)
	case ModelSpanOpened, ModelSpanClosed, Usage, Sampled:
		c.spans.add(c, e)
	}
}

// isPast reports whether the event lies before what is already over: lines of
// the past that a tool has printed into the log. A completion is checked for
// that on its own, and counted.
func (c *conversation) isPast(e *Event) bool {
	switch {
	case e.Kind == Stream && e.Part == Completed:
		return false
	case e.Kind == APIRequest, e.Kind == WebsocketRequest:
		return e.Time.Before(c.lastEnd)
	}
	return e.Time.Before(c.lastEnd.Add(-sameBreak))
}

func keep(s *string, v string) {
	if v != "" {
		*s = v
	}
}

// start returns when what the event tells of began.
func (e *Event) start() time.Time { return e.Time.Add(-e.Duration) }
