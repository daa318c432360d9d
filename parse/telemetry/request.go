package telemetry

import (
	"time"

	"codexlag/parse/record"
)

// retryWithin is how long after a failed attempt the next one may start; a
// server may ask to wait for minutes.
const retryWithin = 5 * time.Minute

// sameBreak is how far apart two reports of one broken stream may be.
const sameBreak = 2 * time.Second

// An attempt is a request that has started and not ended.
type attempt struct {
	active bool // its stream is open
	pos    record.Pos
	sure   bool // a stream must follow: not one of the requests that have none

	start   time.Time // of the first attempt
	stream  time.Time // when the answer's stream opened, which is where ttft_ms runs from
	item    time.Time // when the first output item was added; zero where unknown
	number  int       // of the attempt
	retries int

	turn, model string

	// refused is the failed attempt, as long as another one may follow.
	refused *record.Request
}

// apiRequest takes the headers of an HTTP answer, or the lack of them.
func (c *conversation) apiRequest(e *Event) {
	if e.Endpoint == OtherEndpoint {
		return
	}
	start := e.start()
	a := &c.open
	if a.refused != nil && e.Attempt == a.number+1 && start.Sub(a.refused.End) < retryWithin {
		a.retries++
		a.refused = nil
	} else {
		c.settle(true)
		*a = attempt{start: start}
	}
	a.pos, a.number, a.stream = e.Pos, e.Attempt, e.Time
	a.sure = e.Endpoint == Responses
	keep(&a.turn, e.Turn)
	keep(&a.model, e.Model)
	if e.HTTPStatus >= 300 || e.HTTPStatus == 0 && e.Failed {
		r := c.failed(e, a.start)
		r.Retries = a.retries
		a.refused = r
		return
	}
	a.active = true
}

// websocketRequest takes that a request was sent. The time for sending it is
// part of ttft_ms, as good as.
func (c *conversation) websocketRequest(e *Event) {
	c.settle(true)
	if e.Failed {
		c.done(c.failed(e, e.start()))
		return
	}
	start := e.start()
	c.open = attempt{active: true, sure: true, pos: e.Pos, start: start, stream: start, turn: e.Turn, model: e.Model}
}

// settle ends what is pending. replaced says that another request begins, so
// that an open stream was given up; else the log ends before the stream does.
func (c *conversation) settle(replaced bool) {
	a := c.open
	c.open = attempt{}
	switch {
	case a.refused != nil:
		c.done(a.refused)
	case !a.active:
	case a.sure && replaced:
		c.done(&record.Request{
			Pos: a.pos, Start: a.start, Retries: a.retries, Status: record.Aborted,
			Turn: a.turn, Model: a.model,
		})
	default:
		c.emit(&record.Dropped{Pos: a.pos, Reason: record.OutsideTurn, Session: c.id})
	}
}

func (c *conversation) stream(e *Event) {
	a := &c.open
	switch {
	case e.Part == FirstItem:
		if a.active && a.item.IsZero() && !e.Time.Before(a.start) {
			a.item = e.Time
		}
	case e.broken():
		c.brokenStream(e)
	case c.isReplay(e):
		c.emit(&record.Dropped{Pos: e.Pos, Reason: record.Repeat, Session: c.id})
	default:
		c.completed(e)
	}
}

// brokenStream takes that a stream ended without an answer. Different layers
// of Codex tell of it, one after the other.
func (c *conversation) brokenStream(e *Event) {
	a := c.open
	if !a.active && e.Time.Sub(c.lastBreak) < sameBreak {
		return
	}
	var start time.Time
	if a.active && !e.Time.Before(a.start) {
		start = a.start
	}
	r := c.failed(e, start)
	r.Retries = a.retries
	if a.active {
		r.Turn, r.Model = or(r.Turn, a.turn), or(r.Model, a.model)
		c.open = attempt{}
	}
	c.lastBreak = e.Time
	c.done(r)
}

func (c *conversation) failed(e *Event, start time.Time) *record.Request {
	r := &record.Request{
		Pos: e.Pos, Start: start, End: e.Time, Status: record.Failed,
		Turn: e.Turn, Model: e.Model, Version: e.Version, Provider: e.Provider, Effort: e.Effort,
		Error: record.Error{HTTPStatus: e.HTTPStatus, Kind: e.Error},
	}
	if !start.IsZero() && e.Time.After(start) {
		r.Total = e.Time.Sub(start) // until it failed
	}
	switch {
	case e.HTTPStatus >= 300:
		r.Error.Kind = "" // the status says it
	case r.Error.Kind == "":
		r.Error.Kind = record.ErrOther
	}
	return r
}

func (c *conversation) completed(e *Event) {
	r := &record.Request{
		Pos: e.Pos, End: e.Time,
		Turn: e.Turn, Model: e.Model, Version: e.Version, Provider: e.Provider, Effort: e.Effort,
		Input: e.Input, Cached: e.Cached, Output: e.Output, Reasoning: e.Reasoning,
	}
	a := c.open
	if a.refused != nil { // an answer to another request: its start is not in the log
		c.settle(false)
	}
	if a.active && !e.Time.Before(a.start) {
		r.Start, r.Total, r.Retries = a.start, e.Time.Sub(a.start), a.retries
		r.Turn, r.Model = or(r.Turn, a.turn), or(r.Model, a.model)
		c.open = attempt{}
	}
	c.setTTFT(r, e, a)
	if r.Output.Known && r.Output.N == 0 {
		r.Status = record.Warmup
	}
	c.done(r)
}

// setTTFT finds out the time to the first token of r, which a, if active, is
// the start of.
func (c *conversation) setTTFT(r *record.Request, e *Event, a attempt) {
	started := !r.Start.IsZero()
	switch {
	case e.HasTTFT && started:
		r.TTFT = a.stream.Sub(a.start) + e.TTFT
		r.Quality = record.Measured
		if a.retries > 0 { // holds waits that only timestamps tell
			r.Quality = record.Derived
		}
	case e.HasTTFT:
		r.TTFT, r.Quality = e.TTFT, record.Measured
	case started && !a.item.IsZero() && !a.item.After(r.End):
		r.TTFT, r.Quality = a.item.Sub(r.Start), record.Estimated
	default:
		c.visible.apply(r, c.lastEnd)
	}
	c.visible = visible{}
}

// visible is the first visible output of a turn, from codex.turn_ttft.
type visible struct {
	at        time.Time
	turnStart time.Time
}

// apply estimates the TTFT of r from the turn's, if r is the turn's first
// request. The turn's clock starts with the turn: where the start of the
// request is known, only the instant of the output is taken from it. Where it
// is not, the request is taken to start with the turn, local set-up included.
func (v visible) apply(r *record.Request, lastEnd time.Time) {
	if v.at.IsZero() || v.at.After(r.End) {
		return
	}
	if r.Start.IsZero() {
		if v.turnStart.Before(lastEnd) {
			return
		}
		r.Start = v.turnStart
		r.Total = r.End.Sub(r.Start)
	}
	if v.at.Before(r.Start) {
		return
	}
	r.TTFT, r.Quality, r.FirstVisible = v.at.Sub(r.Start), record.Estimated, true
}

// done emits a request that ended and puts it into the turn.
func (c *conversation) done(r *record.Request) {
	c.spans.told(r)
	c.publish(r)
}

func (c *conversation) publish(r *record.Request) {
	r.Format = c.format
	r.Session = c.id
	r.Version = or(r.Version, c.version)
	r.Provider = or(r.Provider, c.provider)
	r.Effort = or(r.Effort, c.effort)
	if c.turn != nil {
		c.turn.add(r)
	}
	if r.End.After(c.lastEnd) {
		c.lastEnd = r.End
	}
	c.info.Requests++
	c.info.HasTTFT = c.info.HasTTFT || r.Quality.Usable()
	c.emit(r)
}

func or(s, other string) string {
	if s != "" {
		return s
	}
	return other
}
