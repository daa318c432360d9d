package lines

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func collect(t *testing.T, r *Reader) (got []string) {
	t.Helper()
	for r.Scan() {
		l := r.Line()
		mark := ""
		if l.Open {
			mark += " open"
		}
		if l.Cut() {
			got = append(got, fmt.Sprintf("%d: %d of %d%s", l.N, len(l.Text), l.Size, mark))
			continue
		}
		text := string(l.Text)
		if len(text) > 20 {
			text = fmt.Sprintf("(%d bytes)", len(text))
		}
		got = append(got, fmt.Sprintf("%d: %s%s", l.N, text, mark))
	}
	return got
}

func TestScan(t *testing.T) {
	long := strings.Repeat("x", Window+10)
	huge := strings.Repeat("y", 3*Window)
	for _, c := range []struct {
		name, in string
		whole    bool
		want     []string
	}{
		{"empty", "", false, nil},
		{"one line", "a\n", false, []string{"1: a"}},
		{"last line without line feed", "a\nb", false, []string{"1: a", "2: b open"}},
		{"CRLF and blank lines", "a\r\n\r\n\nb\r\n", false, []string{"1: a", "2: ", "3: ", "4: b"}},
		{"only LF ends a line", "a\u0085b\u2028c\rd\n", false, []string{"1: a\u0085b\u2028c\rd"}},
		{"long line cut", "a\n" + long + "\nb\n", false, []string{"1: a", fmt.Sprintf("2: %d of %d", Head, Window+10), "3: b"}},
		{"long line whole", "a\n" + long + "\nb\n", true, []string{"1: a", fmt.Sprintf("2: (%d bytes)", Window+10), "3: b"}},
		{"long last line cut", huge, false, []string{fmt.Sprintf("1: %d of %d open", Head, len(huge))}},
		{"long lines in a row", huge + "\n" + huge + "\nz", true, []string{fmt.Sprintf("1: (%d bytes)", len(huge)), fmt.Sprintf("2: (%d bytes)", len(huge)), "3: z open"}},
		{"exactly a window", strings.Repeat("x", Window) + "\nb\n", false, []string{fmt.Sprintf("1: %d of %d", Head, Window), "2: b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, src := range map[string]io.Reader{
				"at once":       strings.NewReader(c.in),
				"half":          iotest.HalfReader(strings.NewReader(c.in)),
				"error at end":  iotest.DataErrReader(strings.NewReader(c.in)),
				"byte for byte": iotest.OneByteReader(strings.NewReader(c.in)),
			} {
				r := NewReader(src)
				r.NeedWhole = func(head []byte) bool { return c.whole }
				got := collect(t, r)
				if strings.Join(got, "|") != strings.Join(c.want, "|") {
					t.Errorf("%s: got %q, want %q", name, got, c.want)
				}
				if r.Bytes() != int64(len(c.in)) || r.Err() != nil {
					t.Errorf("%s: %d bytes, error %v, want %d and none", name, r.Bytes(), r.Err(), len(c.in))
				}
			}
		})
	}
}

func TestScanDeliversWhatWasReadBeforeAnError(t *testing.T) {
	r := NewReader(io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(errors.New("disk gone"))))
	if got := collect(t, r); strings.Join(got, "|") != "1: a|2: b open" {
		t.Errorf("got %q", got)
	}
	if r.Err() == nil || r.Err().Error() != "disk gone" {
		t.Errorf("error %v", r.Err())
	}
}

func TestBufferShrinksAfterALongLine(t *testing.T) {
	in := strings.Repeat("x", 8*Window) + "\n" + strings.Repeat("short\n", 1_000_000)
	r := NewReader(strings.NewReader(in))
	r.NeedWhole = func([]byte) bool { return true }
	n, size := 0, 0
	for r.Scan() {
		n, size = n+1, len(r.buf)
	}
	if n != 1_000_001 || size != Window {
		t.Errorf("%d lines, buffer %d", n, size)
	}
}

// TestEndGivesTheBufferBack: a directory can hold a hundred thousand small logs.
func TestEndGivesTheBufferBack(t *testing.T) {
	const logs = 1000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range logs {
		r := NewReader(strings.NewReader("a\nb"))
		for range 3 { // a Scan beyond the end is one more false
			for r.Scan() {
			}
		}
		if r.Bytes() != 3 {
			t.Fatal(r.Bytes())
		}
	}
	runtime.ReadMemStats(&after)
	n := (after.TotalAlloc - before.TotalAlloc) / logs
	if n > Window/2 { // the race detector makes the pool forget some
		t.Errorf("%d bytes for a log of 3 bytes", n)
	}
}

func TestNoLineIsLongerThanMaxLine(t *testing.T) {
	r := NewReader(io.MultiReader(io.LimitReader(zeros{}, MaxLine+5), strings.NewReader("\nend\n")))
	r.NeedWhole = func([]byte) bool { return true }
	got := collect(t, r)
	want := fmt.Sprintf("1: %d of %d|2: end", Head, MaxLine+5)
	if strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

func BenchmarkScan(b *testing.B) {
	in := bytes.Repeat([]byte("INFO  connection accepted from 10.0.0.1 port=443 keepalive=true\n"), 100_000)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(bytes.NewReader(in))
		for r.Scan() {
		}
	}
}

// A pausing stream hands out its content in pieces and pauses after each.
type pausing struct {
	rest  string
	piece int
	given int // of the piece at hand
}

func (p *pausing) Read(b []byte) (int, error) {
	switch {
	case p.rest == "":
		return 0, io.EOF
	case p.given == p.piece:
		p.given = 0
		return 0, ErrPause
	}
	n := copy(b[:min(len(b), p.piece-p.given)], p.rest)
	p.rest, p.given = p.rest[n:], p.given+n
	return n, nil
}

// A stream that pauses gives the same lines, wherever it does.
func TestScanGoesOnAfterAPause(t *testing.T) {
	long := strings.Repeat("x", Window+10)
	huge := strings.Repeat("y", 3*Window)
	for _, in := range []string{"", "a\n", "a\nb", "a\r\n\r\n\nb\r\n", "a\n" + long + "\nb\n", huge, huge + "\r\n" + long + "\nc"} {
		for _, whole := range []bool{false, true} {
			for _, piece := range []int{1, 7, maxParked - 1, maxParked + 1, Window, Window + 1, 2 * Window} {
				if piece < 100 && len(in) > 1000 {
					continue // slow, and the same to the reader
				}
				need := func([]byte) bool { return whole }
				want := NewReader(strings.NewReader(in))
				want.NeedWhole = need
				got := NewReader(&pausing{rest: in, piece: piece})
				got.NeedWhole = need
				var lines []string
				for lines = collect(t, got); got.Paused(); {
					lines = append(lines, collect(t, got)...)
				}
				if w := collect(t, want); !slices.Equal(lines, w) || got.Bytes() != want.Bytes() {
					t.Errorf("%d bytes in pieces of %d: got %q, want %q", len(in), piece, lines, w)
				}
			}
		}
	}
}

func TestAPauseGivesTheBufferBack(t *testing.T) {
	r := NewReader(&pausing{rest: "a\nbc", piece: 3})
	for r.Scan() {
	}
	if !r.Paused() || r.buf != nil || string(r.parked) != "b" {
		t.Errorf("paused %v, a buffer of %d bytes, parked %q", r.Paused(), len(r.buf), r.parked)
	}
}

// Reading ahead gives the same lines, however long they are.
func TestReadAhead(t *testing.T) {
	long := strings.Repeat("x", Window+10)
	middle := strings.Repeat("m", room+5)
	huge := strings.Repeat("y", 3*Window) + "\r"
	for _, in := range []string{"", "a\n", "a\nb", huge, long, strings.Repeat("a line\n", Window/3), strings.Repeat(middle+"\n\nb\r\n", 40),
		strings.Repeat(long+"\n"+middle+"\n"+huge+"\nc\n", 3), strings.Repeat("z", Window-room) + "\n" + strings.Repeat("z", Window-room-1) + "\nd"} {
		for _, whole := range []bool{false, true} {
			for name, src := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "halves": iotest.HalfReader, "err": iotest.DataErrReader, "timeout": iotest.TimeoutReader} {
				need := func([]byte) bool { return whole }
				want := NewReader(src(strings.NewReader(in)))
				a := ReadAhead(src(strings.NewReader(in)))
				got := NewReader(a)
				want.NeedWhole, got.NeedWhole = need, need
				if name == "timeout" { // how much comes before it depends on the sizes of reads
					for got.Scan() {
					}
					if len(in) > Window && got.Err() != iotest.ErrTimeout {
						t.Errorf("error %v", got.Err())
					}
				} else if g, w := collect(t, got), collect(t, want); !slices.Equal(g, w) || got.Bytes() != want.Bytes() {
					t.Errorf("%s, %d bytes: %d lines, want %d", name, len(in), len(g), len(w))
				}
				a.Close()
			}
		}
	}
}

// Whoever stops early leaves nothing running.
func TestReadAheadStops(t *testing.T) {
	a := ReadAhead(strings.NewReader(strings.Repeat("a\n", 4*ahead*Window)))
	if r := NewReader(a); !r.Scan() {
		t.Error("no line")
	}
	a.Close()
}
