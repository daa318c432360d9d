// Package trace reads what Codex traces: the text of codex-tui.log and of codex
// exec's stderr, and the JSON lines of LOG_FORMAT=json. From it come the events
// that package telemetry rebuilds requests and turns from.
//
// Such a log holds prompts, tool output and even lines of itself as message
// text. So an event counts only where the line's own target says that it is
// one, and only fields in front of any free text are believed.
package trace

import (
	"bytes"
	"time"

	"codexlag/parse/intern"
	"codexlag/parse/lines"
	"codexlag/parse/record"
	"codexlag/parse/telemetry"
	"codexlag/parse/timestamp"
)

// A Decoder reads one trace. It implements record.Decoder.
type Decoder struct {
	file   string
	emit   func(record.Record)
	events *telemetry.Events
	names  intern.Table

	plain []byte // scratch: a line without its colours
	spans spans
	event telemetry.Event
}

// New returns a Decoder of the trace that is called file.
func New(file string, emit func(record.Record)) *Decoder {
	return NewFormat(record.FormatTrace, file, emit)
}

// NewFormat returns a Decoder of trace text that is kept in another format,
// such as the rows of a database.
func NewFormat(format record.Format, file string, emit func(record.Record)) *Decoder {
	return &Decoder{file: file, emit: emit, events: telemetry.New(format, emit)}
}

// Info tells what the trace turned out to hold.
func (d *Decoder) Info() telemetry.Info { return d.events.Info() }

// End tells that the trace is over.
func (d *Decoder) End() { d.events.End() }

// Line takes the next line. A line that begins with neither a time nor a brace
// goes on with the message of the line before, and no message is of interest.
func (d *Decoder) Line(l lines.Line) {
	b := l.Text
	if len(b) == 0 {
		return
	}
	pos := record.Pos{File: d.file, Line: l.N}
	if b[0] == '{' {
		if jsonMatters(b) {
			d.json(pos, b, l.Cut())
		}
		return
	}
	if !startsLine(b) || !matters(b) {
		return
	}
	b = d.uncoloured(b)
	at, body, ok := splitTime(b)
	if !ok {
		return
	}
	d.row(Row{Pos: pos, Time: at, Body: body}, l.Open)
}

// startsLine reports whether b may start with a time: a digit, perhaps behind a
// colour.
func startsLine(b []byte) bool { return b[0] >= '0' && b[0] <= '9' || b[0] == esc }

// Marks of the lines that matter, as they stand in coloured lines too.
var (
	markEvent   = []byte("event.name")
	markSampled = []byte("post sampling token usage")
	markUsage   = []byte("TokenCount(TokenUsage")
	markIdle    = []byte("time.idle")
	markNew     = []byte(" new")

	markModel     = []byte(modelSpan)
	markTurn      = []byte(turnSpan)
	markResponses = []byte(usageSpan)
)

// matters tells apart, with a few searches, the lines that may be of interest
// from the mass that is not.
func matters(b []byte) bool {
	return isSpanLine(b) && (bytes.Contains(b, markModel) || bytes.Contains(b, markTurn) || bytes.Contains(b, markResponses)) ||
		bytes.Contains(b, markEvent) || bytes.Contains(b, markSampled) || bytes.Contains(b, markUsage)
}

// isSpanLine reports whether the line may tell that a span opened or closed.
func isSpanLine(b []byte) bool {
	end := b[max(0, len(b)-96):]
	return bytes.HasSuffix(end, markNew) || bytes.Contains(end, markIdle)
}

// splitTime takes the time and the level off the beginning of a line.
func splitTime(b []byte) (at time.Time, rest []byte, ok bool) {
	i := bytes.IndexByte(b[:min(len(b), 40)], ' ')
	if i < 0 {
		return at, b, false
	}
	if at, ok = timestamp.Parse(b[:i]); !ok {
		return at, b, false
	}
	b = bytes.TrimLeft(b[i:], " ")
	for _, level := range [...]string{"INFO ", "DEBUG ", "TRACE ", "WARN ", "ERROR "} {
		if len(b) >= len(level) && string(b[:len(level)]) == level {
			return at, bytes.TrimLeft(b[len(level):], " "), true
		}
	}
	return at, b, false
}

const esc = 0x1b

// uncoloured returns b without terminal colours (ESC[…m).
func (d *Decoder) uncoloured(b []byte) []byte {
	i := bytes.IndexByte(b, esc)
	if i < 0 {
		return b
	}
	out := d.plain[:0]
	for i >= 0 {
		out = append(out, b[:i]...)
		b = b[i+1:]
		if len(b) > 0 && b[0] == '[' {
			n := 1
			for n < len(b) && (b[n] >= '0' && b[n] <= '9' || b[n] == ';') {
				n++
			}
			if n < len(b) && b[n] == 'm' {
				b = b[n+1:]
			}
		}
		i = bytes.IndexByte(b, esc)
	}
	d.plain = append(out, b...)
	return d.plain
}

// margin is the room that the fields of an event need behind its spans; its
// free text comes last or does not matter.
const margin = 4 << 10

// NeedWhole wants those long lines whole whose spans alone are too long for the
// beginning that is delivered otherwise. (A bug nested 691 spans in one line.)
func (d *Decoder) NeedWhole(head []byte) bool {
	if len(head) == 0 {
		return false
	}
	if head[0] == '{' {
		return bytes.Contains(head, []byte(`"event.name":"codex.`))
	}
	if !startsLine(head) {
		return false
	}
	_, body, ok := splitTime(d.uncoloured(head[:min(len(head), lines.Head-margin)]))
	if !ok {
		return false
	}
	var s spans
	s.parse(body)
	return s.state == cut
}
