package report

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codexlag/analyze"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestGolden(t *testing.T) {
	textIn := func(o TextOptions) func(io.Writer, *analyze.Report) error {
		return func(w io.Writer, r *analyze.Report) error { return Text(w, New(r), o) }
	}
	markdown := func(w io.Writer, r *analyze.Report) error { return Markdown(w, New(r)) }
	page := func(w io.Writer, r *analyze.Report) error {
		var b strings.Builder
		err := HTML(&b, New(r))
		io.WriteString(w, withoutInlined(b.String()))
		return err
	}
	requests := func(format string) func(io.Writer, *analyze.Report) error {
		return func(w io.Writer, r *analyze.Report) error { return writeAll(w, format, r.Slowest) }
	}
	for _, c := range []struct {
		file   string
		report *analyze.Report
		write  func(io.Writer, *analyze.Report) error
	}{
		{"full.md", full(), markdown},
		{"full.txt", full(), textIn(TextOptions{Width: 120, Unicode: true})},
		{"full-color.txt", full(), textIn(TextOptions{Width: 120, Unicode: true, Color: true})},
		{"full-narrow.txt", full(), textIn(TextOptions{Width: 60, Unicode: true})},
		{"full-ascii.txt", full(), textIn(TextOptions{})},
		{"full.html", full(), page},
		{"full.json", full(), JSON},
		{"full.csv", full(), CSV},
		{"two.md", two(), markdown},
		{"two.txt", two(), textIn(TextOptions{Width: 80, Unicode: true})},
		{"empty.md", &analyze.Report{}, markdown},
		{"empty.html", &analyze.Report{}, page},
		{"empty.csv", &analyze.Report{}, CSV},
		{"requests.md", full(), func(w io.Writer, r *analyze.Report) error { return Markdown(w, Requests(r.Slowest, nil)) }},
		{"requests.ndjson", full(), requests("ndjson")},
		{"requests.csv", full(), requests("csv")},
		{"requests.txt", full(), requests("text")},
	} {
		t.Run(c.file, func(t *testing.T) {
			var got bytes.Buffer
			if err := c.write(&got, c.report); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", c.file+".golden")
			if *update {
				if err := os.MkdirAll("testdata", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v (run with -update to write it)", err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("differs from %s (run with -update and look at the change):\n%s", path, firstDifference(got.String(), string(want)))
			}
		})
	}
}

func writeAll(w io.Writer, format string, requests []*analyze.Request) error {
	rw, err := NewRequestWriter(w, format, nil, TextOptions{Unicode: true})
	if err != nil {
		return err
	}
	for _, q := range requests {
		if err := rw.Write(q); err != nil {
			return err
		}
	}
	return rw.Close()
}
