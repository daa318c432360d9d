package clickhouse

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math"
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
