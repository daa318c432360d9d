package trace

import (
	"bytes"

	"codexlag/parse/jsonwalk"
	"codexlag/parse/record"
	"codexlag/parse/telemetry"
	"codexlag/parse/timestamp"
)

// jsonMatters is what matters is for text lines.
func jsonMatters(b []byte) bool {
	return bytes.Contains(b, []byte(`"event.name"`)) || bytes.Contains(b, markIdle) || bytes.Contains(b, []byte(`"message":"new"`)) ||
		bytes.Contains(b, markSampled) || bytes.Contains(b, markUsage)
}

// A jsonLine is a line of LOG_FORMAT=json, taken apart.
type jsonLine struct {
	target, fields, span, spans []byte
}

// json takes a line of LOG_FORMAT=json:
//
//	{"timestamp":…,"level":…,"fields":{"message":…},"target":…,"span":{…},"spans":[{…}]}
func (d *Decoder) json(pos record.Pos, b []byte, isCut bool) {
	e := &d.event
	*e = telemetry.Event{Pos: pos}
	var l jsonLine
	o := jsonwalk.Members(b)
	take := func() {
		switch string(o.Key) {
		case "timestamp":
			if s, ok := jsonwalk.String(o.Value); ok {
				e.Time, _ = timestamp.Parse(s)
			}
		case "target":
			l.target, _ = jsonwalk.String(o.Value)
		case "fields":
			l.fields = o.Value
		case "span":
			l.span = o.Value
		case "spans":
			l.spans = o.Value
		}
	}
	for o.Next() {
		take()
	}
	if o.Err() != nil {
		reason := record.BadJSON
		if isCut {
			reason = record.TooLong
		}
		d.emit(&record.Dropped{Pos: pos, Reason: reason})
		return
	}
	if e.Time.IsZero() {
		d.emit(&record.Dropped{Pos: pos, Reason: record.BadTime})
		return
	}
	d.jsonEvent(e, &l)
}

func (d *Decoder) jsonEvent(e *telemetry.Event, l *jsonLine) {
	s := &d.spans
	*s = spans{}
	telemetry.Elements(l.spans, s.enterJSON)
	if l.span != nil { // the innermost one once more
		s.enterJSON(l.span)
	}
	var message, busy, idle []byte
	event := isTelemetry(l.target)
	o := jsonwalk.Members(l.fields)
	for o.Next() {
		v := telemetry.Text(o.Value)
		switch string(o.Key) {
		case "message":
			message = v
		case "time.busy":
			busy = v
		case "time.idle":
			idle = v
		case "turn_id":
			s.turn = v
		default:
			if event {
				e.Field(&d.names, o.Key, v)
			}
		}
	}
	switch {
	case event:
		if !e.Matters() {
			return
		}
	case string(message) == "new" && s.mark(e, true):
	case string(message) == "close" && s.mark(e, false):
		x, okX := spanTime(busy)
		y, okY := spanTime(idle)
		e.Duration, e.HasDuration = x+y, okX && okY
	case isSampled(l.target, message):
		e.Kind = telemetry.Sampled
	case bytes.HasPrefix(message, markUsage):
		d.emit(&record.Dropped{Pos: e.Pos, Reason: record.NoTime})
		return
	default:
		return
	}
	s.complete(e, &d.names, nil)
	d.events.Add(e)
}

func (s *spans) enterJSON(span []byte) {
	s.enter(nil)
	o := jsonwalk.Members(span)
	for o.Next() {
		v := telemetry.Text(o.Value)
		if string(o.Key) == "name" {
			s.name = v
			continue
		}
		s.set(o.Key, v)
	}
}
