package requestline

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"codexlag/parse/lines"
	"codexlag/parse/record"
)

// asRow is what Row makes of a line; ok is false where it leaves the line.
func asRow(text string) (r record.Request, ok bool) {
	d := New("x", time.UTC, nil)
	b := append([]byte(text), make([]byte, Behind)...)[:len(text)]
	rows := record.Rows{Pos: record.Pos{File: "x"}, List: make([]record.Row, 1)}
	if len(b) == 0 || b[0] != '{' && !strings.Contains(text, "[") || !d.Row(b, strings.IndexByte(text, '['), &rows.List[0]) {
		return r, false
	}
	rows.Models = d.Models()
	rows.List[0].Line = 1
	rows.Request(0, &r)
	return r, true
}

// asLine is what the long way makes of it.
func asLine(text string) (out []record.Request) {
	d := New("x", time.UTC, func(r record.Record) {
		if q, ok := r.(*record.Request); ok {
			out = append(out, *q)
		}
	})
	l := lines.Line{N: 1, Text: []byte(text), Size: int64(len(text))}
	if text[0] != '{' || !d.Object(l) {
		d.Line(l)
	}
	return out
}

var rowLines = []string{
	"[request] first_token_ms=2840 total_tokens=3 total_ms=3120 tokens_per_sec=10.7",
	"[request] total_ms=3120 tokens_per_sec=10 first_token_ms=0 total_tokens=0",
	"[request] model=gpt-5.2 first_token_ms=1 total_tokens=3 total_ms=9999999",
	"2026-09-10T09:00:03.123456789Z INFO model=a/b [request] first_token_ms=2840 total_tokens=3 total_ms=3120",
	"2026-09-10T09:00:03+02:00 [request] first_token_ms=2840 total_tokens=3 total_ms=3120 model=m",
	"INFO model=m [request] first_token_ms=2840 total_tokens=3 total_ms=3120",
	`{"ts":"2026-09-10T09:00:03Z","model":"m","first_token_ms":2840,"total_tokens":3,"total_ms":3120,"tokens_per_sec":10.75}`,
	`{"total_ms": 3120, "n": 0, "msg": "done", "total_tokens": 3, "first_token_ms": 2840}`,
}

// The usual lines must not go the long way: that is what makes big logs quick.
func TestUsualLinesAreRows(t *testing.T) {
	for _, text := range rowLines {
		got, ok := asRow(text)
		if !ok {
			t.Errorf("%s: no row", text)
			continue
		}
		if want := asLine(text); len(want) != 1 || !reflect.DeepEqual(got, want[0]) {
			t.Errorf("%s:\n%+v\nwant\n%+v", text, got, want)
		}
	}
}

// What says anything unusual is left to the long way.
func TestUnusualLinesAreNoRows(t *testing.T) {
	for _, text := range []string{
		"[request] first_token_ms=2840 first_token_ms=1 total_tokens=3 total_ms=3120",
		"[request] first_token_ms=2840 total_tokens=3 total_ms=0",
		"[request] first_token_ms=2840ms total_tokens=3 total_ms=3120",
		"[request] first_token_ms=2840 total_tokens=3 total_ms=3120.5",
		"[request] first_token_ms=2840 total_tokens=3 total_ms=12345678",
		"[request] first_token_ms=2840 total_tokens=3 total_ms=3120 id=a",
		"[request] first_token_ms=2840, total_tokens=3, total_ms=3120",
		"[request] first_token_ms=2840 total_ms=3120",
		"2026-09-10T09:00:03Z INFO codex_core [request] first_token_ms=2840 total_tokens=3 total_ms=3120",
		"2026-09-10T09:00:03Z INFO a: [request] first_token_ms=2840 total_tokens=3 total_ms=3120",
		`{"first_token_ms":2840,"total_tokens":3,"total_ms":3120,"x":{}}`,
		`{"first_token_ms":2840,"total_tokens":3,"total_ms":03120}`,
		`{"first_token_ms":2840,"total_tokens":3,"total_ms":3120`,
		`{"first_token_ms":2840,"total_tokens":3,"total_ms":3120,"msg":"[request] total_ms=1"}`,
		`{"first_token_ms":2840,"total_tokens":3,"total_ms":3120,"model":"a\"b"}`,
	} {
		if got, ok := asRow(text); ok {
			t.Errorf("%s: %+v", text, got)
		}
	}
}

func FuzzRow(f *testing.F) {
	for _, s := range rowLines {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "\n") || strings.HasSuffix(text, "\r") {
			return
		}
		got, ok := asRow(text)
		if !ok {
			return
		}
		if want := asLine(text); len(want) != 1 || !reflect.DeepEqual(got, want[0]) {
			t.Errorf("%q:\n%+v\nwant\n%+v", text, got, want)
		}
	})
}

func TestWholeNumber(t *testing.T) {
	for n := range uint64(2000) {
		for _, v := range []uint64{n, n * 4999, 9_999_999 - n} {
			s := fmt.Sprint(v)
			if got, digits := wholeNumber([]byte(s + " =:/x\xff\x00z")); got != v || digits != len(s) {
				t.Fatalf("%s: %d, %d digits", s, got, digits)
			}
		}
	}
	for _, s := range []string{" 1234567", "12345678", "/1234567", ":1234567", "\xb01234567"} {
		if _, digits := wholeNumber([]byte(s)); digits != 0 {
			t.Errorf("%q has %d digits", s, digits)
		}
	}
}

func TestPlainText(t *testing.T) {
	for c := range 256 {
		for n := range 20 {
			text := []byte(strings.Repeat("é-~ ", 6))
			want := len(text)
			if text[n] = byte(c); c < ' ' || c == '"' || c == '\\' {
				want = n
			}
			if got := plainText(text); got != want {
				t.Fatalf("%q: %d, want %d", text, got, want)
			}
		}
	}
}

func BenchmarkRow(b *testing.B) {
	for _, s := range []string{rowLines[0], rowLines[3], rowLines[6]} {
		b.Run(s[:9], func(b *testing.B) {
			d := New("x", time.UTC, nil)
			text := append([]byte(s), make([]byte, Behind)...)[:len(s)]
			bracket := strings.IndexByte(s, '[')
			var row record.Row
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				if !d.Row(text, bracket, &row) {
					b.Fatal("no row")
				}
			}
		})
	}
}
