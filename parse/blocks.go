package parse

import (
	"bytes"
	"io"
	"sync"
)

// A blockReader cuts a stream into blocks of whole lines, for workers that take
// one after the other.
type blockReader struct {
	src io.Reader

	mu   sync.Mutex
	next int64  // number of the next block
	tail []byte // read already: the beginning of the next block's first line
	long bool   // tail is the beginning of a line that does not fit a block
	// open says that the log is still being written: a last line without its
	// line feed is left for rest.
	open bool
	err  error // of src, io.EOF at its end
}

// take fills buf with the next block. The last line of the stream may lack its
// line feed. ok is false at the end of the stream, and where a line is longer
// than buf: see rest.
func (b *blockReader) take(buf []byte) (text []byte, i int64, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.long {
		return nil, 0, false
	}
	n := copy(buf, b.tail)
	b.tail = b.tail[:0]
	for n < len(buf) && b.err == nil {
		var k int
		k, b.err = b.src.Read(buf[n:])
		n += k
	}
	end := n
	if b.err == nil || b.open {
		end = bytes.LastIndexByte(buf[:n], '\n') + 1
		b.tail = append(b.tail, buf[end:n]...)
		b.long = end == 0 && b.err == nil
	}
	if end == 0 {
		return nil, 0, false
	}
	i = b.next
	b.next++
	return buf[:end], i, true
}

// rest is the stream behind the last block that was taken.
func (b *blockReader) rest() io.Reader {
	return io.MultiReader(bytes.NewReader(b.tail), readerFunc(func(p []byte) (int, error) {
		if b.err != nil {
			return 0, b.err
		}
		return b.src.Read(p)
	}))
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
