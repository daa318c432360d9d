package lines

import (
	"io"
	"sync"
)

// An Ahead reads a stream a few blocks ahead of whoever takes them, in a
// goroutine of its own, so that a long log is read while it is decoded. A Reader
// takes its blocks without copying them.
type Ahead struct {
	src    io.Reader
	begin  sync.Once
	blocks chan block
	spare  chan *[Window]byte
	stop   chan struct{}
	over   sync.WaitGroup
	rest   block // of a block that Read has begun
}

// A block is what one Read of the stream gave: buf[room:end]. The room before
// it is for the beginning of a line that the block goes on with.
type block struct {
	buf *[Window]byte
	end int
	err error
}

// room is longer than nearly all lines.
const room = 32 << 10

// ahead is how many blocks may wait.
const ahead = 3

// ReadAhead returns an Ahead of src, which begins when the first block is asked
// for. The caller must Close it before closing src.
func ReadAhead(src io.Reader) *Ahead {
	return &Ahead{src: src, blocks: make(chan block, ahead), spare: make(chan *[Window]byte, ahead+2), stop: make(chan struct{}), rest: block{end: room}}
}

// read reads block after block.
func (a *Ahead) read() {
	defer close(a.blocks)
	for {
		b := block{end: room}
		select {
		case b.buf = <-a.spare:
		default:
			b.buf = windows.Get().(*[Window]byte)
		}
		for b.end < Window && b.err == nil {
			var n int
			n, b.err = a.src.Read(b.buf[b.end:])
			b.end += n
		}
		select {
		case a.blocks <- b:
		case <-a.stop:
			return
		}
		if b.err != nil {
			return
		}
	}
}

// Close ends the reading.
func (a *Ahead) Close() error {
	close(a.stop)
	a.over.Wait()
	return nil
}

// next returns the next block; the end of the stream is an empty one with its error.
func (a *Ahead) next() block {
	if b := a.rest; b.buf != nil {
		a.rest = block{end: room}
		return b
	}
	a.begin.Do(func() { a.over.Go(a.read) })
	b, ok := <-a.blocks
	if !ok {
		return block{err: io.EOF, end: room}
	}
	return b
}

// give gives a block's memory back.
func (a *Ahead) give(buf *[Window]byte) {
	select {
	case a.spare <- buf:
	default:
	}
}

// Read copies from the blocks: the way for lines that are longer than the room.
func (a *Ahead) Read(p []byte) (int, error) {
	b := a.next()
	if b.buf == nil {
		return 0, b.err
	}
	n := copy(p, b.buf[room:b.end])
	if n == b.end-room {
		a.give(b.buf)
		return n, b.err
	}
	b.end = room + copy(b.buf[room:], b.buf[room+n:b.end]) // rare
	a.rest = b
	return n, nil
}

// take goes on with the next block, behind the held bytes of an unfinished line.
// It returns false where they do not fit.
func (r *Reader) take() bool {
	a, ok := r.src.(*Ahead)
	held := r.end - r.start
	if !ok || held > room || len(r.buf) != Window {
		return false
	}
	b := a.next()
	if b.buf != nil {
		copy(b.buf[room-held:room], r.buf[r.start:r.end])
		a.give((*[Window]byte)(r.buf))
		r.buf, r.start, r.end = b.buf[:], room-held, b.end
	}
	if b.err != nil {
		r.eof = true
		if b.err != io.EOF {
			r.err = b.err
		}
	}
	return true
}
