package parse

import (
	"bytes"
	"io"
	"sync"

	"codexlag/parse/lines"
	"codexlag/parse/record"
	"codexlag/parse/requestline"
)

// unitSize is how much of a log one worker takes at a time: large against a
// line, small against a cache.
const unitSize = 512 << 10

// A splitter reads one log of request lines with several workers. Request
// lines do not depend on one another, so every unit of the log can be read on
// its own; records come out in the order of the units all the same.
//
// Lines of other logs do depend on what came before. Where a unit meets one,
// the log is read on from that unit's start by a single Reader: everything
// before was without such a line, so nothing of it is lost.
type splitter struct {
	path   string
	blocks blockReader
	unit   int // bytes
	o      Options

	mu    sync.Mutex
	moved sync.Cond
	turn  int64 // unit whose records come out
	lines int64 // before the unit whose turn it is
	bytes int64
	// foreign is the unit that met a line of another log, -1 for none; left are
	// the texts of that unit and of those after it that were taken already.
	foreign int64
	left    map[int64][]byte
	matched bool
	broken  error // a fault of the program itself
	info    Info
}

// A unit is what one worker read of the log.
type unit struct {
	i        int64
	text     []byte
	rows     record.Rows      // lines count from the unit's first
	requests []record.Request // that are no rows; they too
	dropped  []record.Dropped
	lines    int64
	matched  bool // some line looked like a request
	foreign  bool
}

// readSplit reads the log with o.Jobs workers. sink takes the records in
// order, one at a time; where o.WorkerSink is given, each worker passes its
// records to one of its own instead, in no order.
func readSplit(path string, src io.Reader, o Options, sink func(record.Record)) Info {
	return newSplitter(path, src, unitSize, o).read(sink)
}

func newSplitter(path string, src io.Reader, unit int, o Options) *splitter {
	s := &splitter{path: path, unit: unit, o: o, foreign: -1, left: make(map[int64][]byte),
		blocks: blockReader{src: src},
		info:   Info{Path: path, Dropped: make(map[record.Reason]int)}}
	s.moved.L = &s.mu
	return s
}

func (s *splitter) read(sink func(record.Record)) Info {
	s.units(sink)
	return s.rest(sink)
}

func (s *splitter) units(sink func(record.Record)) {
	var workers sync.WaitGroup
	for range s.o.Jobs {
		workers.Go(func() { s.work(sink) })
	}
	workers.Wait()
}

func (s *splitter) work(sink func(record.Record)) {
	defer s.caught()
	w := newUnitReader(s)
	own := sink
	if s.o.WorkerSink != nil {
		own = s.o.WorkerSink()
	}
	for s.wanted() {
		text, i, ok := s.blocks.take(w.buf)
		if !ok {
			return
		}
		w.read(i, text)
		if !s.commit(&w.unit, sink, own) {
			return
		}
	}
}

// caught ends the reading where a worker met a fault of the program itself:
// that costs this log, not the run.
func (s *splitter) caught() {
	p := recover()
	if p == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.foreign, s.broken = s.turn, fault(s.path, p)
	s.moved.Broadcast()
}

// wanted reports whether more units are to be taken.
func (s *splitter) wanted() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.foreign < 0
}

// commit waits for the unit's turn, takes it into the totals and passes its
// records on. It returns false where the log is not split any further; the
// unit's text then waits for rest.
func (s *splitter) commit(u *unit, sink, own func(record.Record)) bool {
	s.mu.Lock()
	for s.turn != u.i && s.foreign < 0 {
		s.moved.Wait()
	}
	if s.foreign < 0 && u.foreign {
		s.foreign = u.i
		s.moved.Broadcast()
	}
	if s.foreign >= 0 {
		s.left[u.i] = u.text
		s.mu.Unlock()
		return false
	}
	before := s.lines
	s.lines += u.lines
	s.bytes += int64(len(u.text))
	s.matched = s.matched || u.matched
	s.count(u)
	inOrder := s.o.WorkerSink == nil || u.named()
	if inOrder { // the next unit waits
		u.pass(before, sink)
	}
	s.turn++
	s.moved.Broadcast()
	s.mu.Unlock()
	if !inOrder {
		u.passRows(before, own)
	}
	return true
}

func (s *splitter) count(u *unit) {
	rows := len(u.rows.List)
	s.info.Requests += rows + len(u.requests)
	s.info.TTFT[record.Measured] += rows
	s.info.Totals += rows
	for i := range u.requests {
		r := &u.requests[i]
		s.info.TTFT[r.Quality]++
		if r.Total > 0 {
			s.info.Totals++
		}
	}
	for i := range u.dropped {
		d := &u.dropped[i]
		s.info.Dropped[d.Reason]++
		if d.Reason.Unreadable() && s.info.FirstUnreadable == 0 {
			s.info.FirstUnreadable = s.lines - u.lines + d.Line
		}
	}
}

// named reports whether a request names itself, so that it may have a copy.
func (u *unit) named() bool {
	for i := range u.requests {
		if u.requests[i].ID != "" {
			return true
		}
	}
	return false
}

// pass passes the requests on one by one, in order, then what was dropped.
func (u *unit) pass(before int64, sink func(record.Record)) {
	u.rows.Line = before
	requests := u.requests
	for i := range u.rows.List {
		for len(requests) > 0 && requests[0].Line < int64(u.rows.List[i].Line) {
			requests[0].Line += before
			sink(&requests[0])
			requests = requests[1:]
		}
		r := new(record.Request)
		u.rows.Request(i, r)
		sink(r)
	}
	u.passRest(before, requests, sink)
}

// passRows passes the requests on, the rows all at once.
func (u *unit) passRows(before int64, sink func(record.Record)) {
	u.rows.Line = before
	if len(u.rows.List) > 0 {
		sink(&u.rows)
	}
	u.passRest(before, u.requests, sink)
}

func (u *unit) passRest(before int64, requests []record.Request, sink func(record.Record)) {
	for i := range requests {
		requests[i].Line += before
		sink(&requests[i])
	}
	for i := range u.dropped {
		u.dropped[i].Line += before
		sink(&u.dropped[i])
	}
}

// rest reads on from the unit that met a line of another log, and where a line
// is longer than a unit.
func (s *splitter) rest(sink func(record.Record)) Info {
	s.info.Lines, s.info.Bytes = s.lines, s.bytes
	if s.broken != nil || s.foreign < 0 && !s.blocks.long {
		if s.info.Err = s.broken; s.broken == nil && s.blocks.err != io.EOF {
			s.info.Err = s.blocks.err
		}
		s.info.Format = record.FormatRequest
		if s.info.Requests == 0 && len(s.info.Dropped) == 0 {
			s.info.Format = record.FormatUnknown
		}
		return s.info
	}
	r := s.reader(nil)
	for r.Scan() {
		sink(r.Record())
	}
	return r.Info()
}

// reader returns a Reader of what the workers left, and then of more.
func (s *splitter) reader(more io.Reader) *Reader {
	var parts []io.Reader
	for i := s.turn; s.left[i] != nil; i++ {
		parts = append(parts, bytes.NewReader(s.left[i]))
	}
	parts = append(parts, s.blocks.rest())
	if more != nil {
		parts = append(parts, more)
	}
	r := NewReader(s.path, io.MultiReader(parts...), s.o.Location)
	r.lines.Skip(s.lines, s.bytes)
	r.info = s.info
	r.info.Lines, r.info.Bytes = s.lines, s.bytes
	r.recordsN[kindRequest] = s.info.Requests
	if s.matched {
		r.main = kindRequest
	}
	return r
}

// A unitReader reads units, one after the other, into the same memory.
type unitReader struct {
	buf     []byte
	decoder *requestline.Decoder
	kinds   *Reader // decides what a line is
	unit    unit
}

func newUnitReader(s *splitter) *unitReader {
	w := &unitReader{buf: make([]byte, s.unit+requestline.Behind)[:s.unit]}
	w.unit.rows.File = s.path
	w.decoder = requestline.New(s.path, s.o.Location, w.take)
	w.decoder.Place = w.place
	w.kinds = NewReader(s.path, nil, s.o.Location)
	w.kinds.main = kindRequest
	return w
}

// place makes room for the unit's next request that is no row.
func (w *unitReader) place() *record.Request {
	w.unit.requests = append(w.unit.requests, record.Request{})
	return &w.unit.requests[len(w.unit.requests)-1]
}

// take keeps what the decoder dropped; requests are in their place already.
func (w *unitReader) take(r record.Record) {
	if d, ok := r.(*record.Dropped); ok {
		w.unit.dropped = append(w.unit.dropped, *d)
	}
}

// read reads the lines of unit i.
func (w *unitReader) read(i int64, text []byte) {
	u := &w.unit
	rows := u.rows
	rows.List = rows.List[:0]
	*u = unit{i: i, text: text, rows: rows, requests: u.requests[:0], dropped: u.dropped[:0]}
	for len(text) > 0 && !u.foreign {
		line := text
		n := bytes.IndexByte(text, '\n')
		if n >= 0 {
			line, text = text[:n], text[n+1:]
		} else {
			text = nil
		}
		u.lines++
		if len(line) > 0 && line[len(line)-1] == '\r' {
			line = line[:len(line)-1]
		}
		if len(line) > 0 {
			w.line(line, n < 0)
		}
	}
	u.rows.Models = w.decoder.Models()
}

// line reads one line that is not empty.
func (w *unitReader) line(text []byte, open bool) {
	u := &w.unit
	if cap(u.rows.List) == len(u.rows.List) {
		u.rows.List = append(u.rows.List, record.Row{})[:len(u.rows.List)]
	}
	row := &u.rows.List[:len(u.rows.List)+1][len(u.rows.List)]
	bracket := bytes.IndexByte(text, '[')
	if bracket < 0 && isNoise(text) {
		return
	}
	if (bracket >= 0 || text[0] == '{') && w.decoder.Row(text, bracket, row) {
		row.Line = uint32(u.lines)
		u.rows.List = u.rows.List[:len(u.rows.List)+1]
		u.matched = true
		return
	}
	l := lines.Line{N: u.lines, Text: text, Size: int64(len(text)), Open: open}
	if text[0] == '{' && w.decoder.Object(l) {
		u.matched = true
		return
	}
	switch w.kinds.recognise(text) {
	case kindNone:
	case kindRequest:
		u.matched = true
		w.decoder.Line(l)
	default:
		u.foreign = true
	}
}
