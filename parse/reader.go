// Package parse turns logs into records. It knows files and formats, and no
// statistics.
//
// A Reader reads one log, Read reads many. Each format is a package of its own
// below this one; a new format is a new package and a line in newDecoder.
package parse

import (
	"bytes"
	"io"
	"time"
	"unicode/utf8"

	"codexlag/parse/lines"
	"codexlag/parse/record"
	"codexlag/parse/requestline"
)

// Info is what is known of one log when it has been read.
type Info struct {
	Path   string
	Format record.Format
	// Bytes and Lines are those of the decoded text.
	Bytes, Lines    int64
	Requests, Turns int
	Dropped         map[record.Reason]int
	// FirstUnreadable is the first line that is counted as unreadable; 0 for none.
	FirstUnreadable int64
	// Err says why reading ended before the log did.
	Err error
}

// A Reader reads the records of one log, in the manner of bufio.Scanner. It
// never aborts: what cannot be read comes out as *record.Dropped. The format is
// recognised line by line, because logs of several kinds end up in one file.
type Reader struct {
	lines    *lines.Reader
	location *time.Location
	info     Info
	decoders [kinds]record.Decoder
	recordsN [kinds]int
	current  kind
	main     kind // of the first line that was recognised
	inText   bool // the last trace line may go on with free text
	pending  []record.Record
	next     int
	ended    bool
}

// NewReader returns a Reader of the log src, which is called path in records.
// Timestamps without a zone are taken to be of location.
func NewReader(path string, src io.Reader, location *time.Location) *Reader {
	r := &Reader{
		lines:    lines.NewReader(src),
		location: location,
		info:     Info{Path: path, Dropped: make(map[record.Reason]int)},
	}
	r.lines.NeedWhole = r.needWhole
	return r
}

// Scan steps to the next record.
func (r *Reader) Scan() bool {
	for {
		if r.next++; r.next < len(r.pending) {
			return true
		}
		r.pending, r.next = r.pending[:0], -1
		switch {
		case r.lines.Scan():
			r.line(r.lines.Line())
		case !r.ended:
			r.end()
		default:
			return false
		}
	}
}

// Record returns the record that Scan found. It is valid until the next Scan.
func (r *Reader) Record() record.Record { return r.pending[r.next] }

// Info returns what is known of the log so far.
func (r *Reader) Info() Info { return r.info }

func (r *Reader) end() {
	r.ended = true
	r.current = kindNone
	for k, d := range r.decoders {
		if d != nil {
			r.current = kind(k)
			d.End()
		}
	}
	r.info.Bytes = r.lines.Bytes()
	r.info.Err = r.lines.Err()
	r.info.Format = r.format()
}

// format names the kind of log by where its records came from.
func (r *Reader) format() record.Format {
	best := r.main
	for k, n := range r.recordsN {
		if n > r.recordsN[best] {
			best = kind(k)
		}
	}
	return formats[best]
}

var formats = [kinds]record.Format{
	kindNone: record.FormatUnknown, kindRequest: record.FormatRequest, kindRollout: record.FormatRollout,
	kindTrace: record.FormatTrace, kindOTLP: record.FormatOTLP, kindExec: record.FormatExec,
	kindBundle: record.FormatBundle, kindRecorder: record.FormatUnknown, kindRows: record.FormatSQLite,
}

// emit takes a record from a decoder.
func (r *Reader) emit(rec record.Record) {
	switch rec := rec.(type) {
	case *record.Request:
		r.info.Requests++
		r.recordsN[r.current]++
	case *record.Turn:
		rec.Format = formats[r.current]
		r.info.Turns++
	case *record.Dropped:
		r.info.Dropped[rec.Reason]++
		if rec.Reason.Unreadable() && r.info.FirstUnreadable == 0 {
			r.info.FirstUnreadable = rec.Line
		}
	}
	r.pending = append(r.pending, rec)
}

func (r *Reader) line(l lines.Line) {
	r.info.Lines = l.N
	k := r.kindOf(l.Text)
	if k == kindNone {
		r.unknown(l)
		return
	}
	if r.main == kindNone {
		r.main = k
	}
	if d := r.decoder(k); d != nil {
		r.current = k
		d.Line(l)
	}
}

// kindOf decides which log a line belongs to; kindNone for none.
func (r *Reader) kindOf(text []byte) kind {
	if len(text) == 0 {
		return kindNone
	}
	switch c := text[0]; {
	case c == '{':
		if k := jsonKind(text); k != kindNone || r.main != kindRollout {
			return k
		}
		return kindRollout // broken, then; its decoder tells
	case c == ' ' || c == '\t':
		if t := bytes.TrimLeft(text, " \t"); len(t) > 0 && t[0] == '{' {
			return jsonKind(t)
		}
	case (c >= '0' && c <= '9' || c == '\x1b') && isTracing(text):
		return r.tracing(text)
	}
	if r.inText || !requestline.Match(text) {
		return kindNone
	}
	return kindRequest
}

// tracing decides about a line of text with the head of the tracing library.
func (r *Reader) tracing(text []byte) kind {
	r.inText = false
	if isCodexTrace(text) || r.main == kindTrace && !requestline.Match(text) {
		r.inText = opensText(text)
		return kindTrace
	}
	if requestline.Match(text) {
		return kindRequest
	}
	return kindNone
}

// unknown counts a line that is of no kind where every line should be of one:
// in a session file. In other logs such lines are noise.
func (r *Reader) unknown(l lines.Line) {
	if r.main != kindRollout || len(bytes.TrimSpace(l.Text)) == 0 {
		return
	}
	why := record.BadJSON
	switch t := bytes.TrimSpace(l.Text); {
	case bytes.IndexByte(l.Text, 0) >= 0 || !l.Cut() && !utf8.Valid(l.Text):
		why = record.NotText
	case t[0] == '[' || t[0] == '"':
		why = record.NotAnObject
	}
	r.emit(&record.Dropped{Pos: record.Pos{File: r.info.Path, Line: l.N}, Reason: why})
}

func (r *Reader) decoder(k kind) record.Decoder {
	if r.decoders[k] == nil {
		r.decoders[k] = newDecoder(k, r.info.Path, r.location, r.emit)
	}
	return r.decoders[k]
}

// needWhole asks the decoder of a long line whether it needs all of it.
func (r *Reader) needWhole(head []byte) bool {
	k := r.kindOf(head)
	if k == kindNone {
		return false
	}
	d := r.decoder(k)
	return d != nil && d.NeedWhole(head)
}
