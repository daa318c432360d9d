// Package otlp reads OTLP JSON as a collector writes it into a file: logs
// (resourceLogs) and traces (resourceSpans). The log records and the events of
// spans are Codex's telemetry events, which package telemetry rebuilds requests
// and turns from.
package otlp

import (
	"bytes"
	"slices"
	"time"

	"codexlag/parse/intern"
	"codexlag/parse/jsonwalk"
	"codexlag/parse/lines"
	"codexlag/parse/record"
	"codexlag/parse/telemetry"
)

const (
	// late is how much later than its successors an event may stand in a file.
	// Collectors write batches in the order in which they come in.
	late = 10 * time.Minute
	// maxHeld bounds the events that wait to be put in order.
	maxHeld = 1 << 16
)

// A Decoder reads one capture in which each line is one whole object. It
// implements record.Decoder. For captures that are printed over many lines see
// Whole.
type Decoder struct {
	file   string
	emit   func(record.Record)
	events *telemetry.Events
	names  intern.Table

	// held are the events that may still have to stand behind one to come.
	held           []telemetry.Event
	oldest, newest time.Time // of held

	span spanOf
}

// spanOf is what a span says of the events in it.
type spanOf struct {
	thread, turn, model []byte
}

// New returns a Decoder of the capture that is called file.
func New(file string, emit func(record.Record)) *Decoder {
	return &Decoder{file: file, emit: emit, events: telemetry.New(record.FormatOTLP, emit)}
}

// Info tells what the capture turned out to hold.
func (d *Decoder) Info() telemetry.Info { return d.events.Info() }

// NeedWhole wants every line whole: one object holds a batch of many events.
func (d *Decoder) NeedWhole([]byte) bool { return true }

// Line takes the next line. Of a line that is cut short the whole records are
// taken.
func (d *Decoder) Line(l lines.Line) {
	if len(bytes.TrimSpace(l.Text)) == 0 {
		return
	}
	pos := record.Pos{File: d.file, Line: l.N}
	o := jsonwalk.Members(l.Text)
	known := false
	take := func() {
		switch string(o.Key) {
		case "resourceLogs":
			d.each(pos, o.Value, "scopeLogs", "logRecords", d.logRecord)
			known = true
		case "resourceSpans":
			d.each(pos, o.Value, "scopeSpans", "spans", d.spanEvents)
			known = true
		}
	}
	for o.Next() {
		take()
	}
	switch err := o.Err(); {
	case err == nil && !known: // metrics: histograms only, nothing of a single request
		d.drop(pos, record.UnknownType)
	case err == nil:
	case l.Cut():
		take()
		d.drop(pos, record.TooLong)
	default:
		if err == jsonwalk.ErrCut {
			take()
		}
		d.drop(pos, record.BadJSON)
	}
	d.order(false)
}

func (d *Decoder) drop(pos record.Pos, reason record.Reason) {
	d.emit(&record.Dropped{Pos: pos, Reason: reason})
}

// each calls f with each record in a list of resources: in the array inner of
// each object in the array outer of each resource.
func (d *Decoder) each(pos record.Pos, resources []byte, outer, inner string, f func(record.Pos, []byte)) {
	telemetry.Elements(resources, func(resource []byte) {
		telemetry.Elements(member(resource, outer), func(scope []byte) {
			telemetry.Elements(member(scope, inner), func(r []byte) { f(pos, r) })
		})
	})
}

// member returns a member of an object, as far as it goes where the object is
// cut short.
func member(object []byte, key string) []byte {
	o := jsonwalk.Members(object)
	for o.Next() {
		if string(o.Key) == key {
			return o.Value
		}
	}
	if string(o.Key) == key {
		return o.Value
	}
	return nil
}

// logRecord takes one record of a log. Its body is null: an event is all
// attributes.
func (d *Decoder) logRecord(pos record.Pos, b []byte) {
	e := telemetry.Event{Pos: pos}
	var attributes, at, observed, event []byte
	o := jsonwalk.Members(b)
	for o.Next() {
		switch string(o.Key) {
		case "attributes":
			attributes = o.Value
		case "timeUnixNano":
			at = o.Value
		case "observedTimeUnixNano":
			observed = o.Value
		case "eventName":
			event = o.Value
		}
	}
	if o.Err() != nil {
		return // cut short; told with its line
	}
	d.take(&e, attributes, event, at, observed)
}

// spanEvents takes the events in one span of a trace.
func (d *Decoder) spanEvents(pos record.Pos, b []byte) {
	var events []byte
	d.span = spanOf{}
	o := jsonwalk.Members(b)
	for o.Next() {
		switch string(o.Key) {
		case "attributes":
			attributes(o.Value, d.span.set)
		case "events":
			events = o.Value
		}
	}
	telemetry.Elements(events, func(b []byte) {
		e := telemetry.Event{Pos: pos}
		var attributes, at []byte
		o := jsonwalk.Members(b)
		for o.Next() {
			switch string(o.Key) {
			case "attributes":
				attributes = o.Value
			case "timeUnixNano":
				at = o.Value
			}
		}
		if o.Err() == nil {
			d.take(&e, attributes, nil, at, nil)
		}
	})
	d.span = spanOf{}
}

func (s *spanOf) set(key, v []byte) {
	switch string(key) {
	case "thread.id", "thread_id", "conversation.id":
		s.thread = v
	case "turn.id", "turn_id":
		s.turn = v
	case "model":
		s.model = v
	}
}

// take makes an event of its attributes and holds it until it can be put in
// order.
func (d *Decoder) take(e *telemetry.Event, attrs, event, at, observed []byte) {
	attributes(attrs, func(key, v []byte) { e.Field(&d.names, key, v) })
	if name, ok := jsonwalk.String(event); ok && e.Kind == telemetry.Other {
		e.Field(&d.names, []byte("event.name"), name)
	}
	if !e.Matters() {
		return
	}
	fill := func(s *string, v []byte) {
		if *s == "" {
			*s = d.names.Get(v)
		}
	}
	fill(&e.Conversation, d.span.thread)
	fill(&e.Turn, d.span.turn)
	fill(&e.Model, d.span.model)
	for _, t := range [...][]byte{at, observed} {
		if ns := nanoseconds(t); ns > 0 && e.Time.IsZero() {
			e.Time = time.Unix(0, ns).UTC()
		}
	}
	if e.Time.IsZero() {
		d.events.Add(e) // counted there
		return
	}
	if len(d.held) == 0 || e.Time.Before(d.oldest) {
		d.oldest = e.Time
	}
	if len(d.held) == 0 || e.Time.After(d.newest) {
		d.newest = e.Time
	}
	d.held = append(d.held, *e)
	if len(d.held) >= maxHeld {
		d.order(false)
	}
}

// nanoseconds reads a time in ns since 1970, a string of 19 digits; 0 where it
// is none. A float would lose the last of them.
func nanoseconds(v []byte) int64 {
	v = telemetry.Text(v)
	if len(v) > 19 {
		return 0
	}
	n := int64(0)
	for _, c := range v {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + int64(c-'0')
	}
	return max(n, 0) // 19 nines overflow to a negative number
}

// attributes calls f with each attribute, {"key":…,"value":{"stringValue":…}}.
func attributes(array []byte, f func(key, v []byte)) {
	telemetry.Elements(array, func(b []byte) {
		var key, value []byte
		o := jsonwalk.Members(b)
		for o.Next() {
			switch string(o.Key) {
			case "key":
				key, _ = jsonwalk.String(o.Value)
			case "value":
				value = o.Value
			}
		}
		v := jsonwalk.Members(value) // an object of one member, named after the type
		if key != nil && v.Next() {
			f(key, telemetry.Text(v.Value))
		}
	})
}

// order passes on the events that no later one can come before: those long
// enough ago, or when too many are held the older half, or at the end all.
func (d *Decoder) order(all bool) {
	tooMany := len(d.held) >= maxHeld
	if len(d.held) == 0 || !all && !tooMany && d.newest.Sub(d.oldest) < 2*late {
		return
	}
	slices.SortStableFunc(d.held, func(a, b telemetry.Event) int { return a.Time.Compare(b.Time) })
	until := d.newest.Add(-late)
	n := 0
	for n < len(d.held) && (all || !d.held[n].Time.After(until) || tooMany && n < maxHeld/2) {
		d.events.Add(&d.held[n])
		n++
	}
	rest := copy(d.held, d.held[n:])
	clear(d.held[rest:])
	d.held = d.held[:rest]
	if rest > 0 {
		d.oldest = d.held[0].Time
	}
}

// End tells that the capture is over.
func (d *Decoder) End() {
	d.order(true)
	d.events.End()
}
