package sqlitelog

import (
	"bytes"

	"codexlag/parse/jsonwalk"
	"codexlag/parse/lines"
	"codexlag/parse/record"
	"codexlag/parse/telemetry"
)

// Rows reads the rows of the log as sqlite3 prints them:
//
//	sqlite3 -json logs_2.sqlite "select ts,ts_nanos,level,target,feedback_log_body,thread_id from logs"
//
// That is one array, each row an object on a line of its own. It implements
// record.Decoder; the position of a record is its line, not its row.
type Rows struct {
	c *combiner
}

// NewRows returns a decoder of the exported rows in the log that is called file.
func NewRows(file string, emit func(record.Record)) *Rows {
	return &Rows{newCombiner(file, emit)}
}

// Info tells what the rows turned out to hold.
func (d *Rows) Info() Info {
	d.c.info.Version = d.c.trace.Info().Version
	return d.c.info
}

// End tells that the log is over.
func (d *Rows) End() { d.c.end() }

// Line takes the next line.
func (d *Rows) Line(l lines.Line) {
	pos := record.Pos{File: d.c.file, Line: l.N}
	for b := object(l.Text); len(b) > 0; {
		var r *row
		var why record.Reason
		r, b, why = nextRow(pos, b, l.Cut())
		switch {
		case why != "":
			d.c.drop(pos, why, "")
		case r != nil:
			d.c.row(r)
		}
	}
}

// NeedWhole wants the long rows whole that may tell of a request, and the line
// that opens the array: it may hold all rows.
func (d *Rows) NeedWhole(head []byte) bool {
	if bytes.HasPrefix(bytes.TrimLeft(head, " \t"), []byte("[")) {
		return true
	}
	f, _ := parseFields(object(head))
	return f.target == nil || wanted(f.target)
}

// An export is the members of an exported row, as they stand.
type export struct {
	seconds, nanos, target, thread, body []byte
}

func parseFields(b []byte) (f export, err error) {
	o := jsonwalk.Members(b)
	for o.Next() {
		switch string(o.Key) {
		case "ts":
			f.seconds = o.Value
		case "ts_nanos":
			f.nanos = o.Value
		case "target":
			f.target = o.Value
		case "thread_id":
			f.thread = o.Value
		case "feedback_log_body", "message":
			f.body = o.Value
		}
	}
	return f, o.Err()
}

// nextRow takes the first row of b apart, and returns what follows it: nothing,
// unless another program has printed the array anew, in one line. The row is
// nil where it tells of no request; why says that it cannot be read.
func nextRow(pos record.Pos, b []byte, cut bool) (r *row, rest []byte, why record.Reason) {
	f, err := parseFields(b)
	if err == jsonwalk.ErrSyntax && b[0] == '{' {
		if n := telemetry.ValueLen(b); n < len(b) && b[n] == ',' {
			f, err = parseFields(b[:n])
			rest = bytes.TrimLeft(b[n:], ", \t")
		}
	}
	switch {
	case err == jsonwalk.ErrSyntax && b[0] != '{':
		return nil, rest, record.NotAnObject
	case f.target != nil && f.target[0] == '"' && !wanted(f.target):
		return nil, rest, ""
	case err != nil && cut:
		return nil, rest, record.TooLong
	case err != nil:
		return nil, rest, record.BadJSON
	}
	target, isText := jsonwalk.String(f.target)
	if !isText {
		return nil, rest, record.BadRow
	}
	if bytes.HasPrefix(target, []byte("codex_core")) && !bytes.Contains(f.body, []byte(sampled)) {
		return nil, rest, ""
	}
	body, isText := jsonwalk.String(f.body)
	thread, isID := jsonwalk.String(f.thread)
	if !isText || !isID && f.thread != nil && !jsonwalk.IsNull(f.thread) {
		return nil, rest, record.BadRow
	}
	seconds, okS := wholeNumber(f.seconds)
	nanos, okN := wholeNumber(f.nanos)
	at, ok := unixTime(seconds, nanos)
	if !okS || !okN && f.nanos != nil || !ok {
		return nil, rest, record.BadRow
	}
	return &row{pos: pos, at: at, target: target, thread: thread, body: body}, rest, ""
}

// wholeNumber reads a number that stands without quotes, as sqlite3 prints an
// integer.
func wholeNumber(v []byte) (int64, bool) {
	if len(v) == 0 || v[0] == '"' {
		return 0, false
	}
	return jsonwalk.Int(v)
}

// wanted reports whether rows of the target, a JSON string, may tell of a
// request.
func wanted(target []byte) bool {
	t := bytes.Trim(target, `"`)
	return string(t) == streamTarget || bytes.HasPrefix(t, []byte("codex_otel")) || bytes.HasPrefix(t, []byte("codex_core"))
}

// object takes off a line what belongs to the array around its object.
func object(b []byte) []byte {
	b = bytes.TrimSpace(b)
	if len(b) > 0 && b[0] == '[' {
		b = bytes.TrimLeft(b[1:], " \t")
	}
	if n := len(b); n > 0 && (b[n-1] == ',' || b[n-1] == ']') {
		b = bytes.TrimRight(b[:n-1], " \t")
	}
	return b
}
