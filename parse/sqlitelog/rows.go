package sqlitelog

import (
	"bytes"

	"codexlag/parse/jsonwalk"
	"codexlag/parse/lines"
	"codexlag/parse/record"
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
	r, why := d.row(pos, l)
	switch {
	case why != "":
		d.c.drop(pos, why, "")
	case r != nil:
		d.c.row(r)
	}
}

// NeedWhole wants the long rows whole that may tell of a request.
func (d *Rows) NeedWhole(head []byte) bool {
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

// row takes a line apart. It returns nil for a row that tells of no request,
// and why where it cannot be read.
func (d *Rows) row(pos record.Pos, l lines.Line) (*row, record.Reason) {
	b := object(l.Text)
	if len(b) == 0 {
		return nil, ""
	}
	f, err := parseFields(b)
	switch {
	case err == jsonwalk.ErrSyntax && b[0] != '{':
		return nil, record.NotAnObject
	case f.target != nil && f.target[0] == '"' && !wanted(f.target):
		return nil, ""
	case err != nil && l.Cut():
		return nil, record.TooLong
	case err != nil:
		return nil, record.BadJSON
	}
	target, isText := jsonwalk.String(f.target)
	if !isText {
		return nil, record.BadRow
	}
	if bytes.HasPrefix(target, []byte("codex_core")) && !bytes.Contains(f.body, []byte(sampled)) {
		return nil, ""
	}
	body, isText := jsonwalk.String(f.body)
	thread, isID := jsonwalk.String(f.thread)
	if !isText || !isID && f.thread != nil && !jsonwalk.IsNull(f.thread) {
		return nil, record.BadRow
	}
	seconds, okS := wholeNumber(f.seconds)
	nanos, okN := wholeNumber(f.nanos)
	at, ok := unixTime(seconds, nanos)
	if !okS || !okN && f.nanos != nil || !ok {
		return nil, record.BadRow
	}
	return &row{pos: pos, at: at, target: target, thread: thread, body: body}, ""
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
