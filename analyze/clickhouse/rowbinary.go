package clickhouse

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"time"

	"codexlag/parse/record"
)

// A Row is one row of a result. Its methods take the columns from left to
// right; each must be of the type that the method names.
type Row struct {
	r   *bufio.Reader
	err error
	buf []byte
}

func newRow(r io.Reader) *Row { return &Row{r: bufio.NewReaderSize(r, 1<<16)} }

// more reports whether there is another row.
func (r *Row) more() bool {
	if r.err != nil {
		return false
	}
	_, err := r.r.Peek(1)
	if err != nil && err != io.EOF {
		r.err = err
	}
	return err == nil
}

func (r *Row) take(n int) []byte {
	if cap(r.buf) < n {
		r.buf = make([]byte, n)
	}
	b := r.buf[:n]
	if r.err == nil {
		if _, err := io.ReadFull(r.r, b); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF // a row that has begun must end
			}
			r.err = err
		}
	}
	if r.err != nil {
		clear(b)
	}
	return b
}

// Int64 takes a column of the type Int64.
func (r *Row) Int64() int64 { return int64(r.UInt64()) }

// UInt64 takes a column of the type UInt64.
func (r *Row) UInt64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

// UInt8 takes a column of the type UInt8 or Enum8.
func (r *Row) UInt8() uint8 { return r.take(1)[0] }

// Float64 takes a column of the type Float64.
func (r *Row) Float64() float64 { return math.Float64frombits(r.UInt64()) }

// String takes a column of the type String.
func (r *Row) String() string { return string(r.take(r.length())) }

// length takes the length of a text or an array.
func (r *Row) length() int {
	if r.err != nil {
		return 0
	}
	n, err := binary.ReadUvarint(r.r)
	if err == nil && n > maxLength {
		err = errors.New("a text or an array of an impossible length")
	}
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		r.err = err
		return 0
	}
	return int(n)
}

// maxLength is beyond all that our tables and queries hold.
const maxLength = 1 << 28

// Array takes a column of an array: element is called for each of its elements.
func (r *Row) Array(element func()) {
	for n := r.length(); n > 0 && r.err == nil; n-- {
		element()
	}
}

// rowBuffer is rows to be inserted. Columns are appended in their order.
type rowBuffer []byte

func (b *rowBuffer) uint8(v uint8)   { *b = append(*b, v) }
func (b *rowBuffer) uint16(v uint16) { *b = binary.LittleEndian.AppendUint16(*b, v) }
func (b *rowBuffer) int32(v int32)   { *b = binary.LittleEndian.AppendUint32(*b, uint32(v)) }
func (b *rowBuffer) uint64(v uint64) { *b = binary.LittleEndian.AppendUint64(*b, v) }
func (b *rowBuffer) int64(v int64)   { b.uint64(uint64(v)) }
func (b *rowBuffer) float64(v float64) {
	b.uint64(math.Float64bits(v))
}
func (b *rowBuffer) length(n int) { *b = binary.AppendUvarint(*b, uint64(n)) }
func (b *rowBuffer) bool(v bool) {
	if v {
		b.uint8(1)
	} else {
		b.uint8(0)
	}
}
func (b *rowBuffer) string(s string) {
	b.length(len(s))
	*b = append(*b, s...)
}

func (r *Row) time() time.Time {
	µs, ns := r.Int64(), r.UInt16()
	if µs == UnknownTime {
		return time.Time{}
	}
	return time.UnixMicro(µs).Add(time.Duration(ns)).UTC()
}

// UInt16 takes a column of the type UInt16.
func (r *Row) UInt16() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }

// Int32 takes a column of the type Int32.
func (r *Row) Int32() int32 { return int32(binary.LittleEndian.Uint32(r.take(4))) }

func (r *Row) tokens() record.Tokens { return record.Count(r.Int64()) }

// Request takes the RequestColumns.
func (r *Row) Request(q *record.Request) {
	*q = record.Request{
		Pos: record.Pos{File: r.String(), Line: r.Int64()}, Format: record.Format(r.String()),
		Start: r.time(), End: r.time(),
		Session: r.String(), Turn: r.String(), Model: r.String(), Provider: r.String(), Effort: r.String(),
		Label: r.String(), Version: r.String(), Origin: r.String(),
		TTFT: time.Duration(r.Int64()), Quality: record.Quality(r.UInt8()), FirstVisible: r.UInt8() == 1,
		Total: time.Duration(r.Int64()),
		Input: r.tokens(), Cached: r.tokens(), Output: r.tokens(), Reasoning: r.tokens(),
	}
	if v := r.Float64(); !math.IsNaN(v) {
		q.ReportedTPS, q.HasReportedTPS = v, true
	}
	q.Status = record.Status(r.UInt8())
	q.Error = record.Error{HTTPStatus: int(r.Int32()), Kind: r.String()}
	q.Retries, q.Merged = int(r.Int32()), r.UInt8() == 1
}

// TurnColumns are the columns that Turn takes, in its order.
const TurnColumns = "file, line, format, session, id, model, provider, effort, version, origin, start, start_ns, end, end_ns, duration, ttft, status, " +
	"request_start, request_start_ns, request_ttft, request_quality, request_first_visible, request_total, request_input, request_cached, " +
	"request_output, request_reasoning, request_status, request_label, tool_name, tool_start, tool_start_ns, tool_end, tool_end_ns"

// Turn takes the TurnColumns. Of its requests there is what the timeline of the
// turn needs.
func (r *Row) Turn(t *record.Turn) {
	*t = record.Turn{
		Pos: record.Pos{File: r.String(), Line: r.Int64()}, Format: record.Format(r.String()),
		Session: r.String(), ID: r.String(), Model: r.String(), Provider: r.String(), Effort: r.String(), Version: r.String(), Origin: r.String(),
		Start: r.time(), End: r.time(), Duration: time.Duration(r.Int64()),
	}
	if v := r.Int64(); v >= 0 {
		t.TTFT, t.HasTTFT = time.Duration(v), true
	}
	t.Status = record.Status(r.UInt8())
	requests := func(take func(*record.Request)) {
		i := 0
		r.Array(func() {
			if i == len(t.Requests) {
				t.Requests = append(t.Requests, new(record.Request))
			}
			take(t.Requests[i])
			i++
		})
	}
	requests(func(q *record.Request) { q.Start = r.micros() })
	requests(func(q *record.Request) { q.Start = after(q.Start, r.UInt16()) })
	requests(func(q *record.Request) { q.TTFT = time.Duration(r.Int64()) })
	requests(func(q *record.Request) { q.Quality = record.Quality(r.UInt8()) })
	requests(func(q *record.Request) { q.FirstVisible = r.UInt8() == 1 })
	requests(func(q *record.Request) { q.Total = time.Duration(r.Int64()) })
	requests(func(q *record.Request) { q.Input = r.tokens() })
	requests(func(q *record.Request) { q.Cached = r.tokens() })
	requests(func(q *record.Request) { q.Output = r.tokens() })
	requests(func(q *record.Request) { q.Reasoning = r.tokens() })
	requests(func(q *record.Request) { q.Status = record.Status(r.UInt8()) })
	requests(func(q *record.Request) { q.Label = r.String() })
	tools := func(take func(*record.Interval)) {
		i := 0
		r.Array(func() {
			if i == len(t.Tools) {
				t.Tools = append(t.Tools, record.Interval{})
			}
			take(&t.Tools[i])
			i++
		})
	}
	tools(func(v *record.Interval) { v.Tool = r.String() })
	tools(func(v *record.Interval) { v.Start = r.micros() })
	tools(func(v *record.Interval) { v.Start = after(v.Start, r.UInt16()) })
	tools(func(v *record.Interval) { v.End = r.micros() })
	tools(func(v *record.Interval) { v.End = after(v.End, r.UInt16()) })
}

func (r *Row) micros() time.Time {
	µs := r.Int64()
	if µs == UnknownTime {
		return time.Time{}
	}
	return time.UnixMicro(µs).UTC()
}

func after(t time.Time, ns uint16) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(time.Duration(ns))
}
