// Package packed writes records, and what else of a log has to outlive a run,
// as few bytes, and reads them back.
//
// A Codec goes one way or the other: what describes a thing does so once, field
// by field, for writing and for reading.
package packed

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"time"
)

// ErrCorrupt says that bytes to be read are not what a Codec wrote.
var ErrCorrupt = errors.New("packed data is corrupt")

// ErrForeign says that a thing to be written has something about it that would
// not come back as it was.
var ErrForeign = errors.New("not to be packed")

// A Codec writes or reads the parts of a log's result. After an error it does
// nothing more; what it reads then is zero.
type Codec struct {
	reading bool
	buf     []byte // what was written, or what is still to be read
	err     error

	// What records do not repeat: the log that they are of, the zone of times
	// that had none, and, for differences, the time and line before.
	file     string
	location *time.Location
	nanos    int64
	line     int64

	strings []string          // by number - 1, which stands for them
	numbers map[string]uint64 // writing only
	text    int               // bytes of the strings

	recent window
	places places
}

// NewWriter returns a Codec that writes what belongs to the log called file.
func NewWriter(file string, location *time.Location) *Codec {
	return &Codec{file: file, location: location}
}

// NewReader returns a Codec that reads what Bytes returned. The log may be
// called differently now.
func NewReader(b []byte, file string, location *time.Location) *Codec {
	c := &Codec{reading: true, buf: b, file: file, location: location}
	c.readStrings()
	return c
}

// Reading reports which way the Codec goes.
func (c *Codec) Reading() bool { return c.reading }

// Err returns the first error.
func (c *Codec) Err() error { return c.err }

// Fail ends writing or reading: something is not as it has to be.
func (c *Codec) Fail() {
	switch {
	case c.err != nil:
	case c.reading:
		c.err, c.buf = ErrCorrupt, nil
	default:
		c.err = ErrForeign
	}
}

// Len returns how many bytes were written, but for the lengths of the strings.
func (c *Codec) Len() int { return len(c.buf) + c.text }

// Bytes returns what was written: the strings, then everything else.
func (c *Codec) Bytes() []byte {
	b := make([]byte, 0, c.text+3*len(c.strings)+binary.MaxVarintLen64+len(c.buf))
	b = binary.AppendUvarint(b, uint64(len(c.strings)))
	for _, s := range c.strings {
		b = binary.AppendUvarint(b, uint64(len(s)))
	}
	for _, s := range c.strings {
		b = append(b, s...)
	}
	return append(b, c.buf...)
}

// readStrings reads the strings at the front into one piece of memory.
func (c *Codec) readStrings() {
	n := int(c.length())
	if n == 0 {
		return
	}
	c.strings = make([]string, n)
	sizes, total := c.buf, uint64(0)
	for range n {
		total += c.length()
	}
	if c.err != nil || total > uint64(len(c.buf)) {
		c.Fail()
		c.strings = nil
		return
	}
	text := string(c.buf[:total])
	c.buf = c.buf[total:]
	for i := range c.strings {
		size, k := binary.Uvarint(sizes)
		sizes = sizes[k:]
		c.strings[i], text = text[:size], text[size:]
	}
}

// length reads how many things follow, of which each takes a byte at least:
// no damage makes it ask for more memory than there are bytes.
func (c *Codec) length() uint64 {
	n := c.uint()
	if n > uint64(len(c.buf)) {
		c.Fail()
		return 0
	}
	return n
}

func (c *Codec) uint() uint64 {
	if len(c.buf) > 0 && c.buf[0] < 0x80 {
		v := c.buf[0]
		c.buf = c.buf[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(c.buf)
	if n <= 0 {
		c.Fail()
		return 0
	}
	c.buf = c.buf[n:]
	return v
}

func (c *Codec) putUint(v uint64) {
	if c.err == nil {
		c.buf = binary.AppendUvarint(c.buf, v)
	}
}

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// An Integer is what Int writes; negative ones may be told, but small ones are short.
type Integer interface {
	~int | ~int64 | ~uint8
}

// Int writes or reads whole numbers.
func Int[T Integer](c *Codec, values ...*T) {
	for _, p := range values {
		if !c.reading {
			c.putUint(zigzag(int64(*p)))
			continue
		}
		v := unzigzag(c.uint())
		if *p = T(v); int64(*p) != v {
			c.Fail()
			*p = 0
		}
	}
}

// Uint writes or reads numbers of which none is negative.
func (c *Codec) Uint(values ...*uint64) {
	for _, p := range values {
		if c.reading {
			*p = c.uint()
		} else {
			c.putUint(*p)
		}
	}
}

// UpTo writes or reads one of few values, from 0 to most.
func UpTo[T ~uint8](c *Codec, p *T, most T) {
	if Int(c, p); *p > most {
		c.Fail()
		*p = 0
	}
}

// Bools writes or reads up to 64 truths.
func (c *Codec) Bools(values ...*bool) {
	var set uint64
	if c.reading {
		set = c.uint()
		for i, p := range values {
			*p = set>>i&1 != 0
		}
		if bits.Len64(set) > len(values) {
			c.Fail()
		}
		return
	}
	for i, p := range values {
		if *p {
			set |= 1 << i
		}
	}
	c.putUint(set)
}

// Float writes or reads a number; those with few digits are short.
func (c *Codec) Float(p *float64) {
	if c.reading {
		*p = math.Float64frombits(bits.ReverseBytes64(c.uint()))
		return
	}
	c.putUint(bits.ReverseBytes64(math.Float64bits(*p)))
}

// String writes or reads texts, each different one only once.
func (c *Codec) String(values ...*string) {
	for _, p := range values {
		if c.reading {
			*p = c.stringOf(c.uint())
		} else {
			c.putUint(c.numberOf(*p))
		}
	}
}

func (c *Codec) stringOf(n uint64) string {
	switch {
	case n == 0:
		return ""
	case n > uint64(len(c.strings)):
		c.Fail()
		return ""
	}
	return c.strings[n-1]
}

func (c *Codec) numberOf(s string) uint64 {
	if s == "" {
		return 0
	}
	n, ok := c.numbers[s]
	if !ok {
		if c.numbers == nil {
			c.numbers = make(map[string]uint64)
		}
		c.strings = append(c.strings, s)
		c.text += len(s)
		n = uint64(len(c.strings))
		c.numbers[s] = n
	}
	return n
}

// Blob writes or reads bytes that stand for something else. Those that were
// read are part of what is read from.
func (c *Codec) Blob(p *[]byte) {
	if c.reading {
		n := c.length()
		*p, c.buf = c.buf[:n:n], c.buf[n:]
		return
	}
	c.putUint(uint64(len(*p)))
	c.buf = append(c.buf, *p...)
}

// The zones that a time of a record can be told in.
const (
	noTime = iota
	inUTC
	inLocation
)

// Time writes or reads times: each as the difference to the one before.
func (c *Codec) Time(values ...*time.Time) {
	for _, p := range values {
		if c.reading {
			*p = c.time()
		} else {
			c.putTime(*p)
		}
	}
}

func (c *Codec) time() time.Time {
	zone := c.uint()
	if zone == noTime {
		return time.Time{}
	}
	c.nanos += unzigzag(c.uint())
	t := time.Unix(0, c.nanos)
	switch {
	case zone == inUTC:
		return t.UTC()
	case zone == inLocation && c.location != nil:
		return t.In(c.location)
	}
	c.Fail()
	return time.Time{}
}

func (c *Codec) putTime(t time.Time) {
	if t.IsZero() {
		c.putUint(noTime)
		return
	}
	nanos := t.UnixNano()
	switch loc := t.Location(); {
	case !time.Unix(0, nanos).Equal(t):
		c.Fail() // some century of which no log can be
	case loc == time.UTC:
		c.putUint(inUTC)
	case loc == c.location:
		c.putUint(inLocation)
	default:
		c.Fail()
	}
	c.putUint(zigzag(nanos - c.nanos))
	c.nanos = nanos
}

// Slice writes or reads a list, item by item; an empty one comes back as nil.
func Slice[T any](c *Codec, list *[]T, item func(*T)) {
	if !c.reading {
		c.putUint(uint64(len(*list)))
		for i := range *list {
			item(&(*list)[i])
		}
		return
	}
	n := int(c.length())
	*list = nil
	if n > 0 {
		*list = make([]T, 0, min(n, 16)) // grows only as far as there is something to read
	}
	for i := range n {
		*list = append(*list, *new(T))
		if item(&(*list)[i]); c.err != nil {
			*list = (*list)[:i]
			return
		}
	}
}

// Pointer writes or reads what p points to, if it does.
func Pointer[T any](c *Codec, p **T, pointed func(*T)) {
	there := *p != nil
	c.Bools(&there)
	if !there {
		*p = nil
		return
	}
	if c.reading {
		*p = new(T)
	}
	pointed(*p)
}
