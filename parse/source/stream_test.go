package source

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	unicode16 "unicode/utf16"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

const line = "[request] first_token_ms=900 total_tokens=240 total_ms=3300\n"

func gzipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	return b.String()
}

func zstded(text string) string {
	var b bytes.Buffer
	z, _ := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	io.WriteString(z, text)
	z.Close()
	return b.String()
}

func xzed(text string, blockSize int64) string {
	var b bytes.Buffer
	z, err := xz.WriterConfig{BlockSize: blockSize, DictCap: 1 << 16}.NewWriter(&b)
	if err != nil {
		panic(err)
	}
	io.WriteString(z, text)
	z.Close()
	return b.String()
}

// There is no writer of bzip2 in Go: line, and nothing, by the program bzip2.
var (
	bzipped      = unbase64("QlpoOTFBWSZTWR9VMWMAAAjbgAAQQABcIgAKoy++ACAAVDUGgaAAAlT0oaZAB6NQ1VKannRlRXlSPHZkekfcvA45YqCtfeDHboMQEh74u5IpwoSA+qmLGA==")
	bzippedEmpty = unbase64("QlpoORdyRThQkAAAAAA=")
)

func unbase64(s string) string {
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// wide returns text in UTF-16, and units as they are after it.
func wide(text string, bigEndian bool, units ...uint16) string {
	var b []byte
	for _, u := range append(unicode16.Encode([]rune(text)), units...) {
		if bigEndian {
			b = append(b, byte(u>>8), byte(u))
		} else {
			b = append(b, byte(u), byte(u>>8))
		}
	}
	return string(b)
}

// write makes a file whose name tells nothing of its content.
func write(t testing.TB, content string) File {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.log")
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return File{Path: path}
}

var long = strings.Repeat(line, 20_000)

var streams = []struct {
	name, content, coding, want string
}{
	{"empty", "", "", ""},
	{"one byte", "x", "", "x"},
	{"text", line, "", line},
	{"long text", long, "", long},
	{"text that begins like bzip2", "BZh9 is no compression", "", "BZh9 is no compression"},
	{"NULs in text", "ab\x00c\x00\x00d", "", "ab\x00c\x00\x00d"},

	{"gzip", gzipped(line), "gzip", line},
	{"gzip, long", gzipped(long), "gzip", long},
	{"gzip of nothing", gzipped(""), "gzip", ""},
	{"gzip of several members", gzipped(line) + gzipped("") + gzipped("x"), "gzip", line + "x"},
	{"zstd", zstded(line), "zstd", line},
	{"zstd, long", zstded(long), "zstd", long},
	{"zstd of nothing", "\x28\xb5\x2f\xfd\x24\x00\x01\x00\x00\x99\xe9\xd8\x51", "zstd", ""},
	{"zstd of several frames", zstded(line) + zstded("x"), "zstd", line + "x"},
	{"zstd after a frame to skip", "\x50\x2a\x4d\x18\x04\x00\x00\x00abcd" + zstded(line), "zstd", line},
	{"xz", xzed(line, 0), "xz", line},
	{"xz of several blocks", xzed(long, 100_001), "xz", long},
	{"xz of nothing", xzed("", 0), "xz", ""},
	{"xz of several streams", xzed(line, 0) + "\x00\x00\x00\x00" + xzed("x", 0), "xz", line + "x"},
	{"bzip2", bzipped, "bzip2", line},
	{"bzip2 of nothing", bzippedEmpty, "bzip2", ""},
	{"bzip2 of several streams", bzipped + bzipped, "bzip2", line + line},
	{"gzip in zstd", zstded(gzipped(line)), "zstd, gzip", line},
	{"no more than two", gzipped(gzipped(gzipped(line))), "gzip, gzip", gzipped(line)},

	{"utf-8 with mark", "\xef\xbb\xbf" + line, "", line},
	{"only a mark", "\xef\xbb\xbf", "", ""},
	{"half a mark", "\xef\xbb", "", "\xef\xbb"},
	{"utf-8 with mark in gzip", gzipped("\xef\xbb\xbf" + line), "gzip", line},
	{"utf-16le with mark", "\xff\xfe" + wide(line+"ü€", false), "utf-16le", line + "ü€"},
	{"utf-16be with mark", "\xfe\xff" + wide(line+"ü€", true), "utf-16be", line + "ü€"},
	{"utf-16le, long", "\xff\xfe" + wide(long[:60_000], false), "utf-16le", long[:60_000]},
	{"utf-16le without mark", wide(line+"ü€", false), "utf-16le", line + "ü€"},
	{"utf-16be without mark", wide(line+"ü€", true), "utf-16be", line + "ü€"},
	{"utf-16le in zstd", zstded("\xff\xfe" + wide(line, false)), "zstd, utf-16le", line},
	{"utf-16 mark only", "\xff\xfe", "utf-16le", ""},
	{"utf-16 with a pair", "\xff\xfe" + wide("a", false, 0xd83d, 0xde00, 'b'), "utf-16le", "a😀b"},
	{"utf-16 with half a pair", "\xff\xfe" + wide("a", false, 0xd83d, 'b', 'c'), "utf-16le", "a\ufffdbc"},
	{"utf-16 that ends in half a pair", "\xff\xfe" + wide("a", false, 0xd83d), "utf-16le", "a\ufffd"},
	{"utf-16 that ends in half a letter", "\xff\xfe" + wide("a", false) + "b", "utf-16le", "a\ufffd"},
}

func TestStream(t *testing.T) {
	for _, test := range streams {
		t.Run(test.name, func(t *testing.T) {
			stdin := File{Path: Stdin, Stdin: true}
			for from, open := range map[string]func() (*Stream, error){
				"file":        func() (*Stream, error) { return Open(write(t, test.content), nil) },
				"stdin":       func() (*Stream, error) { return Open(stdin, strings.NewReader(test.content)) },
				"slow stdin":  func() (*Stream, error) { return Open(stdin, iotest.HalfReader(strings.NewReader(test.content))) },
				"eof at once": func() (*Stream, error) { return Open(stdin, iotest.DataErrReader(strings.NewReader(test.content))) },
			} {
				s, err := open()
				if err != nil {
					t.Fatalf("%s: %v", from, err)
				}
				head := s.Head(100)
				if !strings.HasPrefix(test.want, string(head)) || from == "file" && len(head) != min(100, len(test.want)) {
					t.Errorf("%s: head %q", from, head)
				}
				b, err := io.ReadAll(s)
				if string(b) != test.want || err != nil {
					t.Errorf("%s: got %d bytes %.100q, want %d; error %v", from, len(b), b, len(test.want), err)
				}
				if s.Coding() != test.coding {
					t.Errorf("%s: coding %q, want %q", from, s.Coding(), test.coding)
				}
				if s.RawBytes() != int64(len(test.content)) || s.Bytes() != int64(len(test.want)) {
					t.Errorf("%s: counted %d and %d bytes, want %d and %d", from, s.RawBytes(), s.Bytes(), len(test.content), len(test.want))
				}
				s.Close()
				if _, err := s.Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
					t.Errorf("%s: reading after Close: %v", from, err)
				}
			}
		})
	}
}

func TestTruncated(t *testing.T) {
	random := randomText(300_000)
	for name, content := range map[string]string{
		"gzip": gzipped(random), "zstd": zstded(random), "xz": xzed(random, 0), "bzip2": bzipped,
	} {
		t.Run(name, func(t *testing.T) {
			text := random
			if name == "bzip2" {
				text = line
			}
			for _, n := range []int{10, 11, 12, 14, 18, len(content) / 2, len(content) - 12, len(content) - 1} {
				s, err := Open(write(t, content[:n]), nil)
				var b []byte
				if err == nil {
					b, err = io.ReadAll(s)
					s.Close()
				}
				if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "a.log") || !strings.Contains(err.Error(), name) {
					t.Errorf("%d of %d bytes: error %v", n, len(content), err)
				}
				if !strings.HasPrefix(text, string(b)) {
					t.Errorf("%d of %d bytes: got other text", n, len(content))
				}
				if n == len(content)/2 && name != "bzip2" && len(b) < 10_000 {
					t.Errorf("half of the file gave %d of %d bytes", len(b), len(text))
				}
			}
		})
	}
}

func TestEveryCutIsTold(t *testing.T) {
	text := randomText(200)
	for name, content := range map[string]string{"gzip": gzipped(text), "zstd": zstded(text), "xz": xzed(text, 50), "bzip2": bzipped} {
		for n := 10; n < len(content); n++ {
			s, err := Open(File{Path: Stdin, Stdin: true}, strings.NewReader(content[:n]))
			if err == nil {
				_, err = io.Copy(io.Discard, s)
				s.Close()
			}
			if err == nil {
				t.Errorf("%s: %d of %d bytes are as good as all", name, n, len(content))
			}
		}
	}
}

// randomText returns text that does not compress well.
func randomText(n int) string {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = ' ' + byte(x>>24)%64
	}
	return string(b)
}

func TestDamaged(t *testing.T) {
	text := randomText(300_000)
	for name, content := range map[string]string{
		"gzip": gzipped(text), "zstd": zstded(text), "xz": xzed(text, 0), "bzip2": bzipped,
	} {
		for what, content := range map[string]string{
			"in the middle":   content[:len(content)/2] + "XXXX" + content[len(content)/2+4:],
			"something after": content + "no such data",
		} {
			s, err := Open(write(t, content), nil)
			if err != nil {
				t.Fatal(err)
			}
			n, err := io.Copy(io.Discard, s)
			if err == nil || !strings.Contains(err.Error(), "a.log") || !strings.Contains(err.Error(), name+" data") {
				t.Errorf("%s, %s: error %v after %d bytes", name, what, err, n)
			}
			if what == "something after" && n != s.Bytes() || what != "in the middle" && n < int64(len(line)) {
				t.Errorf("%s, %s: got %d bytes", name, what, n)
			}
			if _, again := s.Read(make([]byte, 9)); again == nil || again.Error() != err.Error() {
				t.Errorf("%s, %s: then error %v", name, what, again)
			}
			s.Close()
		}
	}
}

func TestDiskErrorIsNoDamage(t *testing.T) {
	broken := errors.New("cable loose")
	for name, content := range map[string]string{"plain": long, "gzip": gzipped(randomText(300_000)), "xz": xzed(randomText(300_000), 0), "utf16": wide(long[:9000], false)} {
		in := io.MultiReader(strings.NewReader(content[:len(content)/2]), iotest.ErrReader(broken))
		s, err := Open(File{Path: Stdin, Stdin: true}, in)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, s)
		if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "reading -: cable loose") || n == 0 {
			t.Errorf("%s: %d bytes, then %v", name, n, err)
		}
	}
}

func TestZstdWindowIsLimited(t *testing.T) {
	// A frame header with a window of 1 TiB, then an empty block.
	s, err := Open(write(t, "\x28\xb5\x2f\xfd\x00\xf0\x01\x00\x00"), nil)
	if err == nil {
		_, err = s.Read(make([]byte, 1))
		s.Close()
	}
	if !errors.Is(err, zstd.ErrWindowSizeExceeded) || !strings.Contains(err.Error(), "64 MiB") || !strings.Contains(err.Error(), "zstd -d") {
		t.Errorf("got %v", err)
	}
}

func TestHeadDoesNotWaitForAPipe(t *testing.T) {
	r, w := io.Pipe()
	go io.WriteString(w, "a line\nand a ha")
	s, err := Open(File{Path: Stdin, Stdin: true}, r)
	if err != nil {
		t.Fatal(err)
	}
	if head := s.Head(1000); string(head) != "a line\nand a ha" {
		t.Errorf("head %q", head)
	}
	go func() {
		io.WriteString(w, "lf\n")
		w.Close()
	}()
	b, err := io.ReadAll(s)
	if string(b) != "a line\nand a half\n" || err != nil {
		t.Errorf("read %q, error %v", b, err)
	}
}

func TestHead(t *testing.T) {
	s, err := Open(write(t, long), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, n := range []int{0, 1, 1000, MaxHead, 2 * MaxHead} {
		if head := s.Head(n); string(head) != long[:min(n, MaxHead)] {
			t.Errorf("Head(%d) gave %d bytes", n, len(head))
		}
	}
	b := make([]byte, 100)
	if n, err := s.Read(b); string(b[:n]) != long[:100] || err != nil {
		t.Errorf("read %q, %v", b[:n], err)
	}
	if head := s.Head(50); string(head) != long[100:150] {
		t.Errorf("after reading, head %q", head)
	}
	if rest, err := io.ReadAll(s); string(rest) != long[100:] || err != nil {
		t.Errorf("the rest has %d bytes, %v", len(rest), err)
	}
}

func TestIsSQLite(t *testing.T) {
	database := "SQLite format 3\x00\x10\x00\x02\x02\x00" + strings.Repeat("\x00", 79)
	for content, want := range map[string]bool{database: true, gzipped(database): true, "SQLite format 3 is": false, "": false, line: false} {
		s, err := Open(write(t, content), nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.IsSQLite() != want {
			t.Errorf("%.20q: got %v", content, !want)
		}
		s.Close()
	}
}

func TestOpenRefuses(t *testing.T) {
	lay(t, "auth.json", "l -> auth.json", "d/")
	for path, want := range map[string]string{"auth.json": "never read", "l": "never read", "d": "it is a directory", "gone": "it went away"} {
		s, err := Open(File{Path: path, Named: true}, nil)
		if err == nil {
			s.Close()
			t.Errorf("%s was opened", path)
		} else if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", path, err)
		}
	}
}

func TestNothingIsLeftOpen(t *testing.T) {
	list := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("needs /proc")
		}
		return len(entries)
	}
	before := list()
	for _, content := range []string{line, zstded(line), "\x1f\x8b\x08", "\xfd7zXZ\x00"} {
		if s, err := Open(write(t, content), nil); err == nil {
			s.Close()
			s.Close()
		}
	}
	if after := list(); after != before {
		t.Errorf("%d files open, %d before", after, before)
	}
}

func FuzzOpen(f *testing.F) {
	for _, s := range streams {
		if len(s.content) < 4096 {
			f.Add([]byte(s.content))
		}
	}
	f.Add([]byte(xzed(line, 20)[:100]))
	f.Fuzz(func(t *testing.T, content []byte) {
		in := bytes.NewReader(content)
		s, err := Open(File{Path: Stdin, Stdin: true}, in)
		if err != nil {
			return
		}
		defer s.Close()
		head := bytes.Clone(s.Head(64))
		// A few bytes can stand for very many: look at the first of them.
		b, err := io.ReadAll(io.LimitReader(s, 16<<20))
		if !bytes.HasPrefix(b, head) {
			t.Errorf("head %q is not the beginning of %q", head, b[:min(len(b), 64)])
		}
		if s.Bytes() != int64(len(b)) || s.RawBytes() > int64(len(content)) {
			t.Errorf("counted %d and %d bytes", s.Bytes(), s.RawBytes())
		}
		if s.Coding() == "" && err == nil && len(b) < len(content)-3 && len(b) < 16<<20 {
			t.Errorf("%d of %d bytes of a plain stream", len(b), len(content))
		}
	})
}

func BenchmarkRead(b *testing.B) {
	f := write(b, strings.Repeat(long, 20))
	buf := make([]byte, 256<<10)
	drain := func(b *testing.B, open func() (io.ReadCloser, error)) {
		b.SetBytes(int64(len(long)) * 20)
		b.ReportAllocs()
		for b.Loop() {
			r, err := open()
			if err != nil {
				b.Fatal(err)
			}
			for err == nil {
				_, err = r.Read(buf)
			}
			r.Close()
		}
	}
	b.Run("file", func(b *testing.B) { drain(b, func() (io.ReadCloser, error) { return os.Open(f.Path) }) })
	b.Run("stream", func(b *testing.B) { drain(b, func() (io.ReadCloser, error) { return Open(f, nil) }) })
}
