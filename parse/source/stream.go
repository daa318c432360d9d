package source

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// MaxHead is how far Head can look ahead.
const MaxHead = 64 << 10

// A Stream is the text of a file: decompressed, and in UTF-8 without a byte
// order mark. It takes constant memory, whatever the file expands to.
type Stream struct {
	path    string
	raw     *counter
	text    *peeker
	bytes   atomic.Int64
	coding  []string
	sqlite  bool
	mark    int      // bytes of a byte order mark
	file    *os.File // a regular file, else nil
	closers []func()
}

// Open opens f for reading; stdin is what standard input is. Compression and
// encoding are recognised by content, never by name.
func Open(f File, stdin io.Reader) (*Stream, error) {
	s := &Stream{path: f.Path}
	live := true
	if f.Stdin {
		widen(stdin)
		s.raw = &counter{src: stdin}
	} else {
		file, regular, err := open(f)
		if err != nil {
			return nil, err
		}
		s.raw = &counter{src: file}
		s.closers = append(s.closers, func() { file.Close() })
		if live = !regular; live {
			widen(file)
		} else {
			s.file = file
		}
	}
	s.text = &peeker{src: s.raw, live: live}
	if err := s.decode(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// open opens what f names. What was found to be a regular file can be a pipe
// without a writer by now, and opening that must not hang.
func open(f File) (file *os.File, regular bool, err error) {
	if isSecret(f.Path) {
		return nil, false, errSecret(f.Path)
	}
	flags := os.O_RDONLY
	if !f.pipe {
		flags |= noWait
	}
	file, err = os.OpenFile(f.Path, flags, 0)
	// Files that are read beside this one will be closed.
	for wait := time.Millisecond; wait < 2*time.Second && outOfDescriptors(err); wait *= 2 {
		time.Sleep(wait)
		file, err = os.OpenFile(f.Path, flags, 0)
	}
	if err != nil {
		return nil, false, failed("opening", f.Path, err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() && !f.pipe {
		kind := "a directory"
		if !info.IsDir() {
			kind = special(info.Mode())
		}
		err = fmt.Errorf("it is %s and not a file", kind)
	}
	if err != nil {
		file.Close()
		return nil, false, failed("opening", f.Path, err)
	}
	return file, info.Mode().IsRegular(), nil
}

func outOfDescriptors(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// nested is how many compressions are undone: a log may be compressed when it
// is rotated, and again when it is sent.
const nested = 2

// readBlock is how much compressed data is read at once.
const readBlock = 64 << 10

// sniffed is how many bytes tell what a stream holds.
const sniffed = 64

// decode puts a decoder over s.text for each coding that its bytes are in.
func (s *Stream) decode() error {
	for range nested {
		c := compressionOf(s.text.peek(sniffed))
		if c == nil {
			break
		}
		src, err := c.open(bufio.NewReaderSize(s.text, readBlock))
		if err != nil {
			return s.corrupt(c.name, err)
		}
		if z, ok := src.(interface{ Close() }); ok {
			s.closers = append(s.closers, z.Close)
		}
		s.put(c.name, &decompressor{stream: s, name: c.name, src: src})
	}
	head := s.text.peek(sniffed)
	s.sqlite = IsDatabase(head)
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		s.mark = 3
		s.text.discard(s.mark)
	} else if e := utf16Of(head); e != nil {
		s.text.discard(e.mark)
		s.put(e.name, e.decoder(s.text))
	}
	return nil
}

func (s *Stream) put(name string, decoded io.Reader) {
	s.coding = append(s.coding, name)
	s.text = &peeker{src: decoded, live: s.text.live}
}

// Read reads decoded bytes. After an error of a damaged file, all that could be
// decoded has been read.
func (s *Stream) Read(b []byte) (int, error) {
	n, err := s.text.Read(b)
	s.bytes.Add(int64(n))
	if err != nil && err != io.EOF && s.raw.err != nil {
		err = failed("reading", s.path, s.raw.err)
	}
	return n, err
}

// Head returns the next n bytes, at most MaxHead, without consuming them; fewer
// at the end. For a pipe or standard input it is content with a line, so that
// it need not wait. The bytes are valid until the next call of Head.
func (s *Stream) Head(n int) []byte { return s.text.peek(min(n, MaxHead)) }

// IsSQLite reports whether the stream is a database of SQLite.
func (s *Stream) IsSQLite() bool { return s.sqlite }

// IsDatabase reports whether a file that begins with head is a database of SQLite.
func IsDatabase(head []byte) bool { return bytes.HasPrefix(head, []byte("SQLite format 3\x00")) }

// Coding tells how the file is coded, outermost first: "gzip", "zstd, utf-16le";
// "" for plain text.
func (s *Stream) Coding() string { return strings.Join(s.coding, ", ") }

// Plain returns the file itself and its size where it is a regular one that
// holds text as it is: parts of it can then be read in any order.
func (s *Stream) Plain() (src io.ReaderAt, size int64, ok bool) {
	if s.file == nil || len(s.coding) > 0 || s.sqlite || s.mark > 0 {
		return nil, 0, false
	}
	info, err := s.file.Stat()
	if err != nil {
		return nil, 0, false
	}
	return s.file, info.Size(), true
}

// ID returns the ID of the file that the stream reads.
func (s *Stream) ID() ID {
	if s.file == nil {
		return ID{}
	}
	info, err := s.file.Stat()
	if err != nil {
		return ID{}
	}
	return IDOf(info)
}

// SkipTo makes reading go on at a place in a file that is Plain.
func (s *Stream) SkipTo(offset int64) error {
	if _, err := s.file.Seek(offset, io.SeekStart); err != nil {
		return failed("reading", s.path, err)
	}
	s.text = &peeker{src: s.raw}
	return nil
}

// RawBytes returns how many bytes of the file were read so far, which is a
// little ahead of what they were decoded to. It may be called at any time.
func (s *Stream) RawBytes() int64 { return s.raw.n.Load() }

// Bytes returns how many decoded bytes were read so far. It may be called at
// any time.
func (s *Stream) Bytes() int64 { return s.bytes.Load() }

// Close closes the file. Standard input stays open.
func (s *Stream) Close() error {
	for _, c := range slices.Backward(s.closers) {
		c()
	}
	s.closers = nil
	s.text = &peeker{err: fmt.Errorf("reading %s: %w", show(s.path), os.ErrClosed)}
	return nil
}

// A counter counts the bytes that come from src and keeps its error, to tell
// a failing disk from a damaged file. It does not read on after an error.
type counter struct {
	src io.Reader
	n   atomic.Int64
	err error
}

func (c *counter) Read(b []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.src.Read(b)
	c.n.Add(int64(n))
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
	return n, err
}
