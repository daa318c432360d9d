package source

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"
)

// maxDictionary is the largest dictionary of an xz file that we hold. xz's
// highest level needs 64 MiB; a header can ask for 4 GiB.
const maxDictionary = 128 << 20

var errDictionary = errors.New("its xz dictionary is too large")

var errXZ = errors.New("no xz structure")

func openXZ(r *bufio.Reader) (io.Reader, error) {
	return xz.NewReader(&xzGuard{src: r})
}

// An xzGuard passes an xz file on and looks at each block header before it
// does: the decoder takes the dictionary size there at its word. To know where
// the headers are it follows the structure of the file (its specification,
// 1.0.4, sections 2 to 4); that it is sound is for the decoder to check.
type xzGuard struct {
	src  *bufio.Reader
	pass int64 // bytes that are passed on before the next look
	next func(*xzGuard) error

	ended bool // the file ends where a stream does

	check   int64  // size of the check after each block
	size    int64  // of the block's data, or of the index, so far
	numbers uint64 // still to come in the index
}

func (g *xzGuard) Read(b []byte) (int, error) {
	if g.next == nil {
		g.next = (*xzGuard).streamHeader
	}
	for g.pass == 0 {
		err := g.next(g)
		if err == io.ErrUnexpectedEOF {
			g.pass = math.MaxInt64 // what there is
		} else if err != nil {
			return 0, err
		}
	}
	n, err := g.src.Read(b[:min(int64(len(b)), g.pass)])
	g.pass -= int64(n)
	if err == io.EOF && !g.ended {
		err = io.ErrUnexpectedEOF // the decoder takes an end after a block for the file's
	}
	return n, err
}

// peek returns the next n bytes, or io.ErrUnexpectedEOF where there are fewer.
func (g *xzGuard) peek(n int) ([]byte, error) {
	b, err := g.src.Peek(n)
	if err != nil {
		return nil, io.ErrUnexpectedEOF
	}
	return b, nil
}

func (g *xzGuard) streamHeader() error {
	if _, err := g.peek(1); err != nil { // a good place to end
		g.ended = true
		return err
	}
	b, err := g.peek(4)
	if err == nil && binary.LittleEndian.Uint32(b) == 0 { // padding between streams
		g.pass = 4
		return nil
	}
	if b, err = g.peek(12); err != nil {
		return err
	}
	g.check = [16]int64{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}[b[7]&15]
	g.pass, g.next = 12, (*xzGuard).blockHeader
	return nil
}

func (g *xzGuard) blockHeader() error {
	b, err := g.peek(1)
	if err != nil {
		return err
	}
	if b[0] == 0 {
		g.pass, g.size, g.next = 1, 1, (*xzGuard).indexStart
		return nil
	}
	if b, err = g.peek((int(b[0]) + 1) * 4); err != nil {
		return err
	}
	size, err := dictionarySize(b)
	if err != nil {
		return err
	}
	if size > maxDictionary {
		return fmt.Errorf("%w: %d MiB, more than %d MiB", errDictionary, size>>20, maxDictionary>>20)
	}
	g.pass, g.size, g.next = int64(len(b)), 0, (*xzGuard).chunk
	return nil
}

// dictionarySize reads a block header: its size, flags, then as many sizes and
// filters as the flags tell, each filter with an id, a size and properties.
func dictionarySize(header []byte) (int64, error) {
	const lzma2 = 0x21
	flags, b := header[1], header[2:]
	number := func() uint64 {
		n, size := binary.Uvarint(b)
		b = b[max(size, 0):]
		return n
	}
	if flags&0x40 != 0 {
		number()
	}
	if flags&0x80 != 0 {
		number()
	}
	for range flags&3 + 1 {
		id, size := number(), number()
		if size > uint64(len(b)) {
			return 0, errXZ
		}
		if id == lzma2 && size == 1 {
			return lzma.DecodeDictCap(b[0])
		}
		b = b[size:]
	}
	return 0, nil // not for us to read; the decoder says so
}

// chunk passes one chunk of a block's data on.
func (g *xzGuard) chunk() error {
	b, err := g.peek(6)
	if err != nil {
		return err
	}
	size := int64(binary.BigEndian.Uint16(b[1:])) + 1 // as stored
	packed := int64(binary.BigEndian.Uint16(b[3:])) + 1
	switch control := b[0]; {
	case control == 0: // the block's end: padding and a check follow
		g.size++
		g.pass, g.next = 1+-g.size&3+g.check, (*xzGuard).blockHeader
		return nil
	case control <= 2:
		g.pass = 3 + size
	case control >= 0xc0: // with new properties
		g.pass = 6 + packed
	case control >= 0x80:
		g.pass = 5 + packed
	default:
		return errXZ
	}
	g.size += g.pass
	return nil
}

func (g *xzGuard) indexStart() error {
	records, err := g.indexNumber()
	g.numbers, g.next = 2*records, (*xzGuard).index
	return err
}

func (g *xzGuard) index() error {
	if g.numbers > 0 {
		g.numbers--
		_, err := g.indexNumber()
		return err
	}
	// Padding, a checksum, and the footer of the stream.
	g.pass, g.next = -g.size&3+4+12, (*xzGuard).streamHeader
	return nil
}

// indexNumber passes a number of the index on.
func (g *xzGuard) indexNumber() (uint64, error) {
	for n := 1; n <= 9; n++ {
		b, err := g.peek(n)
		if err != nil {
			return 0, err
		}
		if b[n-1]&0x80 == 0 {
			g.pass = int64(n)
			g.size += int64(n)
			value, _ := binary.Uvarint(b)
			return value, nil
		}
	}
	return 0, errXZ
}
