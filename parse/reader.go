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
	// Era is the generation of a session file: typescript, bare, wrapped, paginated.
	Era     string
	Version string // of Codex, the last to write to the log
	// Session is the thread of a session file; Threads are those that a
	// codex exec --json stream names.
	Session string
	Threads []string
	// TTFT counts the requests by where their TTFT came from; Totals those
	// whose total is known.
	TTFT   [record.Measured + 1]int
	Totals int
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
	// atEnd, where set, is called once: when all complete lines were read, and
	// with where they end. What is told after that may have to be taken back when
	// the log goes on.
	atEnd func(offset int64)
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

// Scan steps to the next record. Where the log pauses (lines.ErrPause), Scan
// returns false and may be called again when there is more: what the decoders
// know is kept, and so is the beginning of a line.
func (r *Reader) Scan() bool {
	for {
		if r.next++; r.next < len(r.pending) {
			return true
		}
		r.pending, r.next = r.pending[:0], -1
		offset := r.lines.Bytes()
		switch {
		case r.lines.Scan():
			l := r.lines.Line()
			if l.Open {
				r.complete(offset)
			}
			r.line(l)
		case r.lines.Paused():
			return false
		case !r.ended:
			r.complete(offset)
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

func (r *Reader) complete(offset int64) {
	if r.atEnd != nil {
		r.atEnd(offset)
		r.atEnd = nil
	}
}

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
	r.finish()
}

// finish takes what the decoders know of the log as a whole.
func (r *Reader) finish() {
	r.info.Format = r.format()
	for _, d := range r.decoders {
		describe(d, &r.info)
	}
}

// format names the kind of log by where its records came from.
func (r *Reader) format() record.Format {
	best := r.main
	for k, n := range r.recordsN {
		if n > r.recordsN[best] {
			best = kind(k)
		}
	}
	if best == kindRequest && r.recordsN[best] == 0 && len(r.info.Dropped) == 0 {
		best = kindNone // some text that only speaks of first tokens
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
	r.count(rec)
	r.pending = append(r.pending, rec)
}

func (r *Reader) count(rec record.Record) {
	switch rec := rec.(type) {
	case *record.Request:
		r.info.Requests++
		r.recordsN[r.current]++
		r.info.TTFT[rec.Quality]++
		if rec.Total > 0 {
			r.info.Totals++
		}
	case *record.Turn:
		rec.Format = formats[r.current]
		r.info.Turns++
	case *record.Dropped:
		r.info.Dropped[rec.Reason]++
		if rec.Reason.Unreadable() && r.info.FirstUnreadable == 0 {
			r.info.FirstUnreadable = rec.Line
		}
	}
}

func (r *Reader) line(l lines.Line) {
	r.info.Lines = l.N
	if r.main == kindRequest && !r.inText && len(l.Text) > 0 && l.Text[0] == '{' && r.requestObject(l) {
		return
	}
	k := r.kindOf(l.Text)
	if k == kindNone {
		return // noise
	}
	if r.main == kindNone {
		r.main = k
	}
	if d := r.decoder(k); d != nil {
		r.current = k
		d.Line(l)
	}
}

// requestObject takes the line if it is a request as a JSON object: in a log of
// requests that is likely, and spares looking at its members twice.
func (r *Reader) requestObject(l lines.Line) bool {
	d := r.decoder(kindRequest).(*requestline.Decoder)
	r.current = kindRequest
	return d.Object(l)
}

// kindOf decides which log a line belongs to; kindNone for none. In a session
// file every line should be of one: its decoder tells what is wrong with others.
func (r *Reader) kindOf(text []byte) kind {
	k := r.recognise(text)
	if k == kindNone && r.main == kindRollout && !r.inText {
		return kindRollout
	}
	return k
}

func (r *Reader) recognise(text []byte) kind {
	if len(text) == 0 {
		return kindNone
	}
	switch c := text[0]; {
	case c == '{':
		k := jsonKind(text)
		if r.inText && k != kindTrace && k != kindExec {
			return kindNone // the output of a tool that read another log
		}
		return k
	case c == '[' && len(text) > 1 && text[1] == '{':
		if jsonKind(text[1:]) == kindRows {
			return kindRows // the first row of an array
		}
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
// What stands behind the mark of a request line is not looked at: Codex's own
// lines have their target before any text.
func (r *Reader) tracing(text []byte) kind {
	r.inText = false
	mark := requestline.IndexMark(text)
	head := text
	if mark >= 0 {
		head = text[:mark]
	}
	if isCodexTrace(head) || r.main == kindTrace && !requestline.Match(text) {
		r.inText = opensText(text)
		return kindTrace
	}
	if mark >= 0 || requestline.Match(text) {
		return kindRequest
	}
	return kindNone
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
