package source

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"
)

// withDictionary sets the dictionary size in the nth block header of an xz
// file (0x28: 4 GiB) and makes its checksum right again.
func withDictionary(t *testing.T, file string, nth int, property byte) string {
	t.Helper()
	b := []byte(file)
	filter := []byte{0x21, 1} // LZMA2 with one byte of properties
	at := 0
	for range nth + 1 {
		for at++; ; at++ {
			i := bytes.Index(b[at:], filter)
			if i < 0 {
				t.Fatal("no such block")
			}
			at += i
			start := headerStart(b, at)
			if start >= 0 {
				size := (int(b[start]) + 1) * 4
				sum := b[start+size-4 : start+size]
				if nth == 0 {
					b[at+2] = property
					binary.LittleEndian.PutUint32(sum, crc32.ChecksumIEEE(b[start:start+size-4]))
				}
				nth--
				break
			}
		}
	}
	return string(b)
}

// headerStart finds the block header that holds the filter at a place by its
// checksum; -1 for none.
func headerStart(b []byte, filter int) int {
	for start := filter - 2; start >= max(0, filter-20); start-- {
		size := (int(b[start]) + 1) * 4
		if start+size <= len(b) && size > 8 && crc32.ChecksumIEEE(b[start:start+size-4]) == binary.LittleEndian.Uint32(b[start+size-4:]) {
			return start
		}
	}
	return -1
}

func TestXZDictionaryIsLimited(t *testing.T) {
	text := randomText(10_000)
	file := xzed(text, 1000)
	tests := []struct {
		name     string
		content  string
		want     int // bytes of text
		tooLarge bool
	}{
		{"as it was", withDictionary(t, file, 0, 8), 10_000, false},
		{"128 MiB", withDictionary(t, file, 0, 0x1e), 10_000, false},
		{"192 MiB", withDictionary(t, file, 0, 0x1f), 0, true},
		{"4 GiB", withDictionary(t, file, 0, 0x28), 0, true},
		{"4 GiB in the fourth block", withDictionary(t, file, 3, 0x28), 3000, true},
		{"4 GiB in a second stream", xzed(text, 0) + withDictionary(t, file, 0, 0x28), 10_000, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var b []byte
			s, err := Open(write(t, test.content), nil)
			if err == nil {
				b, err = io.ReadAll(s)
				s.Close()
			}
			if string(b) != text[:test.want] {
				t.Errorf("got %d bytes, want %d", len(b), test.want)
			}
			if errors.Is(err, errDictionary) != test.tooLarge || !test.tooLarge && err != nil {
				t.Errorf("got error %v", err)
			}
			if test.tooLarge && (!strings.Contains(err.Error(), "a.log") || !strings.Contains(err.Error(), "xz -d")) {
				t.Errorf("%q does not say what to do", err)
			}
		})
	}
}

// What the guard does not understand, or passes on in small pieces, arrives
// unchanged.
func TestXZGuardPassesOn(t *testing.T) {
	file := xzed(line, 0)
	for name, content := range map[string]string{
		"nothing": "", "one block": file, "many blocks": xzed(long, 100_001), "no block": xzed("", 0), "padding": file + "\x00\x00\x00\x00",
		"cut in the header": "\xfd7zXZ", "cut after the header": file[:12], "cut in the data": file[:50], "cut before the footer": file[:len(file)-12],
	} {
		g := &xzGuard{src: bufio.NewReader(strings.NewReader(content))}
		var b []byte
		var err error
		for piece := make([]byte, 7); err == nil; {
			var n int
			n, err = g.Read(piece)
			b = append(b, piece[:n]...)
		}
		want := io.EOF
		if strings.HasPrefix(name, "cut") {
			want = io.ErrUnexpectedEOF
		}
		if string(b) != content || err != want {
			t.Errorf("%s, %d bytes: got %d, %v", name, len(content), len(b), err)
		}
	}
}
