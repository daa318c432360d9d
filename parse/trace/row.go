package trace

import (
	"bytes"
	"time"

	"codexlag/parse/record"
	"codexlag/parse/telemetry"
)

// A Row is a line of a trace whose parts are known apart from its text, as a
// database keeps them.
type Row struct {
	Pos    record.Pos
	Time   time.Time
	Target []byte // nil where the body may name it
	Thread []byte // nil where only the body names it
	Body   []byte // spans, then the target where it is not given, then the fields
}

// Row takes the next line in the form of a row.
func (d *Decoder) Row(r Row) {
	if _, rest, ok := splitTime(r.Body); ok { // the oldest databases keep the whole line
		r.Body = rest
	}
	d.row(r, false)
}

func (d *Decoder) row(r Row, open bool) {
	s := &d.spans
	target, body := s.parse(r.Body)
	if s.state != whole {
		target, body = findEvent(r.Body)
	}
	if r.Target != nil {
		if s.state == whole && target != nil && !bytes.Equal(target, r.Target) {
			body = r.Body[len(r.Body)-len(body)-len(target)-len(": "):] // it was the beginning of the message
		}
		target = r.Target
	}
	e := &d.event
	*e = telemetry.Event{Pos: r.Pos, Time: r.Time}
	switch {
	case isEvent(target, body):
		named := parseFields(e, &d.names, body, open)
		if !e.Matters() {
			return
		}
		if isCutShort(e, named) {
			d.emit(&record.Dropped{Pos: r.Pos, Reason: record.BadJSON})
			return
		}
	case s.last(e, body):
	case isSampled(target, body):
		e.Kind = telemetry.Sampled
		parseFields(e, &d.names, body[len(markSampled):], open)
		e.Duration, e.HasDuration = 0, false
	case bytes.HasPrefix(body, markUsage):
		// The oldest builds tell the tokens of a request, and no time of it.
		d.emit(&record.Dropped{Pos: r.Pos, Reason: record.NoTime})
		return
	default:
		return
	}
	s.complete(e, &d.names, r.Thread)
	d.events.Add(e)
}

const otel = "codex_otel"

// isEvent reports whether the line is a telemetry event: its target says so, or
// it has none (early builds) and the message is made of an event's fields.
func isEvent(target, body []byte) bool {
	if target == nil {
		return bytes.HasPrefix(body, []byte(`event.name="codex.`))
	}
	return isTelemetry(target)
}

// isTelemetry reports whether a target is that of telemetry events:
// codex_otel.log_only, codex_otel.trace_safe, before them the module's path.
func isTelemetry(target []byte) bool {
	return bytes.HasPrefix(target, []byte(otel)) && (len(target) == len(otel) || target[len(otel)] == '.' || target[len(otel)] == ':')
}

// isSampled reports whether Codex itself says that it is done with an answer.
func isSampled(target, body []byte) bool {
	return bytes.HasPrefix(body, markSampled) && (target == nil || bytes.HasPrefix(target, []byte("codex_")))
}

// isCutShort reports whether the line of a completed answer lacks its end: the
// last number of such a line may be half a number. named says that the event
// names its conversation, as every whole one does.
func isCutShort(e *telemetry.Event, named bool) bool {
	return e.Kind == telemetry.Stream && e.Part == telemetry.Completed && !e.Failed && (!named || !e.Output.Known)
}

// findEvent finds an event in a line whose spans cannot be read, because a
// value holds an unpaired brace or quote, or because two lines got mixed.
func findEvent(b []byte) (target, body []byte) {
	start := bytes.Index(b, []byte(`: event.name="codex.`))
	if start < 0 {
		return nil, nil
	}
	i := start
	for i > 0 && isNameByte(b[i-1]) {
		i--
	}
	if i < 2 || b[i-1] != ' ' || b[i-2] != ':' && !isLevelEnd(b[:i-1]) || !isTelemetry(b[i:start]) {
		return nil, nil
	}
	return b[i:start], b[start+2:]
}

func isLevelEnd(b []byte) bool {
	return bytes.HasSuffix(bytes.TrimRight(b, " "), []byte(" INFO"))
}
