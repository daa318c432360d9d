package parse

import (
	"bytes"
	"context"
	"errors"
	"hash/fnv"
	"io"
	"os"
	"time"

	"codexlag/parse/lines"
	"codexlag/parse/record"
	"codexlag/parse/rollout"
	"codexlag/parse/source"
	"codexlag/parse/sqlitelog"
)

// A Live reads logs that are still being written: first what they hold, as
// Read does, then what whoever watches the files puts into each Growing. It
// passes on the records that Read would find in the same bytes. Its methods
// must not be called at the same time.
type Live struct {
	o      Options
	join   *joiner
	opened int // logs that came up after the start
}

// NewLive returns a Live whose records go to sink, one at a time.
func NewLive(o Options, sink func(record.Record)) *Live {
	o.complete()
	o.WorkerSink = nil // everything is in order
	return &Live{o: o, join: newLiveJoiner(sink, time.Now)}
}

// A Growing is one log that is read as it grows.
type Growing struct {
	File   source.File
	Offset int64  // how much of the file was read, in bytes
	Sum    uint64 // of the bytes before Offset, see SumBefore
	Head   []byte // the first few of them, where History read them
	// Fixed says that the log is not text, so that Write cannot take it: a
	// compressed file, which can only be read as a whole, or a database.
	Fixed bool

	live       *Live
	generation int // see joiner
	silent     bool
	more       feed
	text       *source.Decoder // nil for UTF-8
	r          *Reader         // nil where the log is fixed or reading it failed
	log        Log
	rows       *sqlitelog.Follower // of a database
	// sink takes what is read at the start, several logs at once; then the
	// joiner does.
	sink func(record.Record)
}

// A feed is a stream that others put bytes into.
type feed struct {
	bytes []byte
	over  bool
}

func (f *feed) Read(b []byte) (int, error) {
	switch {
	case len(f.bytes) > 0:
		n := copy(b, f.bytes)
		f.bytes = f.bytes[n:]
		return n, nil
	case f.over:
		return 0, io.EOF
	}
	return 0, lines.ErrPause
}

// History reads what the files hold, in parallel, and returns a Growing for
// each. Its records come in the order in which Read passes them on.
func (l *Live) History(ctx context.Context, files []source.File) []*Growing {
	l.o.Meter.expect(files)
	sessions, others := bySession(files, l.o)
	var all []*Growing
	for _, stage := range [][]source.File{others, sessions} {
		begun := make([]*Growing, len(stage))
		inOrder(len(stage), l.o.Jobs, l.join.add, func(i int, sink func(record.Record)) {
			begun[i] = l.begin(ctx, stage[i], sink)
		})
		all = append(all, begun...)
	}
	for _, g := range all {
		g.noteSession()
	}
	return all
}

// CaughtUp says that all of what existed before has been read.
func (l *Live) CaughtUp() { l.join.catchUp() }

// Settle passes on what waited long enough for another log to tell of the
// same. It is to be called several times a second while Waiting.
func (l *Live) Settle() { l.join.settle() }

// Waiting reports whether Settle has anything to do.
func (l *Live) Waiting() bool {
	j := l.join
	return len(j.live.waiting) > 0 || len(j.told) > 0 || len(j.toldTurns) > 0
}

// Close passes on all that waits. Every Growing should have ended.
func (l *Live) Close() { l.join.flushLive() }

// begin reads what a log holds now.
func (l *Live) begin(ctx context.Context, f source.File, sink func(record.Record)) (g *Growing) {
	g = l.Open(f)
	defer g.caught()
	s, err := source.Open(f, nil)
	if err != nil {
		g.log.Err = err
		return g
	}
	defer s.Close()
	switch {
	case s.IsSQLite():
		g.sink = sink
		g.readsRows()
		g.Refresh(ctx)
		g.sink = nil
		l.o.Meter.add(f.Size)
		return g
	case !CanGrow(s):
		g.Fixed, g.r = true, nil
		g.log = readOne(ctx, f, false, l.o, sink)
		return g
	}
	if g.text = s.Decoder(); g.text != nil {
		g.log.Err = g.readCoded(ctx, f, sink)
		return g
	}
	head := s.Head(source.MaxHead)
	g.Head = bytes.Clone(head[:min(len(head), 64)])
	in := &metered{ctx: ctx, stream: s, meter: l.o.Meter}
	defer in.end(f.Size)
	if isPlainText(s, f, l.o) {
		units := newSplitter(f.Path, in, unitSize, l.o)
		units.blocks.open = true
		units.units(sink)
		g.r = units.reader(&g.more)
		if units.broken != nil {
			g.log.Err, g.r = units.broken, nil
			return g
		}
	} else {
		k := wholeKind(head)
		g.r = NewReader(f.Path, io.MultiReader(in, &g.more), l.o.Location)
		g.r.main = k
	}
	for g.r.Scan() {
		sink(g.r.Record())
	}
	src, _, _ := s.Plain()
	g.Offset = s.RawBytes()
	g.Sum, g.log.Err = SumBefore(src, g.Offset)
	return g
}

// readCoded reads what a log in UTF-16, or with a byte order mark, holds now.
func (g *Growing) readCoded(ctx context.Context, f source.File, sink func(record.Record)) error {
	file, err := os.Open(f.Path)
	if err != nil {
		return err
	}
	defer file.Close()
	defer func() { g.sink = nil }()
	g.sink = sink
	b := make([]byte, 256<<10)
	for ctx.Err() == nil {
		n, err := file.ReadAt(b, g.Offset)
		if n > 0 {
			if g.Offset == 0 {
				g.Head = bytes.Clone(b[:min(n, 64)])
			}
			g.Write(b[:n])
			g.Offset += int64(n)
			g.live.o.Meter.add(int64(n))
		}
		if err != nil && err != io.EOF {
			return err
		}
		if n == 0 {
			g.Sum, err = SumBefore(file, g.Offset)
			return err
		}
	}
	return ctx.Err()
}

// CanGrow reports whether a log can be read in pieces: it is text that is not
// compressed, line after line.
func CanGrow(s *source.Stream) bool {
	_, _, plain := s.Plain()
	return (plain || s.Decoder() != nil) && wholeKind(s.Head(source.MaxHead)) != kindOTLP
}

// Coded tells how what will be written is coded, before anything is.
func (g *Growing) Coded(s *source.Stream) { g.text = s.Decoder() }

// Database returns a Growing of a database; newOnly leaves out the rows that
// are there.
func (l *Live) Database(ctx context.Context, f source.File, newOnly bool) *Growing {
	g := l.Open(f)
	defer g.caught()
	g.readsRows()
	if newOnly {
		g.fault(g.rows.Skip(ctx))
	} else {
		g.Refresh(ctx)
	}
	return g
}

func (g *Growing) readsRows() {
	g.Fixed = true
	g.r.main, g.r.current = kindRows, kindRows
	g.rows = sqlitelog.Follow(g.File.Path, func(rec record.Record) {
		g.r.count(rec)
		g.pass(rec)
	})
}

// IsDatabase reports whether Refresh is to be called when the log changes.
func (g *Growing) IsDatabase() bool { return g.rows != nil }

// Refresh reads what was added to a database.
func (g *Growing) Refresh(ctx context.Context) {
	if g.rows != nil {
		defer g.caught()
		g.fault(g.rows.More(ctx))
	}
}

// Settle passes on what waits for rows of a database that will not come.
func (g *Growing) Settle() {
	if g.rows != nil {
		defer g.caught()
		g.rows.Settle(g.live.join.live.clock())
	}
}

// fault notes how reading a database ended. One of Codex's other databases is
// no fault unless it was named.
func (g *Growing) fault(err error) {
	g.r.main = kindRows
	if errors.Is(err, sqlitelog.ErrNoTable) && !g.File.Named {
		g.r.main, err = kindNone, nil
	}
	g.log.Err = err
}

// Open returns a Growing of which nothing was read yet.
func (l *Live) Open(f source.File) *Growing {
	g := &Growing{File: f, live: l, log: Log{Info: Info{Path: f.Path, Format: record.FormatUnknown}, Named: f.Named}}
	g.r = NewReader(f.Path, &g.more, l.o.Location)
	g.Sum = emptySum
	if l.join.live.caughtUp {
		l.opened++
		g.generation = l.opened
	}
	return g
}

// Once reads a log that cannot be read in pieces.
func (l *Live) Once(ctx context.Context, f source.File) *Growing {
	g := &Growing{File: f, live: l, Fixed: true}
	g.log = readOne(ctx, f, false, l.o, l.join.add)
	return g
}

// Silence makes what is written from now on count as read before; no records
// of it are passed on.
func (g *Growing) Silence(on bool) { g.silent = on }

// Failed notes why the log cannot be read; nil for that it can again, which
// does not mend a log that met a fault of the program.
func (g *Growing) Failed(err error) {
	if g.r != nil {
		g.log.Err = err
	}
}

// Write takes the next bytes of the log; a line may come in pieces.
func (g *Growing) Write(b []byte) {
	if g.r == nil || g.rows != nil {
		return
	}
	defer g.caught()
	if g.text != nil {
		b = g.text.Decode(b)
	}
	if g.r.main == kindNone && g.r.lines.Bytes() == 0 {
		g.r.main = wholeKind(b)
	}
	g.more.bytes = b
	g.scan()
	g.more.bytes = nil
	g.noteSession()
}

// End tells that the log will not grow any more: what is pending is passed on.
func (g *Growing) End() {
	if g.r == nil {
		return
	}
	defer g.caught()
	if g.rows != nil {
		about := g.rows.End()
		g.r.info.Version, g.r.info.Lines = about.Version, about.Rows
		if info, err := os.Stat(g.File.Path); err == nil {
			g.r.info.Bytes = info.Size()
		}
		g.r.finish()
	}
	g.more.over = true
	g.scan()
	err := g.log.Err
	g.log.Info = g.r.Info()
	if g.log.Err == nil {
		g.log.Err = err
	}
	g.noteSession()
	g.r = nil
}

func (g *Growing) scan() {
	for g.r.Scan() {
		if !g.silent {
			g.pass(g.r.Record())
		}
	}
}

func (g *Growing) pass(r record.Record) {
	if g.sink != nil {
		g.sink(r)
		return
	}
	g.live.join.generation = g.generation
	g.live.join.add(r)
}

// Log tells what the log was, once it has ended.
func (g *Growing) Log() Log { return g.log }

// caught ends a log where the program itself has a fault.
func (g *Growing) caught() {
	if p := recover(); p != nil {
		g.log.Err = fault(g.File.Path, p)
		g.r, g.rows = nil, nil
	}
}

// noteSession tells the joiner how far a session file is.
func (g *Growing) noteSession() {
	if g.r == nil {
		return
	}
	if d, ok := g.r.decoders[kindRollout].(*rollout.Decoder); ok {
		if about := d.Info(); about.Session != "" {
			g.live.join.live.sessions[about.Session] = sessionState{running: about.Running && !g.more.over}
		}
	}
}

// Summed is how many bytes before the offset tell whether a file went on or
// holds something new: some lines.
const Summed = 4 << 10

var emptySum = Sum(nil)

// Sum returns a sum of the last Summed bytes of b.
func Sum(b []byte) uint64 {
	h := fnv.New64a()
	h.Write(b[max(0, len(b)-Summed):])
	return h.Sum64()
}

// SumBefore returns the Sum of what lies before offset: when it changes, the
// file holds something new and did not just grow.
func SumBefore(src io.ReaderAt, offset int64) (uint64, error) {
	b := make([]byte, min(offset, Summed))
	n, err := src.ReadAt(b, offset-int64(len(b)))
	if n == len(b) {
		err = nil
	}
	return Sum(b[:n]), err
}

// Append takes b, which was read from src at Offset. It returns false, and takes
// nothing, where what lies before Offset now is not what was read there: src
// holds something new, and so may b.
func (g *Growing) Append(src io.ReaderAt, b []byte) (bool, error) {
	before := make([]byte, min(g.Offset, Summed))
	n, err := src.ReadAt(before, g.Offset-int64(len(before)))
	if n < len(before) && err != io.EOF {
		return true, err
	}
	if Sum(before[:n]) != g.Sum {
		return false, nil
	}
	g.Write(b)
	g.Offset += int64(len(b))
	g.Sum = Sum(append(before, b[max(0, len(b)-Summed):]...))
	return true, nil
}
