// Package requestline reads the simplest log: one line a request, as a wrapper
// or a gateway around Codex writes it,
//
//	[request] first_token_ms=2840 total_tokens=3 total_ms=3120 tokens_per_sec=10.7
//
// in every shape that is seen in the wild: key=value and key: value in any
// order, JSON objects, quoted values, units, "unknown" in many spellings, with
// a timestamp, a level and other fields before, between and after.
//
// A line is a request where it carries the mark [request] and a number, or, on
// its own authority, a first-token time and a total or a token count. Keys
// must match whole: llm_first_token_ms is another program's field. In these
// lines total_tokens means generated tokens, unless the line also tells the
// output apart (completion_tokens, output_tokens).
package requestline

import (
	"bytes"
	"time"

	"codexlag/parse/intern"
	"codexlag/parse/jsonwalk"
	"codexlag/parse/lines"
	"codexlag/parse/record"
)

var mark = []byte("[request]")

// maxPrefix is how far into a line the mark may stand: a timestamp, a level, a
// target and a few fields come before it, not a story that quotes it.
const maxPrefix = 1024

// A Decoder reads request lines. It implements record.Decoder.
type Decoder struct {
	// Place, where set, says where to make the next request; else all are made
	// in the same place.
	Place func() *record.Request

	file     string
	location *time.Location
	emit     func(record.Record)
	names    intern.Table
	plain    []byte // the line without colours

	// The models of rows, and their numbers.
	rowModels  []string
	rowNumbers map[string]uint16
	lastModel  string
	lastNumber uint16
	prefixes   []rowPrefix
	fields     fields
	request    record.Request
}

// New returns a decoder of the request lines of file. Timestamps without a
// zone are taken to be of location.
func New(file string, location *time.Location, emit func(record.Record)) *Decoder {
	return &Decoder{file: file, location: location, emit: emit}
}

// Match reports whether the line may be a request: it holds the mark, or a key
// such as first_token_ms or ttft_ms. Next to no other line does.
func Match(line []byte) bool {
	if IndexMark(line) >= 0 {
		return true
	}
	for i := 0; ; i++ { // the underscore is the rarest byte of such a key
		n := bytes.IndexByte(line[i:], '_')
		if n < 0 {
			return false
		}
		if i += n; i >= 4 && string(line[i-4:i]) == "ttft" || i >= 5 && string(line[i-5:i]) == "first" && bytes.HasPrefix(line[i:], []byte("_token")) {
			return true
		}
	}
}

// IndexMark returns where the mark stands, -1 where it does not.
func IndexMark(line []byte) int {
	for i := 0; ; i++ {
		n := bytes.IndexByte(line[i:], '[')
		if n < 0 {
			return -1
		}
		if i += n; bytes.HasPrefix(line[i:], mark) {
			return i
		}
	}
}

// NeedWhole implements record.Decoder: a request line longer than a window
// is a JSON object with other things in it.
func (d *Decoder) NeedWhole(head []byte) bool {
	return jsonwalk.IsObject(bytes.TrimLeft(head, " \t"))
}

// End implements record.Decoder; nothing is ever pending.
func (d *Decoder) End() {}

// Line implements record.Decoder.
func (d *Decoder) Line(l lines.Line) {
	text := l.Text
	if bytes.IndexByte(text, '\x1b') >= 0 {
		d.plain = stripColours(d.plain[:0], text)
		text = d.plain
	}
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return
	}
	if text[0] == '{' {
		d.object(l, text)
		return
	}
	f := &d.fields
	*f = fields{location: d.location}
	d.finish(l, f.line(text))
}

// Object takes the line if it is a JSON object that is a request by its own
// members, and reports whether it was.
func (d *Decoder) Object(l lines.Line) bool {
	if l.Cut() {
		return false
	}
	f := &d.fields
	*f = fields{location: d.location}
	marked, err := f.object(l.Text)
	if err != nil || marked || !f.speaksForItself() {
		return false
	}
	d.finish(l, false)
	return true
}

func (d *Decoder) object(l lines.Line, text []byte) {
	if l.Cut() {
		d.drop(l, record.TooLong)
		return
	}
	f := &d.fields
	*f = fields{location: d.location}
	marked, err := f.object(text)
	if err != nil {
		if Match(text) {
			d.drop(l, record.BadJSON)
		}
		return
	}
	d.finish(l, marked)
}

// finish emits the request whose fields were taken, if they make one.
func (d *Decoder) finish(l lines.Line, marked bool) {
	f := &d.fields
	switch {
	case !marked && !f.speaksForItself():
		return
	case !f.hasNumber() && (!marked || len(f.status)+len(f.e) == 0):
		if marked {
			d.drop(l, record.NoNumbers)
		}
		return
	}
	if !f.hasNumber() { // only a failure needs none
		d.request = record.Request{}
		if f.fill(&d.request, &d.names); d.request.Status == record.OK {
			d.drop(l, record.NoNumbers)
			return
		}
	}
	r := &d.request
	if d.Place != nil {
		r = d.Place()
	}
	*r = record.Request{Pos: record.Pos{File: d.file, Line: l.N}, Format: record.FormatRequest}
	f.fill(r, &d.names)
	d.emit(r)
	if f.unreadable {
		d.drop(l, record.BadValue)
	}
}

func (d *Decoder) drop(l lines.Line, why record.Reason) {
	d.emit(&record.Dropped{Pos: record.Pos{File: d.file, Line: l.N}, Reason: why})
}

// stripColours appends text without its ANSI escape sequences to dst.
func stripColours(dst, text []byte) []byte {
	for {
		i := bytes.IndexByte(text, '\x1b')
		if i < 0 {
			return append(dst, text...)
		}
		dst = append(dst, text[:i]...)
		text = text[i+1:]
		if len(text) == 0 || text[0] != '[' {
			continue
		}
		text = text[1:]
		for len(text) > 0 && (text[0] < 0x40 || text[0] > 0x7e) { // parameters
			text = text[1:]
		}
		if len(text) > 0 { // final letter
			text = text[1:]
		}
	}
}
