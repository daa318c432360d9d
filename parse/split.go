package parse

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"sync"

	"codexlag/parse/lines"
	"codexlag/parse/record"
	"codexlag/parse/requestline"
	"codexlag/parse/source"
)

const (
	// unitSize is how much of a big file one worker takes at a time: large
	// against a line, small against a cache.
	unitSize = 512 << 10
	// splitFrom is the size from which a file is worth splitting.
	splitFrom = 8 * unitSize
)

// A splitter reads one big file of request lines with several workers. Request
// lines do not depend on one another, so every unit of the file can be read on
// its own; records come out in the order of the units all the same.
//
// Lines of other logs do depend on what came before. Where a unit meets one,
// the file is read on from that unit's start by a single Reader: everything
// before was without such a line, so nothing of it is lost.
type splitter struct {
	path string
	src  io.ReaderAt
	size int64
	unit int64 // bytes
	o    Options

	mu    sync.Mutex
	moved sync.Cond
	next  int64 // unit to take
	turn  int64 // unit whose records come out
	lines int64 // before the unit whose turn it is
	bytes int64
	// foreign is the unit that met a line of another log, -1 for none.
	foreign int64
	matched bool
	err     error
	info    Info
}

// A unit is what one worker read of the file.
type unit struct {
	i        int64
	requests []record.Request // lines count from the unit's first
	dropped  []record.Dropped
	lines    int64
	bytes    int64
	matched  bool // some line looked like a request
	foreign  bool
	err      error
}

// readSplit reads the file with o.Jobs workers. sink takes the records in
// order, one at a time; where workerSink is given, each worker passes its
// records to one of its own instead, in no order.
func readSplit(ctx context.Context, f source.File, src io.ReaderAt, size int64, o Options, sink func(record.Record)) Info {
	s := newSplitter(f.Path, src, size, unitSize, o)
	return s.read(ctx, sink)
}

func newSplitter(path string, src io.ReaderAt, size, unit int64, o Options) *splitter {
	s := &splitter{path: path, src: src, size: size, unit: unit, o: o, foreign: -1,
		info: Info{Path: path, Dropped: make(map[record.Reason]int)}}
	s.moved.L = &s.mu
	return s
}

func (s *splitter) read(ctx context.Context, sink func(record.Record)) Info {
	var workers sync.WaitGroup
	for range s.o.Jobs {
		workers.Go(func() { s.work(ctx, sink) })
	}
	workers.Wait()
	return s.rest(ctx, sink)
}

func (s *splitter) work(ctx context.Context, sink func(record.Record)) {
	defer s.caught()
	w := &unitReader{s: s, buf: make([]byte, s.unit+lines.Head+1)}
	w.decoder = requestline.New(s.path, s.o.Location, w.take)
	w.decoder.Place = w.place
	w.kinds = NewReader(s.path, nil, s.o.Location)
	w.kinds.main = kindRequest
	own := sink
	if s.o.WorkerSink != nil {
		own = s.o.WorkerSink()
	}
	for {
		s.mu.Lock()
		i := s.next
		s.next++
		s.mu.Unlock()
		if i*s.unit >= s.size || !s.wanted(i) {
			return
		}
		if err := ctx.Err(); err != nil {
			w.unit = unit{i: i, err: err}
		} else {
			w.read(i)
		}
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
	s.foreign, s.err = s.turn, fault(s.path, p)
	s.moved.Broadcast()
}

// wanted reports whether unit i is still to be read.
func (s *splitter) wanted(i int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.foreign < 0 || i < s.foreign
}

// commit waits for the unit's turn, takes it into the totals and passes its
// records on. It returns false where the file is not split any further.
func (s *splitter) commit(u *unit, sink, own func(record.Record)) bool {
	s.mu.Lock()
	for s.turn != u.i && s.foreign < 0 {
		s.moved.Wait()
	}
	if s.foreign >= 0 {
		s.mu.Unlock()
		return false
	}
	if u.foreign || u.err != nil {
		s.foreign, s.err = u.i, u.err
		s.moved.Broadcast()
		s.mu.Unlock()
		return false
	}
	before := s.lines
	s.lines += u.lines
	s.bytes += u.bytes
	s.o.Meter.add(u.bytes)
	s.matched = s.matched || u.matched
	s.count(u)
	if s.o.WorkerSink == nil || u.named() {
		u.pass(before, sink) // in order: the next unit waits
		s.turn++
		s.moved.Broadcast()
		s.mu.Unlock()
		return true
	}
	s.turn++
	s.moved.Broadcast()
	s.mu.Unlock()
	u.pass(before, own)
	return true
}

func (s *splitter) count(u *unit) {
	s.info.Requests += len(u.requests)
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
	return slices.ContainsFunc(u.requests, func(r record.Request) bool { return r.ID != "" })
}

func (u *unit) pass(before int64, sink func(record.Record)) {
	for i := range u.requests {
		u.requests[i].Line += before
		sink(&u.requests[i])
	}
	for i := range u.dropped {
		u.dropped[i].Line += before
		sink(&u.dropped[i])
	}
}

// rest reads on from the unit that met a line of another log, if any did.
func (s *splitter) rest(ctx context.Context, sink func(record.Record)) Info {
	s.info.Lines, s.info.Bytes = s.lines, s.bytes
	if s.foreign < 0 || s.err != nil {
		s.info.Err = s.err
		s.info.Format = record.FormatRequest
		if s.info.Requests == 0 && len(s.info.Dropped) == 0 {
			s.info.Format = record.FormatUnknown
		}
		return s.info
	}
	r := NewReader(s.path, interruptible{ctx, io.NewSectionReader(s.src, s.bytes, s.size-s.bytes)}, s.o.Location)
	r.lines.Skip(s.lines, s.bytes)
	r.info = s.info
	r.recordsN[kindRequest] = s.info.Requests
	if s.matched {
		r.main = kindRequest
	}
	for r.Scan() {
		sink(r.Record())
	}
	return r.Info()
}

// A unitReader reads units, one after the other, into the same memory.
type unitReader struct {
	s       *splitter
	buf     []byte
	decoder *requestline.Decoder
	kinds   *Reader // decides what a line is
	unit    unit
}

// place makes room for the unit's next request.
func (w *unitReader) place() *record.Request {
	n := len(w.unit.requests)
	w.unit.requests = slices.Grow(w.unit.requests, 1)[:n+1]
	return &w.unit.requests[n]
}

// take keeps what the decoder dropped; requests are in their place already.
func (w *unitReader) take(r record.Record) {
	if d, ok := r.(*record.Dropped); ok {
		w.unit.dropped = append(w.unit.dropped, *d)
	}
}

// read reads the lines that start in unit i.
func (w *unitReader) read(i int64) {
	w.unit = unit{i: i, requests: w.unit.requests[:0], dropped: w.unit.dropped[:0]}
	text, err := w.fill(i)
	if err != nil {
		w.unit.err = err
		return
	}
	if text == nil {
		w.unit.foreign = true // a long line
		return
	}
	w.unit.bytes = int64(len(text))
	for len(text) > 0 {
		n := bytes.IndexByte(text, '\n')
		l := lines.Line{}
		if n < 0 {
			l.Text, text, l.Open = text, nil, true
		} else {
			l.Text, text = text[:n], text[n+1:]
		}
		w.unit.lines++
		if len(l.Text) > 0 && l.Text[len(l.Text)-1] == '\r' {
			l.Text = l.Text[:len(l.Text)-1]
		}
		l.N, l.Size = w.unit.lines, int64(len(l.Text))
		if len(l.Text) > 0 && l.Text[0] == '{' && w.decoder.Object(l) {
			w.unit.matched = true
			continue
		}
		switch w.kinds.recognise(l.Text) {
		case kindNone:
		case kindRequest:
			w.unit.matched = true
			w.decoder.Line(l)
		default:
			w.unit.foreign = true
			return
		}
	}
}

// fill returns the text of the lines that start in unit i; nil where the last
// of them goes on for longer than lines.Head.
func (w *unitReader) fill(i int64) ([]byte, error) {
	from := i * w.s.unit
	begin := max(0, from-1) // the byte before tells whether a line starts at from
	n, err := w.s.src.ReadAt(w.buf[:min(int64(len(w.buf)), w.s.size-begin)], begin)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	text := w.buf[:n]
	if i > 0 {
		k := bytes.IndexByte(text, '\n')
		if k < 0 && begin+int64(n) < w.s.size {
			return nil, nil
		}
		if k < 0 || int64(k) >= w.s.unit {
			return []byte{}, nil // no line starts here
		}
		text = text[k+1:]
	}
	end := int(from+w.s.unit-begin) - (n - len(text)) // of the unit, in text
	if end >= len(text) {
		return text, nil // the file's last unit
	}
	if end <= 0 {
		return []byte{}, nil
	}
	k := bytes.IndexByte(text[end-1:], '\n')
	if k < 0 {
		if begin+int64(n) >= w.s.size {
			return text, nil
		}
		return nil, nil
	}
	return text[:end+k], nil
}
