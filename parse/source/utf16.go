package source

import (
	"bytes"
	"errors"
	"io"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// A utf16 is a way in which Windows tools write text.
type utf16 struct {
	name   string
	endian unicode.Endianness
	mark   int // length of the byte order mark
}

// utf16Of tells how what begins with head is encoded; nil for not in UTF-16.
// Without a mark, only what starts with ASCII is recognised; logs do.
func utf16Of(head []byte) *utf16 {
	mark := func(name string, endian unicode.Endianness, n int) *utf16 { return &utf16{name, endian, n} }
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return mark("utf-16le", unicode.LittleEndian, 2)
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return mark("utf-16be", unicode.BigEndian, 2)
	case isWideASCII(head, 0):
		return mark("utf-16le", unicode.LittleEndian, 0)
	case isWideASCII(head, 1):
		return mark("utf-16be", unicode.BigEndian, 0)
	}
	return nil
}

// isWideASCII reports whether b consists of pairs of a letter, at the given
// place in the pair, and a NUL. It wants two pairs at least.
func isWideASCII(b []byte, letter int) bool {
	if len(b) < 4 {
		return false
	}
	for ; len(b) >= 2; b = b[2:] {
		c := b[letter]
		text := ' ' <= c && c <= '~' || c == '\t' || c == '\n' || c == '\r' || c == '\x1b'
		if !text || b[1-letter] != 0 {
			return false
		}
	}
	return true
}

// decoder returns r in UTF-8. What is broken becomes U+FFFD.
func (e *utf16) decoder(r io.Reader) io.Reader {
	return transform.NewReader(r, unicode.UTF16(e.endian, unicode.IgnoreBOM).NewDecoder())
}

// A Decoder makes UTF-8 of text that comes in pieces as it is in the file.
type Decoder struct {
	skip    int // of the byte order mark
	utf16   transform.Transformer
	rest    []byte // of a character that is not complete
	decoded []byte
}

// Decoder returns a Decoder for the file where it is a regular one that is not
// compressed and holds text that is not plain; else nil.
func (s *Stream) Decoder() *Decoder {
	head, err := s.start()
	if err != nil || s.sqlite {
		return nil
	}
	e := utf16Of(head)
	switch {
	case s.mark == 3 && len(s.coding) == 0:
		return &Decoder{skip: s.mark}
	case e != nil && len(s.coding) == 1 && s.coding[0] == e.name:
		return &Decoder{skip: e.mark, utf16: unicode.UTF16(e.endian, unicode.IgnoreBOM).NewDecoder()}
	}
	return nil
}

// start returns the first bytes of a regular file.
func (s *Stream) start() ([]byte, error) {
	if s.file == nil {
		return nil, errors.ErrUnsupported
	}
	head := make([]byte, sniffed)
	n, err := s.file.ReadAt(head, 0)
	if err == io.EOF {
		err = nil
	}
	return head[:n], err
}

// Decode returns the next piece in UTF-8, valid until the next call. What is
// broken becomes U+FFFD; a character that is not complete waits.
func (d *Decoder) Decode(b []byte) []byte {
	n := min(d.skip, len(b))
	d.skip -= n
	b = b[n:]
	if d.utf16 == nil {
		return b
	}
	if len(d.rest) > 0 {
		b = append(d.rest, b...)
	}
	if most := 2 * len(b); len(d.decoded) < most { // 2 bytes of UTF-16 make at most 3 of UTF-8
		d.decoded = make([]byte, most)
	}
	to, from, _ := d.utf16.Transform(d.decoded, b, false) // short of source, mostly
	d.rest = bytes.Clone(b[from:])
	return d.decoded[:to]
}
