package lines

import (
	"bytes"
	"io"
	"testing"
)

// A stuttering stream gives as many bytes at once as pattern says, over and
// over; 0 stands for a pause.
type stuttering struct {
	rest, pattern []byte
	i             int
}

func (s *stuttering) Read(b []byte) (int, error) {
	if len(s.rest) == 0 {
		return 0, io.EOF
	}
	n := len(s.rest)
	if len(s.pattern) > 0 {
		n = int(s.pattern[s.i%len(s.pattern)])
		s.i++
		if n == 0 && s.i%len(s.pattern) != 0 { // at least one in a round is none
			return 0, ErrPause
		}
		n = 1 + n*n*7
	}
	n = copy(b, s.rest[:min(n, len(s.rest))])
	s.rest = s.rest[n:]
	return n, nil
}

// However a stream comes, in pieces and with pauses, its lines are the same, and
// all bytes are accounted for.
func FuzzScan(f *testing.F) {
	f.Add([]byte("a\r\n\r\n\nb\r\nc"), []byte{1, 0, 3}, uint32(0))
	f.Add([]byte("a\r\nb"), []byte{255}, uint32(Window-2))
	f.Add([]byte("\r\n\n"), []byte{}, uint32(Window))
	f.Add([]byte("x\n"), []byte{90, 0}, uint32(3*Window))
	f.Fuzz(func(t *testing.T, text, pattern []byte, long uint32) {
		// A line that is longer than the buffer, in the middle.
		all := append(bytes.Repeat([]byte{'y'}, int(long%(4*Window))), text...)
		all = append(bytes.Clone(text), all...)
		r := NewReader(&stuttering{rest: all, pattern: pattern})
		rest, n := all, int64(0)
		for {
			for !r.Scan() {
				if !r.Paused() {
					if len(rest) != 0 || r.Bytes() != int64(len(all)) || r.Err() != nil {
						t.Fatalf("%d bytes are left, %d of %d counted; error %v", len(rest), r.Bytes(), len(all), r.Err())
					}
					return
				}
			}
			n++
			line, after, ended := bytes.Cut(rest, []byte("\n"))
			rest = after
			l := r.Line()
			if l.Cut() {
				if len(l.Text) != Head || l.Size < Window || !bytes.HasPrefix(line, l.Text) || l.Size > int64(len(line)) || l.Size < int64(len(line))-1 {
					t.Fatalf("line %d is cut to %d of %d, of %d bytes", n, len(l.Text), l.Size, len(line))
				}
			} else if want := bytes.TrimSuffix(line, []byte("\r")); !bytes.Equal(l.Text, want) {
				t.Fatalf("line %d is %.50q, want %.50q", n, l.Text, want)
			}
			if l.N != n || l.Open == ended {
				t.Fatalf("line %d: number %d, open %v", n, l.N, l.Open)
			}
		}
	})
}
