// Package lines splits a stream into lines of any length without copying them
// and in bounded memory.
package lines

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

// ErrPause is what a stream returns that has no more for now, and may later.
var ErrPause = errors.New("no more for now")

const (
	// Window is how much of a stream is held at once. 128 to 512 KiB read
	// fastest: the buffer stays in the second-level cache.
	Window = 256 << 10
	// Head is how much is delivered of a line that is not needed whole.
	Head = 64 << 10
	// MaxLine is the longest line that is delivered whole.
	MaxLine = 64 << 20
)

// A Line is one line of a log, without its line feed (and without a carriage
// return before it).
type Line struct {
	N    int64  // from 1
	Text []byte // valid until the next Scan
	Size int64  // length of the whole line in bytes; greater than len(Text) where the line was cut
	// Open says that the stream ended without a line feed: the writer may
	// still be at it.
	Open bool
}

// Cut reports whether Text is only the beginning of the line.
func (l Line) Cut() bool { return l.Size > int64(len(l.Text)) }

// A Reader splits a stream into lines, in the manner of bufio.Scanner. Lines
// end at a line feed only: other separators (U+0085, U+2028) occur inside the
// strings of real logs.
type Reader struct {
	// NeedWhole is asked, for a line longer than Window, whether its reader
	// needs all of it. Where it says no, or is nil, the line is delivered cut to
	// its beginning and the rest is passed over without a copy.
	NeedWhole func(head []byte) bool

	src        io.Reader
	buf        []byte
	start, end int // unread part of buf
	searched   int // how much of that is known to hold no line feed
	line       Line
	next       int64 // number of the next line
	bytes      int64
	eof        bool
	err        error

	// A paused stream: the beginning of a line waits in parked, unless it is
	// long; of one that is passed over, over bytes were read.
	paused bool
	parked []byte
	over   int64
}

// NewReader returns a Reader of src.
func NewReader(src io.Reader) *Reader {
	return &Reader{src: src, next: 1}
}

// Skip tells that the stream begins after so many lines and bytes of its log.
func (r *Reader) Skip(lines, bytes int64) { r.next, r.bytes = lines+1, bytes }

// Line returns the line that Scan found.
func (r *Reader) Line() Line { return r.line }

// Bytes returns how many bytes of the stream the lines so far took.
func (r *Reader) Bytes() int64 { return r.bytes }

// Err returns the first error of the stream but io.EOF.
func (r *Reader) Err() error { return r.err }

// windows are buffers of streams that are over: most logs are far smaller than
// the buffer, which would cost more than reading them.
var windows = sync.Pool{New: func() any { return new([Window]byte) }}

// close gives the buffer back, unless a long line had it replaced.
func (r *Reader) close() {
	if len(r.buf) == Window && cap(r.buf) == Window {
		windows.Put((*[Window]byte)(r.buf))
	}
	r.buf, r.line.Text = nil, nil
	r.start, r.end = 0, 0
}

// Paused reports whether Scan returned false only because the stream has no
// more for now. It can then be called again, and goes on in the same line.
func (r *Reader) Paused() bool { return r.paused }

// maxParked is how much of an unfinished line is kept outside of a buffer, so
// that a stream which pauses for long costs next to nothing.
const maxParked = 16 << 10

// park keeps the unfinished line until the stream goes on.
func (r *Reader) park() {
	held := r.end - r.start
	if held > maxParked || len(r.buf) != Window {
		return
	}
	r.parked = bytes.Clone(r.buf[r.start:r.end])
	r.close()
}

// Scan steps to the next line. After an error of the stream, what was read
// before it is still delivered.
func (r *Reader) Scan() bool {
	r.paused = false
	if r.buf == nil {
		if r.eof {
			return false
		}
		r.buf = windows.Get().(*[Window]byte)[:]
		r.end = copy(r.buf, r.parked)
		r.parked = nil
	}
	if r.over > 0 {
		return r.passOver()
	}
	searched := r.searched
	r.searched = 0
	for {
		if i := bytes.IndexByte(r.buf[r.start+searched:r.end], '\n'); i >= 0 {
			n := searched + i
			r.deliver(r.buf[r.start:r.start+n], int64(n), false)
			r.start += n + 1
			r.bytes++
			return true
		}
		searched = r.end - r.start
		if r.eof {
			if searched == 0 {
				r.close()
				return false
			}
			r.deliver(r.buf[r.start:r.end], int64(searched), true)
			r.start = r.end
			return true
		}
		if r.paused {
			r.searched = searched
			r.park()
			return false
		}
		if searched >= Window && searched == len(r.buf) {
			if r.NeedWhole == nil || len(r.buf) >= MaxLine || !r.NeedWhole(r.buf[:r.end]) {
				return r.passOver()
			}
		}
		r.fill()
	}
}

func (r *Reader) deliver(text []byte, size int64, open bool) {
	if len(text) > 0 && text[len(text)-1] == '\r' && int64(len(text)) == size {
		text = text[:len(text)-1]
		r.bytes++
		size--
	}
	r.line = Line{N: r.next, Text: text, Size: size, Open: open}
	r.next++
	r.bytes += size
}

// fill makes room and reads on. It grows the buffer only while one line fills
// it, and gives a grown buffer back with the next short line.
func (r *Reader) fill() {
	if r.take() {
		return
	}
	held := r.end - r.start
	switch {
	case held == len(r.buf):
		grown := make([]byte, min(2*len(r.buf), MaxLine))
		copy(grown, r.buf)
		r.buf = grown
	case len(r.buf) > Window && held <= Window/2:
		small := make([]byte, Window)
		copy(small, r.buf[r.start:r.end])
		r.buf = small
		r.start, r.end = 0, held
	case r.start > 0:
		copy(r.buf, r.buf[r.start:r.end])
		r.start, r.end = 0, held
	}
	r.read(r.buf[r.end:])
}

func (r *Reader) read(b []byte) int {
	for range 100 { // as bufio: a reader that returns 0, nil for ever is broken
		n, err := r.src.Read(b)
		r.end += n
		if err == ErrPause {
			r.paused = true
			return n
		}
		if err != nil {
			r.eof = true
			if err != io.EOF {
				r.err = err
			}
			return n
		}
		if n > 0 {
			return n
		}
	}
	r.eof, r.err = true, io.ErrNoProgress
	return 0
}

// passOver delivers the beginning of a long line and reads on to its end. The
// beginning stays where it is; the rest goes through the buffer behind it.
func (r *Reader) passOver() bool {
	if r.start > 0 { // only a line that fills the buffer from its start gets here
		panic("lines: long line not at the start of the buffer")
	}
	size := r.over
	if size == 0 {
		size = int64(r.end)
	}
	r.over = 0
	text := r.buf[:Head]
	for !r.eof {
		if r.paused {
			r.over = size
			return false
		}
		r.end = Head
		n := r.read(r.buf[Head:])
		if i := bytes.IndexByte(r.buf[Head:r.end], '\n'); i >= 0 {
			r.start = Head + i + 1
			r.deliver(text, size+int64(i), false)
			r.bytes++
			return true
		}
		size += int64(n)
	}
	r.start, r.end = 0, 0
	r.deliver(text, size, true)
	return true
}
