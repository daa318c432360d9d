package source

import (
	"bytes"
	"io"
	"slices"
)

// A peeker reads from src and can look ahead. What was looked at is copied
// once; all else goes straight from src to the caller.
type peeker struct {
	src io.Reader
	// live says that src may pause (a pipe): looking ahead is then content with
	// a line instead of waiting for more.
	live bool

	buf []byte // looked at, not yet read
	err error  // of src, to be returned after buf
}

// readAhead is how much looking ahead reads at once, at least.
const readAhead = 4 << 10

// peek returns the next n bytes without consuming them; fewer at the end or
// where src is live. They are valid until the next call.
func (p *peeker) peek(n int) []byte {
	for empty := 0; len(p.buf) < n && p.err == nil; {
		if p.live && bytes.IndexByte(p.buf, '\n') >= 0 {
			break
		}
		got := len(p.buf)
		if cap(p.buf) == got || cap(p.buf) < n {
			p.buf = slices.Grow(p.buf, max(n-got, readAhead))
		}
		var m int
		m, p.err = p.src.Read(p.buf[got:cap(p.buf)])
		p.buf = p.buf[:got+m]
		if m > 0 {
			empty = 0
		} else if empty++; empty == 100 && p.err == nil { // as bufio does
			p.err = io.ErrNoProgress
		}
	}
	return p.buf[:min(n, len(p.buf))]
}

// discard drops n bytes that were looked at.
func (p *peeker) discard(n int) { p.buf = p.buf[n:] }

func (p *peeker) Read(b []byte) (int, error) {
	if len(p.buf) > 0 {
		n := copy(b, p.buf)
		if p.buf = p.buf[n:]; len(p.buf) == 0 {
			p.buf = nil // it can be large
		}
		return n, nil
	}
	if p.err != nil {
		return 0, p.err
	}
	return p.src.Read(b)
}
