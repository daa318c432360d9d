package source

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// A compression is a way to compress files.
type compression struct {
	name string
	open func(*bufio.Reader) (io.Reader, error)
}

// compressionOf tells how what begins with head is compressed; nil for not.
func compressionOf(head []byte) *compression {
	begins := func(magic string) bool { return bytes.HasPrefix(head, []byte(magic)) }
	switch {
	case begins("\x1f\x8b\x08"):
		return &compression{"gzip", func(r *bufio.Reader) (io.Reader, error) { return gzip.NewReader(r) }}
	case begins("\x28\xb5\x2f\xfd"),
		len(head) > 4 && head[0]&0xf0 == 0x50 && bytes.HasPrefix(head[1:], []byte("\x2a\x4d\x18")): // pzstd's first frame
		return &compression{"zstd", openZstd}
	case begins("\xfd7zXZ\x00"):
		return &compression{"xz", openXZ}
	case begins("BZh") && len(head) >= 10 && '1' <= head[3] && head[3] <= '9' &&
		// The magic number of the first block, or of the end of an empty file.
		(string(head[4:10]) == "\x31\x41\x59\x26\x53\x59" || string(head[4:10]) == "\x17\x72\x45\x38\x50\x90"):
		return &compression{"bzip2", func(r *bufio.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }}
	}
	return nil
}

// maxWindow is the most memory that a zstd file can make us hold. zstd's levels
// up to 19 need 8 MiB; a hostile file can ask for terabytes.
const maxWindow = 64 << 20

func openZstd(r *bufio.Reader) (io.Reader, error) {
	// One core a file: files are read side by side.
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
}

// A decompressor reads from a decoder and says what is wrong with a file that
// it cannot go on with.
type decompressor struct {
	stream *Stream
	name   string
	src    io.Reader
	n      int64 // bytes that came out
	err    error
}

// What becomes more than bombSize and more than bombRatio times the file is no
// log but meant to keep its reader busy for days. Logs shrink to a tenth or a
// fiftieth; one line again and again, in gzip, to a thousandth.
const (
	bombSize  = 1 << 30
	bombRatio = 10_000
)

var errBomb = errors.New("a decompression bomb")

func (d *decompressor) Read(b []byte) (n int, err error) {
	if d.err != nil {
		return 0, d.err
	}
	// A decoder that does not stand a damaged file must not end the run.
	defer func() {
		if p := recover(); p != nil {
			n, err = 0, d.stream.corrupt(d.name, fmt.Errorf("decoder: %v", p))
		}
		d.err = err
	}()
	if d.n > bombSize && d.n/bombRatio > d.stream.raw.n.Load() {
		return 0, d.stream.corrupt(d.name, errBomb)
	}
	n, err = d.src.Read(b)
	d.n += int64(n)
	if err != nil && err != io.EOF {
		err = d.stream.corrupt(d.name, err)
	}
	return n, err
}

// corrupt says what is wrong with a compressed file. What came before has been
// read by then.
func (s *Stream) corrupt(name string, err error) error {
	switch {
	case s.raw.err != nil:
		return failed("reading", s.path, s.raw.err)
	case errors.Is(err, zstd.ErrWindowSizeExceeded), errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return fmt.Errorf("decompressing %s: its zstd window is larger than %d MiB: %w; decompress it first (zstd -d --long=31) and read the result", show(s.path), maxWindow>>20, err)
	case errors.Is(err, errBomb):
		return fmt.Errorf("decompressing %s: it becomes more than %d GiB and %d times its size: %w; if it is a log all the same, decompress it first and read the result", show(s.path), bombSize>>30, bombRatio, err)
	case errors.Is(err, errDictionary):
		return fmt.Errorf("decompressing %s: %w; decompress it first (xz -d) and read the result", show(s.path), err)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("decompressing %s: the %s data ends too early: %w; all up to there was read, get a whole copy", show(s.path), name, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("decompressing %s: damaged %s data: %w; all up to there was read, get a sound copy", show(s.path), name, err)
}
