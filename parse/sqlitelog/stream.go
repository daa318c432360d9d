package sqlitelog

import (
	"bytes"
	"time"

	"codexlag/parse/jsonwalk"
	"codexlag/parse/record"
)

// An answer's stream, as the rows of the target codex_api::sse::responses show
// it: one row an event, its text spans and then "SSE event: {json}".
//
//	response.created             the server has taken the request; names the response
//	response.output_item.added   the first of these, or of the deltas, is the
//	response.….delta             first output
//	response.completed           the end; names the response, its model and its tokens
//
// The first row is written when the server answers, not when the request is
// sent. So TTFT and total lack the request's set-up, up to the answer's first
// event, and are Estimated.
//
// Only created and completed name the response. All other rows can be told
// apart by their thread alone, so where two answers of a thread are open at
// once neither gets a TTFT.

const (
	// maxThreads bounds what is kept in mind of sessions, maxOpen what of the
	// answers of one: Codex asks one thing at a time, a few where it compacts.
	maxThreads = 10_000
	maxOpen    = 16
)

// A thread is what is known of a session at one point of its log.
type thread struct {
	id   string
	open []*answer
	// unsampled says that an answer ended of which Codex's own note that it is
	// done with it ("post sampling") is still to come.
	unsampled bool

	told     [8]ending // of the last requests that telemetry told of
	nextTold int
}

// An answer is one that has begun.
type answer struct {
	record.Request
	thread *thread
	first  time.Time // first output; zero where unknown
	mixed  bool      // another answer of the thread was open meanwhile
	quiet  bool      // nothing was heard since another one ended: maybe it is lost
}

func (c *combiner) thread(id string) *thread {
	t := c.threads[id]
	if t == nil {
		if len(c.threads) >= maxThreads {
			c.forgetAll()
		}
		t = &thread{id: id}
		c.threads[id] = t
	}
	return t
}

// forgetAll ends everything that is pending.
func (c *combiner) forgetAll() {
	c.releaseAll()
	var lost []*answer
	for _, t := range c.threads {
		lost = append(lost, t.open...)
	}
	c.dropLost(lost)
	clear(c.threads)
}

var markStream = []byte("SSE event: ")

// streamEvent takes a row of an answer's stream.
func (c *combiner) streamEvent(r *row) {
	spans, event, ok := bytes.Cut(r.body, markStream)
	if !ok {
		return // some other message of that module
	}
	e := parseEvent(event)
	if e.kind == other {
		switch {
		case e.err == nil:
		case r.cut:
			c.drop(r.pos, record.TooLong, "")
		default:
			c.drop(r.pos, record.BadJSON, "")
		}
		return
	}
	id := r.thread
	if len(id) == 0 {
		id = spanField(spans, "thread_id", "thread.id", "conversation.id")
	}
	t := c.thread(c.names.Get(id))
	if e.kind == output {
		t.heard(r.at)
		return
	}
	if e.err != nil {
		why := record.BadJSON
		if r.cut {
			why = record.TooLong
		}
		c.drop(r.pos, why, t.id)
		return
	}
	if e.kind == created {
		c.created(t, r, &e, spans)
		return
	}
	c.ended(t, r, &e)
}

// heard takes a row that shows that an answer of the thread is under way.
func (t *thread) heard(at time.Time) {
	for _, a := range t.open {
		a.quiet = false
	}
	if len(t.open) == 1 && t.open[0].first.IsZero() {
		t.open[0].first = at
	}
}

func (c *combiner) created(t *thread, r *row, e *event, spans []byte) {
	id := c.names.Get(e.id)
	open := t.open[:0]
	var lost []*answer
	for i, a := range t.open {
		switch {
		case a.ID == id && id != "": // told twice
			t.open = append(open, t.open[i:]...)
			c.dropLost(lost)
			return
		case a.quiet || len(t.open) >= maxOpen && i == 0:
			lost = append(lost, a)
		default:
			open = append(open, a)
		}
	}
	a := &answer{thread: t, Request: record.Request{
		Pos: r.pos, Format: record.FormatSQLite, Start: r.at,
		ID: id, Session: t.id, Turn: c.names.Get(spanField(spans, "turn.id", "turn_id")),
		Model: c.names.Get(e.model), Effort: c.names.Get(e.effort),
	}}
	t.open = append(open, a)
	if len(t.open) > 1 {
		for _, a := range t.open {
			a.mixed = true
		}
	}
	c.dropLost(lost)
}

// dropLost counts answers whose end the log does not hold, in their order.
func (c *combiner) dropLost(lost []*answer) {
	sortByRow(lost)
	for _, a := range lost {
		c.drop(a.Pos, record.OutsideTurn, a.Session)
	}
}

// ended takes the last event of an answer.
func (c *combiner) ended(t *thread, r *row, e *event) {
	id := c.names.Get(e.id)
	t.unsampled = t.unsampled || e.kind == completed
	i := t.find(id)
	if i < 0 {
		if e.kind == completed { // it began before the log does
			c.hold(&answer{thread: t, Request: record.Request{Pos: r.pos, ID: id, End: r.at, Session: t.id, Input: e.input, Output: e.output}})
		}
		return
	}
	a := t.open[i]
	t.open = append(t.open[:i], t.open[i+1:]...)
	for _, b := range t.open {
		b.quiet = true
	}
	a.Pos, a.End = r.pos, r.at
	if d := r.at.Sub(a.Start); d > 0 {
		a.Total = d
	}
	if !a.first.IsZero() && !a.mixed && !a.first.Before(a.Start) && !a.first.After(a.End) {
		a.TTFT, a.Quality = a.first.Sub(a.Start), record.Estimated
	}
	if s := c.names.Get(e.model); s != "" {
		a.Model = s
	}
	if s := c.names.Get(e.effort); s != "" {
		a.Effort = s
	}
	a.Input, a.Cached, a.Output, a.Reasoning = e.input, e.cached, e.output, e.reasoning
	switch {
	case e.kind == failed:
		a.Status, a.Error.Kind = record.Failed, record.ErrOther
	case a.Output.Known && a.Output.N == 0:
		a.Status = record.Warmup
	}
	c.hold(a)
}

// find returns the place of the open answer that is called id; an end without a
// name is that of the only one there is. -1 where there is none.
func (t *thread) find(id string) int {
	if id == "" {
		if len(t.open) == 1 {
			return 0
		}
		return -1
	}
	for i, a := range t.open {
		if a.ID == id {
			return i
		}
	}
	return -1
}

// spanField returns the innermost value that one of the keys has in the spans
// in front of a message: a{k=v k="v"}:b{k=v}: .
func spanField(spans []byte, keys ...string) []byte {
	var value []byte
	best := -1
	for _, key := range keys {
		for b := spans; ; {
			i := bytes.LastIndex(b, []byte(key))
			if i <= best {
				break
			}
			b = b[:i]
			rest, ok := bytes.CutPrefix(spans[i+len(key):], []byte("="))
			if !ok || i == 0 || spans[i-1] != '{' && spans[i-1] != ' ' {
				continue
			}
			if n := bytes.IndexAny(rest, " }"); n >= 0 {
				best, value = i, bytes.Trim(rest[:n], `"`)
			}
			break
		}
	}
	return value
}

// A kind is what an event of a stream means for times.
type kind uint8

const (
	other     kind = iota
	created        // the answer begins
	output         // something was generated
	completed      // the answer is whole
	failed         // the answer ended early
)

func kindOf(typ []byte) kind {
	switch string(typ) {
	case "response.created":
		return created
	case "response.output_item.added":
		return output
	case "response.completed":
		return completed
	case "response.failed", "response.incomplete", "error":
		return failed
	}
	if bytes.HasSuffix(typ, []byte(".delta")) {
		return output
	}
	return other
}

// An event is one event of a stream. The slices are parts of the row.
type event struct {
	kind              kind
	err               error // why it could not be read to its end
	id, model, effort []byte

	input, cached, output, reasoning record.Tokens
}

func parseEvent(b []byte) (e event) {
	var response []byte
	o := jsonwalk.Members(b)
	for o.Next() {
		switch string(o.Key) {
		case "type":
			typ, _ := jsonwalk.String(o.Value)
			if e.kind = kindOf(typ); e.kind == output {
				return e // the rest is text
			}
		case "response":
			response = o.Value
		}
	}
	if e.err = o.Err(); e.err != nil || e.kind == other {
		return e
	}
	o = jsonwalk.Members(response)
	for o.Next() {
		switch string(o.Key) {
		case "id":
			e.id, _ = jsonwalk.String(o.Value)
		case "model":
			e.model, _ = jsonwalk.String(o.Value)
		case "reasoning":
			e.effort, _ = jsonwalk.String(jsonwalk.Get(o.Value, "effort"))
		case "usage":
			e.usage(o.Value)
		}
	}
	if response != nil && o.Err() != nil {
		e.err = o.Err()
	}
	return e
}

func (e *event) usage(b []byte) {
	o := jsonwalk.Members(b)
	for o.Next() {
		switch string(o.Key) {
		case "input_tokens":
			e.input = count(o.Value)
		case "input_tokens_details":
			e.cached = count(jsonwalk.Get(o.Value, "cached_tokens"))
		case "output_tokens":
			e.output = count(o.Value)
		case "output_tokens_details":
			e.reasoning = count(jsonwalk.Get(o.Value, "reasoning_tokens"))
		}
	}
}

// count reads a count of tokens. No answer has 1e12 of them: that is damage.
func count(v []byte) record.Tokens {
	n, ok := jsonwalk.Int(v)
	if !ok || n >= 1e12 {
		return record.Tokens{}
	}
	return record.Count(n)
}
