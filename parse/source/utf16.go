package source

import (
	"bytes"
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
