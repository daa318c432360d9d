package parse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"codexlag/parse/index"
	"codexlag/parse/jsonwalk"
	"codexlag/parse/lines"
	"codexlag/parse/otlp"
	"codexlag/parse/record"
	"codexlag/parse/source"
	"codexlag/parse/sqlitelog"
)

// Options shape reading.
type Options struct {
	Jobs     int            // logs read at once, at most 64; 0: one a core
	Location *time.Location // of timestamps without a zone; nil: UTC
	Stdin    io.Reader      // what the path - stands for
	// WorkerSink, where set, makes a sink for one worker. Records that nothing
	// else can tell of, those of plain request lines in big files, go there: in
	// no order, several at once, and most of them together as *record.Rows.
	WorkerSink func() func(record.Record)
	// Meter, where set, is kept up to date.
	Meter *Meter
	// Index, where set, is asked for what is known of logs, and told what is new.
	Index *index.Index
}

// maxJobs bounds the memory: every job has its own buffers and figures.
const maxJobs = 64

// complete puts in what is not set.
func (o *Options) complete() {
	if o.Location == nil {
		o.Location = time.UTC
	}
	if o.Jobs <= 0 {
		o.Jobs = runtime.GOMAXPROCS(0)
	}
	o.Jobs = min(o.Jobs, maxJobs)
}

// A Summary is what Read met, beside the records.
type Summary struct {
	Logs     []Log            // that were read, in the order of their records
	Skipped  []source.Skipped // that were found and not opened
	Problems []source.Problem
}

// A Log is one log that was read.
type Log struct {
	Info
	Named bool // on the command line itself, not found below it
}

// Unreadable returns how many lines of the log cannot be read.
func (i *Info) Unreadable() int {
	n := 0
	for why, k := range i.Dropped {
		if why.Unreadable() {
			n += k
		}
	}
	return n
}

// Read reads the logs that paths name, several at once, and passes their
// records to sink, one at a time and in an order that depends only on the
// logs: traces first, then session files, each by path. A request that several
// logs tell of comes once. Read ends early when ctx is done.
func Read(ctx context.Context, paths []string, o Options, sink func(record.Record)) *Summary {
	o.complete()
	found := source.Expand(paths)
	o.Meter.expect(found.Files)
	for _, f := range found.Files {
		o.Index.Expect(f)
	}
	s := &Summary{Skipped: found.Skipped, Problems: found.Problems}
	sessions, others := bySession(found.Files, o)
	j := newJoiner(sink, len(sessions) > 0)
	s.Logs = readAll(ctx, others, false, o, j.add)
	s.Logs = append(s.Logs, readAll(ctx, sessions, true, o, j.add)...)
	j.flush()
	return s
}

// bySession parts session files from all others, each in their order.
func bySession(files []source.File, o Options) (sessions, others []source.File) {
	sessions = make([]source.File, 0, len(files)) // most are
	for _, f := range files {
		if isSessionFile(f, o) {
			sessions = append(sessions, f)
		} else {
			others = append(others, f)
		}
	}
	return sessions, others
}

// isSessionFile goes by the name that Codex gives its session files, else by
// the first lines.
func isSessionFile(f source.File, o Options) bool {
	if strings.HasPrefix(filepath.Base(f.Path), "rollout-") {
		return true
	}
	if f.Stdin || f.ModTime.IsZero() { // a pipe has no time
		return false // can be read only once
	}
	if e, m := o.Index.Find(f); m == index.Same {
		return e.Session
	}
	s, err := source.Open(f, nil)
	if err != nil {
		return false // told when it is read
	}
	defer s.Close()
	r := NewReader(f.Path, nil, o.Location)
	for line := range bytes.Lines(s.Head(16 << 10)) {
		if k := r.kindOf(bytes.TrimRight(line, "\r\n")); k != kindNone {
			return k == kindRollout
		}
	}
	return false
}

// readAll reads files with several workers; records come out in their order.
// Either all of them are session files or none is.
func readAll(ctx context.Context, files []source.File, sessions bool, o Options, sink func(record.Record)) []Log {
	logs := make([]Log, len(files))
	inOrder(len(files), o.Jobs, sink, func(i int, sink func(record.Record)) {
		logs[i] = readOne(ctx, files[i], sessions, o, sink)
	})
	return logs
}

// inOrder calls read for each of n logs, with several workers; what they pass
// on comes out in the order of the logs.
func inOrder(n, jobs int, sink func(record.Record), read func(i int, sink func(record.Record))) {
	gate := newTurnstile(n, sink)
	var next int
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range min(jobs, n) {
		workers.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				if i >= n {
					return
				}
				read(i, func(r record.Record) { gate.pass(i, r) })
				gate.finish(i)
			}
		})
	}
	workers.Wait()
}

// aheadFrom is the size from which a log is read ahead of its decoder.
const aheadFrom = 16 << 20

// readOne reads one log. A fault of the program itself ends that log only.
func readOne(ctx context.Context, f source.File, session bool, o Options, sink func(record.Record)) (l Log) {
	l = Log{Info: Info{Path: f.Path, Format: record.FormatUnknown}, Named: f.Named}
	defer func() {
		if p := recover(); p != nil {
			l.Err = fault(f.Path, p)
		}
	}()
	defer o.Index.Done(f)
	if l.Err = ctx.Err(); l.Err != nil {
		return l
	}
	if info, ok := recall(f, o, sink); ok {
		l.Info = info
		o.Meter.add(f.Size)
		return l
	}
	s, err := source.Open(f, o.Stdin)
	if err != nil {
		l.Err = err
		return l
	}
	defer s.Close()
	in := &metered{ctx: ctx, stream: s, meter: o.Meter}
	defer in.end(f.Size)
	if isPlainText(s, f, o) {
		l.Info = readSplit(f.Path, in, o, sink)
		return l
	}
	var src io.Reader = in
	if f.Size >= aheadFrom {
		a := lines.ReadAhead(in)
		defer a.Close()
		src = a
	}
	r := NewReader(f.Path, src, o.Location)
	switch k := wholeKind(s.Head(source.MaxHead)); {
	case s.IsSQLite():
		r.whole(kindRows, sink, func(emit func(record.Record)) error {
			about, err := sqlitelog.Read(ctx, f.Path, emit)
			r.info.Version, r.info.Lines = about.Version, about.Rows
			if errors.Is(err, sqlitelog.ErrNoTable) && !f.Named {
				r.main = kindNone
				return nil // one of Codex's other databases
			}
			return err
		})
		r.info.Bytes = f.Size
	case k == kindOTLP:
		r.whole(k, sink, func(emit func(record.Record)) error { return otlp.Whole(in, f.Path, emit) })
		r.info.Bytes = s.Bytes()
	default:
		r.main = k
		m := memorize(r, f, s, session, o, sink)
		for r.Scan() {
			m.add(r.Record())
			sink(r.Record())
		}
		m.store()
	}
	l.Info = r.Info()
	return l
}

func fault(path string, p any) error {
	return fmt.Errorf("reading %s: fault in codexlag, please report it: %v", path, p)
}

// isPlainText reports whether a log begins with request lines or noise only,
// and is big, or may be.
func isPlainText(s *source.Stream, f source.File, o Options) bool {
	head := s.Head(source.MaxHead)
	if s.IsSQLite() || len(head) < source.MaxHead && !f.Stdin && !f.ModTime.IsZero() {
		return false
	}
	r := NewReader("", nil, o.Location)
	for line := range bytes.Lines(head) {
		if k := r.recognise(bytes.TrimRight(line, "\r\n")); k != kindNone && k != kindRequest {
			return false
		}
	}
	return wholeKind(head) == kindNone
}

// whole reads a log that is not made of lines.
func (r *Reader) whole(k kind, sink func(record.Record), read func(emit func(record.Record)) error) {
	r.main, r.current = k, k
	r.info.Err = read(func(rec record.Record) {
		r.count(rec)
		sink(rec)
	})
	r.finish()
}

// wholeKind recognises files that hold one object printed over many lines:
// captures of telemetry, and the session files of the oldest Codex.
func wholeKind(head []byte) kind {
	head = bytes.TrimLeft(head, " \t\r\n")
	first, _, more := bytes.Cut(head, []byte("\n"))
	if !more || len(first) == 0 || first[0] != '{' {
		return kindNone
	}
	o := jsonwalk.Members(first)
	for o.Next() {
	}
	if o.Err() != jsonwalk.ErrCut {
		return kindNone
	}
	switch k := jsonKind(head); {
	case k == kindOTLP:
		return k
	case jsonwalk.Get(head, "session") != nil && bytes.Contains(head, []byte(`"items"`)):
		return kindRollout
	}
	return kindNone
}

// A metered stream ends with the context's error when that is done, and tells
// the meter how much of the file was read.
type metered struct {
	ctx    context.Context
	stream *source.Stream
	meter  *Meter
	told   int64
}

func (r *metered) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.stream.Read(b)
	if raw := r.stream.RawBytes(); raw > r.told {
		r.meter.add(raw - r.told)
		r.told = raw
	}
	return n, err
}

// end tells the rest: what was read in another way, or not at all.
func (r *metered) end(size int64) { r.meter.add(max(0, size-r.told)) }
