// Package bundle reads the trace that Codex writes where the environment
// variable CODEX_ROLLOUT_TRACE_ROOT names a folder: trace.jsonl, one event a
// line, and beside it a file for each larger payload.
//
// The trace gives the total of every request, the time of every tool call and
// the duration of every turn to the millisecond. It has no event for the first
// token, so there is never a TTFT.
package bundle

import (
	"bytes"
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"codexlag/parse/intern"
	"codexlag/parse/jsonwalk"
	"codexlag/parse/lines"
	"codexlag/parse/record"
	"codexlag/parse/telemetry"
)

// maxOpen bounds what is kept of things that have begun: requests, tool calls,
// turns, each. A bundle is one session with its sub-agents.
const maxOpen = 10_000

// A Decoder reads one trace.jsonl. It implements record.Decoder.
type Decoder struct {
	file  string
	dir   string // where payloads lie; "" where that is not known
	emit  func(record.Record)
	names intern.Table

	requests map[string]*record.Request // open ones, by inference_call_id
	tools    map[string]*tool           // open ones, by tool_call_id
	turns    map[string]*record.Turn    // open ones, by codex_turn_id

	payload []byte // scratch
}

// A tool is a tool call that has begun.
type tool struct {
	turn string
	record.Interval
}

// New returns a Decoder of the trace that is called file. The files that it
// names are looked for in file's folder.
func New(file string, emit func(record.Record)) *Decoder {
	d := &Decoder{
		file: file, emit: emit,
		requests: make(map[string]*record.Request),
		tools:    make(map[string]*tool),
		turns:    make(map[string]*record.Turn),
	}
	if file != "-" {
		d.dir = filepath.Dir(file)
	}
	return d
}

// An event is one line, as far as it is of interest. The slices are JSON values
// or parts of the line.
type event struct {
	pos record.Pos
	at  time.Time
	typ []byte

	thread, turn                          []byte
	call, tool, response, model, provider []byte // call and tool are ids
	status, cause, kind, payload          []byte
}

// matters reports whether events of the type are read.
func matters(typ []byte) bool {
	return bytes.HasPrefix(typ, []byte("inference_")) || bytes.HasPrefix(typ, []byte("codex_turn_")) ||
		string(typ) == "tool_call_started" || string(typ) == "tool_call_ended"
}

// NeedWhole wants the long lines whole that matter.
func (d *Decoder) NeedWhole(head []byte) bool {
	var e event
	e.read(head)
	return e.typ == nil || matters(e.typ)
}

// Line takes the next line.
func (d *Decoder) Line(l lines.Line) {
	e := event{pos: record.Pos{File: d.file, Line: l.N}}
	err := e.read(l.Text)
	switch {
	case e.typ != nil && !matters(e.typ):
	case err != nil:
		why := record.BadJSON
		if l.Cut() {
			why = record.TooLong
		}
		d.drop(e.pos, why, "")
	case e.typ == nil:
		d.drop(e.pos, record.NotAnObject, "")
	case e.at.IsZero():
		d.drop(e.pos, record.BadTime, d.names.Get(e.thread))
	default:
		d.event(&e)
	}
}

// read takes a line apart. What the payload says of thread and turn, the line
// says too, more often than not; the payload knows better.
func (e *event) read(b []byte) error {
	var payload []byte
	o := jsonwalk.Members(b)
	member := func() {
		switch string(o.Key) {
		case "wall_time_unix_ms":
			// Up to the year 2286: beyond that it is no time in ms.
			if ms, ok := jsonwalk.Int(o.Value); ok && ms > 0 && ms < 1e13 {
				e.at = time.UnixMilli(ms).UTC()
			}
		case "thread_id":
			e.thread, _ = jsonwalk.String(o.Value)
		case "codex_turn_id":
			e.turn, _ = jsonwalk.String(o.Value)
		case "payload":
			payload = o.Value
		}
	}
	for o.Next() {
		member()
	}
	if o.Key != nil { // the member in which b is cut
		member()
	}
	if err := e.readPayload(payload); err != nil {
		return err
	}
	return o.Err()
}

func (e *event) readPayload(payload []byte) error {
	if len(payload) == 0 || payload[0] != '{' {
		return nil
	}
	text := func(to *[]byte, v []byte) {
		if s, ok := jsonwalk.String(v); ok {
			*to = s
		}
	}
	o := jsonwalk.Members(payload)
	for o.Next() {
		switch string(o.Key) {
		case "type":
			text(&e.typ, o.Value)
		case "thread_id":
			text(&e.thread, o.Value)
		case "codex_turn_id":
			text(&e.turn, o.Value)
		case "inference_call_id":
			text(&e.call, o.Value)
		case "tool_call_id":
			text(&e.tool, o.Value)
		case "response_id":
			text(&e.response, o.Value)
		case "model":
			text(&e.model, o.Value)
		case "provider_name":
			text(&e.provider, o.Value)
		case "status":
			text(&e.status, o.Value)
		case "error":
			e.cause = o.Value
		case "kind":
			e.kind = o.Value
		case "response_payload":
			text(&e.payload, jsonwalk.Get(o.Value, "path"))
		}
	}
	return o.Err()
}

func (d *Decoder) event(e *event) {
	switch string(e.typ) {
	case "inference_started":
		d.requestStarted(e)
	case "inference_completed":
		d.requestEnded(e, record.OK)
	case "inference_failed":
		d.requestEnded(e, record.Failed)
	case "inference_cancelled":
		d.requestEnded(e, record.Aborted)
	case "tool_call_started":
		d.toolStarted(e)
	case "tool_call_ended":
		d.toolEnded(e)
	case "codex_turn_started":
		d.turnStarted(e)
	case "codex_turn_ended":
		d.turnEnded(e)
	default:
		d.drop(e.pos, record.UnknownType, "")
	}
}

func (d *Decoder) drop(pos record.Pos, why record.Reason, session string) {
	d.emit(&record.Dropped{Pos: pos, Reason: why, Session: session})
}

// End tells that the trace is over: turns that still run are unfinished, and of
// requests that do nothing is known but that they were sent.
func (d *Decoder) End() {
	for _, r := range slices.SortedFunc(maps.Values(d.requests), byLine) {
		d.drop(r.Pos, record.OutsideTurn, r.Session)
	}
	for _, t := range slices.SortedFunc(maps.Values(d.turns), func(a, b *record.Turn) int { return cmp.Compare(a.Line, b.Line) }) {
		t.Status = record.Unfinished
		d.emitTurn(t)
	}
	clear(d.requests)
	clear(d.tools)
	clear(d.turns)
}

func byLine(a, b *record.Request) int { return cmp.Compare(a.Line, b.Line) }

func (d *Decoder) requestStarted(e *event) {
	id := d.names.Get(e.call)
	if old := d.requests[id]; old != nil || len(d.requests) >= maxOpen {
		pos := e.pos
		if old != nil {
			pos = old.Pos // its end was not written
		}
		d.drop(pos, record.OutsideTurn, d.names.Get(e.thread))
		if old == nil {
			return
		}
	}
	d.requests[id] = &record.Request{
		Pos: e.pos, Format: record.FormatBundle, Start: e.at,
		Session: d.names.Get(e.thread), Turn: d.names.Get(e.turn),
		Model: d.names.Get(e.model), Provider: d.names.Get(e.provider),
	}
}

func (d *Decoder) requestEnded(e *event, status record.Status) {
	id := d.names.Get(e.call)
	r := d.requests[id]
	if r == nil {
		d.drop(e.pos, record.OutsideTurn, d.names.Get(e.thread))
		return
	}
	delete(d.requests, id)
	r.Pos, r.End, r.Status = e.pos, e.at, status
	r.ID = d.names.Get(e.response)
	if total := r.End.Sub(r.Start); total > 0 { // less: the clock was set back
		r.Total = total
	}
	switch status {
	case record.OK:
		d.readTokens(r, e.payload)
		if r.Output.Known && r.Output.N == 0 {
			r.Status = record.Warmup
		}
	case record.Failed:
		r.Error.Kind = errorKind(e.cause)
	}
	if t := d.turns[r.Turn]; t != nil && r.Status != record.Warmup && len(t.Requests) < maxOpen {
		t.Requests = append(t.Requests, r)
		if t.Model == "" {
			t.Model, t.Provider = r.Model, r.Provider
		}
	}
	d.emit(r)
}

// errorKind tells what an error is about, by the words that telemetry goes by.
func errorKind(cause []byte) string {
	var e telemetry.Event
	e.Field(nil, []byte("error.message"), telemetry.Text(cause))
	return e.Error
}

func (d *Decoder) toolStarted(e *event) {
	if len(d.tools) >= maxOpen {
		clear(d.tools) // ends that were not written
	}
	d.tools[d.names.Get(e.tool)] = &tool{d.names.Get(e.turn), record.Interval{Start: e.at, Tool: d.toolName(e.kind)}}
}

func (d *Decoder) toolEnded(e *event) {
	id := d.names.Get(e.tool)
	c := d.tools[id]
	delete(d.tools, id)
	if c == nil || e.at.Before(c.Start) {
		return
	}
	if t := d.turns[c.turn]; t != nil && len(t.Tools) < maxOpen {
		c.End = e.at
		t.Tools = append(t.Tools, c.Interval)
	}
}

// toolName names the kind of a tool: a word, or an object whose type is one and
// which says more where many tools are of the kind.
func (d *Decoder) toolName(kind []byte) string {
	name, ok := jsonwalk.String(kind)
	if !ok {
		o := jsonwalk.Members(kind)
		for o.Next() {
			v, isText := jsonwalk.String(o.Value)
			if !isText {
				continue
			}
			switch string(o.Key) {
			case "tool", "name":
				name = v
				ok = true
			case "type":
				if !ok {
					name = v
				}
			}
		}
	}
	return d.names.Get(name)
}

func (d *Decoder) turnStarted(e *event) {
	id := d.names.Get(e.turn)
	if old := d.turns[id]; old != nil || len(d.turns) >= maxOpen {
		return // told twice, or a trace whose turns never end
	}
	d.turns[id] = &record.Turn{
		Pos: e.pos, Format: record.FormatBundle, Start: e.at,
		Session: d.names.Get(e.thread), ID: id,
	}
}

func (d *Decoder) turnEnded(e *event) {
	id := d.names.Get(e.turn)
	t := d.turns[id]
	if t == nil {
		return // it began before the trace: nothing is known of its length
	}
	delete(d.turns, id)
	t.Pos, t.End = e.pos, e.at
	if took := t.End.Sub(t.Start); took > 0 {
		t.Duration = took
	}
	switch string(e.status) {
	case "failed":
		t.Status = record.Failed
	case "cancelled", "aborted", "interrupted":
		t.Status = record.Aborted
	case "running":
		t.Status = record.Unfinished
	}
	d.emitTurn(t)
}

// emitTurn emits a turn of which something is known: all the time of one
// without requests and tools would show as waiting for nothing.
func (d *Decoder) emitTurn(t *record.Turn) {
	if len(t.Requests) > 0 || len(t.Tools) > 0 {
		d.emit(t)
	}
}
