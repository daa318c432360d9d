package index

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"codexlag/parse/packed"
)

// magic begins a file of the index. The number is that of the format: of this
// file and of what package parse puts into results.
const magic = "codexlag index 1\n"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errUnusable = errors.New("the index is damaged or of another version")

// encode returns a file: magic, checksum of the rest, version of the program,
// entries.
func encode(entries map[string]*Entry, version string) []byte {
	c := packed.NewWriter("", nil)
	c.String(&version)
	n := len(entries)
	packed.Int(c, &n)
	for name, e := range entries {
		c.String(&name)
		e.pack(c)
	}
	body := c.Bytes()
	b := make([]byte, 0, len(magic)+4+len(body))
	b = append(b, magic...)
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(body, castagnoli))
	return append(b, body...)
}

func decode(b []byte, version string) (map[string]*Entry, error) {
	if len(b) < len(magic)+4 || string(b[:len(magic)]) != magic {
		return nil, errUnusable
	}
	sum, body := binary.LittleEndian.Uint32(b[len(magic):]), b[len(magic)+4:]
	if crc32.Checksum(body, castagnoli) != sum {
		return nil, errUnusable
	}
	return decodeBody(body, version)
}

func decodeBody(body []byte, version string) (map[string]*Entry, error) {
	c := packed.NewReader(body, "", nil)
	var by string
	var n int
	c.String(&by)
	packed.Int(c, &n)
	if c.Err() != nil || by != version || n < 0 || n > len(body) {
		return nil, errUnusable
	}
	entries := make(map[string]*Entry, min(n, len(body)/minEntry))
	var room []Entry
	for range n {
		if len(room) == 0 {
			room = make([]Entry, min(n-len(entries), 256))
		}
		e := &room[0]
		room = room[1:]
		var name string
		c.String(&name)
		if e.pack(c); c.Err() != nil || name == "" || entries[name] != nil {
			return nil, errUnusable
		}
		entries[name] = e
	}
	return entries, nil
}

// minEntry is less than any entry takes, in bytes.
const minEntry = 16

func (e *Entry) pack(c *packed.Codec) {
	s := &e.Stamp
	packed.Int(c, &s.Size, &s.ModTime, &s.Changed, &e.Made, &e.End)
	c.Uint(&s.Device, &s.Number, &e.Sum)
	c.Bools(&e.Session)
	c.String(&e.Zone)
	c.Blob(&e.Result)
}
