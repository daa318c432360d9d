package follow

import (
	"bytes"
	"io"
	"os"
	"slices"
	"time"

	"codexlag/parse"
	"codexlag/parse/source"
)

// A key tells files apart: by their number, where the system has one, else by
// their path.
type key struct {
	id   source.ID
	path string
}

func keyOf(f source.File) key {
	if f.ID != (source.ID{}) {
		return key{id: f.ID}
	}
	return key{path: f.Path}
}

// A file is one file that is followed. Most sleep: then fd and tail are nil.
type file struct {
	*parse.Growing
	key   key
	was   []string  // names that it had before
	order int       // when it appeared
	look  int       // the latest list that it was in
	left  time.Time // when it was not in the list any more
	// leftList is the first list that it was not in.
	leftList int

	// As they were when the file was read last.
	size    int64
	modTime time.Time
	// racy: it was read so soon after it was written that another write might
	// not show in modTime.
	racy bool
	// The beginning, and sums at some offsets.
	head  []byte
	marks []mark

	classified bool  // its first bytes were seen
	unread     bool  // what is before Offset was not read yet
	silent     int64 // so much was read silently
	partial    bool  // its last line has no line feed
	pipe       bool
	settled    bool // it is Fixed, and was read

	// Of a database: what it looked like when it was read, and when to read it
	// again at the earliest.
	rowsAt  fileTimes
	rowsDue time.Time

	told bool // that its changes are not followed

	// While it grows.
	fd    *os.File
	tail  *tailer
	grown time.Time // when it grew last
	// Since when there has been more in the file than its tail delivered; and
	// up to where it had delivered by then.
	behind   time.Time
	behindAt int64

	steady time.Time // since when it has not changed, where it is unsettled
	tried  time.Time // when reading it failed
}

// names are all that the file was ever called.
func (f *file) names() []string { return append(slices.Clone(f.was), f.File.Path) }

// open opens the file, unless it is open; release closes it again.
func (f *file) open() (*os.File, error) {
	if f.fd != nil {
		return f.fd, nil
	}
	return os.Open(f.File.Path)
}

func (f *file) release(src *os.File) {
	if src != f.fd {
		src.Close()
	}
}

// timeGrain is how long two writes may have the same time. Kernels take it from
// their tick, at worst of 10 ms.
const timeGrain = 20 * time.Millisecond

// note keeps what the file looks like now.
func (f *file) note(info os.FileInfo) {
	f.size, f.modTime = info.Size(), info.ModTime()
	f.racy = time.Since(f.modTime).Abs() < timeGrain
}

// catchUp reads what was added to the file, by ourselves.
func (e *engine) catchUp(f *file) {
	if f.IsDatabase() {
		e.refresh(f, time.Now())
		return
	}
	if f.Fixed {
		e.changed(f)
		return
	}
	e.stopTail(f)
	src, err := f.open()
	if err != nil {
		e.fail(f, err)
		return
	}
	defer func() { f.release(src) }()
	info, err := src.Stat()
	if err != nil {
		e.fail(f, err)
		return
	}
	now := f.File
	now.ID = source.IDOf(info)
	if keyOf(now) != f.key {
		e.relistBy(time.Now()) // it was replaced a moment ago
		return
	}
	f.note(info)
	e.readFrom(f, src)
}

// readFrom reads the open file from the offset to its end.
func (e *engine) readFrom(f *file, src *os.File) {
	if !f.classified && f.Offset == 0 && f.size > 0 {
		f.classified = true
		if !e.classify(f) {
			return
		}
	}
	if f.unread && f.Offset <= f.size {
		if f.classified = true; !e.growable(f) {
			return
		}
		if err := f.reread(src, e.buf); err != nil {
			e.fail(f, err)
			return
		}
	}
	before := f.Offset
	for again := true; again; {
		n := 0
		var err error
		if f.Offset < f.size {
			n, err = src.ReadAt(e.buf[:min(int64(len(e.buf)), f.size-f.Offset)], f.Offset)
		}
		if err != nil && err != io.EOF {
			e.fail(f, err)
			return
		}
		if same, err := e.add(f, src, e.buf[:n]); err != nil {
			e.fail(f, err)
			return
		} else if !same || f.Offset > f.size {
			e.renew(f, src)
			if info, err := src.Stat(); err == nil {
				f.note(info)
			}
			e.readFrom(f, src)
			return
		}
		again = n > 0 && f.Offset < f.size
	}
	e.fail(f, nil)
	if f.Offset > before {
		e.grew(f, src)
	}
}

// add takes bytes at the file's offset; false where the file holds something
// new.
func (e *engine) add(f *file, src io.ReaderAt, b []byte) (same bool, err error) {
	same, err = f.Append(src, b)
	if same && err == nil && len(b) > 0 {
		f.partial = b[len(b)-1] != '\n'
		f.grown = time.Now()
		f.remember(b)
		if e.o.count != nil {
			e.o.count.read.Add(int64(len(b)))
		}
	}
	return same, err
}

// reread reads silently what is before the offset.
func (f *file) reread(src io.ReaderAt, buf []byte) error {
	f.Silence(true)
	defer f.Silence(false)
	in := io.NewSectionReader(src, 0, f.Offset)
	f.silent = f.Offset
	for {
		n, err := in.Read(buf)
		if n > 0 {
			f.Write(buf[:n])
		}
		if err == io.EOF {
			f.unread = false
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// renew begins anew with a file that holds something new, or less than before.
func (e *engine) renew(f *file, src io.ReaderAt) {
	short := f.Offset > f.size && f.isCutShort(src)
	e.endGeneration(f)
	f.Growing = e.live.Open(f.File)
	f.was, f.silent = nil, 0
	f.classified, f.unread, f.partial = false, false, false
	if short {
		f.Offset = f.size
		f.Sum, _ = parse.SumBefore(src, f.size) // a fault comes up when it is read
		f.unread, f.classified = true, true
		f.marks = slices.DeleteFunc(f.marks, func(m mark) bool { return m.offset > f.size })
		if e.o.count != nil {
			e.o.count.cuts.Add(1)
		}
		return
	}
	f.head, f.marks = nil, nil
}

// A mark is the sum at an earlier offset.
type mark struct {
	offset int64
	sum    uint64
}

const (
	maxMarks = 32
	headSize = 64 // bytes; the first line and its time, mostly
)

// remember keeps what tells later whether the file was only cut short.
func (f *file) remember(b []byte) {
	if at := f.Offset - int64(len(b)); at < headSize && int(at) == len(f.head) {
		f.head = append(f.head, b[:min(len(b), headSize-int(at))]...)
	}
	if len(f.marks) == maxMarks {
		for i := range maxMarks / 2 {
			f.marks[i] = f.marks[2*i+1]
		}
		f.marks = f.marks[:maxMarks/2]
	}
	f.marks = append(f.marks, mark{f.Offset, f.Sum})
}

// isCutShort reports whether the file, which is shorter than before, begins as
// it did: what is left of it was read.
func (f *file) isCutShort(src io.ReaderAt) bool {
	head := make([]byte, headSize)
	if n, _ := src.ReadAt(head, 0); n < headSize || f.size < headSize || !bytes.Equal(f.head, head) {
		return false
	}
	for _, m := range slices.Backward(f.marks) {
		if m.offset <= f.size {
			sum, err := parse.SumBefore(src, m.offset)
			return err == nil && sum == m.sum
		}
	}
	return true
}

// fail notes that the file cannot be read right now, or, with nil, that it can.
func (e *engine) fail(f *file, err error) {
	f.Failed(err)
	if err != nil {
		e.failed[f] = true
	} else {
		delete(e.failed, f)
	}
}

// grew keeps a file open that grows, and has it followed by a tail.
func (e *engine) grew(f *file, src *os.File) {
	if e.ending || !e.caughtUp {
		return
	}
	if f.fd == nil {
		if len(e.hot) >= e.pace.maxTails {
			return
		}
		f.fd = src
		e.hot[f] = true
	}
	if f.tail == nil && !f.partial { // a tail cannot go on within a line
		t, err := startTail(f, e.pieces)
		if err != nil {
			e.problem(f.File.Path, err)
			return
		}
		f.tail = t
	}
}

// stopTail ends the file's tail. What it did not deliver is read by ourselves.
func (e *engine) stopTail(f *file) {
	if f.tail != nil {
		f.tail.end()
		f.tail = nil
	}
}

// cool lets a file sleep.
func (e *engine) cool(f *file) {
	if f.fd == nil {
		return
	}
	e.stopTail(f)
	f.fd.Close()
	f.fd = nil
	delete(e.hot, f)
}

// take takes lines from tails: this one, and those that wait behind it.
func (e *engine) take(p piece) {
	for more := true; more; {
		text := e.buf[:0]
		from := p
		for more && p.from == from.from && len(text) < cap(e.buf)/2 {
			text = append(append(text, p.text...), '\n')
			select {
			case p = <-e.pieces:
			default:
				more = false
			}
		}
		f := from.of
		if f.tail != from.from {
			continue // stopped in the meantime; we read that by ourselves
		}
		if same, err := e.add(f, f.fd, text); err != nil || !same {
			e.catchUp(f)
		}
	}
}

// tick looks at the files that grow, and at what waits.
func (e *engine) tick(now time.Time) {
	for f := range e.hot {
		e.supervise(f, now)
	}
	for f := range e.unsettled {
		e.settle(f, now)
	}
	for f := range e.failed {
		if now.Sub(f.tried) >= e.pace.retry && !e.leaving[f] {
			f.tried = now
			e.catchUp(f)
		}
	}
	for f := range e.leaving {
		if e.look > f.leftList && now.Sub(f.left) >= e.pace.gone && now.Sub(f.grown) >= e.pace.gone {
			if f.fd != nil {
				e.catchUp(f)
			}
			e.retire(f)
		}
	}
	e.live.Settle()
}

// supervise looks after a file that is held open.
func (e *engine) supervise(f *file, now time.Time) {
	info, err := f.fd.Stat()
	if err != nil {
		e.fail(f, err)
		e.cool(f)
		return
	}
	changed := f.tail == nil && f.racy || info.Size() != f.size || !info.ModTime().Equal(f.modTime)
	switch {
	case f.tail == nil && changed, f.tail != nil && (f.tail.over() || info.Size() < f.Offset || f.stalled(info.Size(), now, e.pace.stall)):
		e.catchUp(f)
	case changed, f.racy:
		f.note(info)
		if same, err := f.Append(f.fd, nil); err != nil || !same {
			e.catchUp(f)
		}
	}
	if e.leaving[f] {
		return
	}
	if now.Sub(f.grown) >= e.pace.cool {
		e.catchUp(f)
		if now.Sub(f.grown) >= e.pace.cool {
			e.cool(f)
		}
		return
	}
	if info, err := os.Stat(f.File.Path); err != nil || keyOf(source.File{Path: f.File.Path, ID: source.IDOf(info)}) != f.key {
		e.relistBy(now) // it was rotated
	}
}

// stalled reports whether the file's tail has not delivered for that long
// although there is more: a line without its end, or it went deaf.
func (f *file) stalled(size int64, now time.Time, limit time.Duration) bool {
	if size <= f.Offset {
		f.behind = time.Time{}
		return false
	}
	if f.behind.IsZero() || f.behindAt != f.Offset {
		f.behind, f.behindAt = now, f.Offset
	}
	return now.Sub(f.behind) >= limit
}
