package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"codexlag/analyze"
)

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return "got  " + g[i] + "\nwant " + w[i]
		}
	}
	return "one ends before the other"
}

// writers are all that writes a whole report.
var writers = map[string]func(io.Writer, *analyze.Report) error{
	"markdown": func(w io.Writer, r *analyze.Report) error { return Markdown(w, New(r)) },
	"text": func(w io.Writer, r *analyze.Report) error {
		return Text(w, New(r), TextOptions{Width: 100, Unicode: true})
	},
	"html":   func(w io.Writer, r *analyze.Report) error { return HTML(w, New(r)) },
	"json":   JSON,
	"csv":    CSV,
	"ndjson": func(w io.Writer, r *analyze.Report) error { return writeAll(w, "ndjson", r.Slowest) },
	"rows":   func(w io.Writer, r *analyze.Report) error { return writeAll(w, "csv", r.Slowest) },
	"table":  func(w io.Writer, r *analyze.Report) error { return writeAll(w, "text", r.Slowest) },
}

var errFull = errors.New("disk full")

// fullDisk takes a number of bytes and then nothing more.
type fullDisk struct{ left int }

func (d *fullDisk) Write(p []byte) (int, error) {
	n := min(len(p), d.left)
	d.left -= n
	if n < len(p) {
		return n, errFull
	}
	return n, nil
}

func TestWriteErrorsAreReturned(t *testing.T) {
	for name, write := range writers {
		for _, room := range []int{0, 100} {
			if err := write(&fullDisk{room}, full()); !errors.Is(err, errFull) {
				t.Errorf("%s with room for %d bytes: got %v, want %v", name, room, err, errFull)
			}
		}
	}
}

func TestHostileNamesNeverComeOutRaw(t *testing.T) {
	absent := map[string][]string{
		"markdown": {"\x1b", "<blink>", "x|y", "\nb |", "\u202e", "\u200b"},
		"html":     {"\x1b", "<blink>", "\u202e", "\u200b"},
		"text":     {"\x1b", "\u202e", "\u200b", "a\nb"},
		"table":    {"\x1b", "\u202e", "\u200b", "a\nb"},
		"json":     {"\x1b", "\u202e", "\u200b"},
		"ndjson":   {"\x1b", "\u202e", "\u200b"},
		"rows":     {"\x1b", "\u202e", "\u200b", "\n@", ",@"},
		"csv":      {"\x1b", "\u202e", "\u200b"},
	}
	for name, write := range writers {
		var b strings.Builder
		if err := write(&b, full()); err != nil {
			t.Fatal(err)
		}
		for _, s := range absent[name] {
			if strings.Contains(b.String(), s) {
				t.Errorf("%s holds %q", name, s)
			}
		}
		if name == "html" && !strings.Contains(b.String(), "&lt;blink&gt;") {
			t.Errorf("%s lacks the escaped tag", name)
		}
	}
}

// Whatever figures are missing, nothing panics and nothing undefined is printed.
func TestUndefinedFigures(t *testing.T) {
	nan := &analyze.Dist{N: 1, Min: math.NaN(), Mean: math.Inf(1), Max: math.NaN(), Quantiles: []analyze.Quantile{{P: 50, Value: math.NaN(), CI: &[2]float64{math.NaN(), 1}}}}
	for name, r := range map[string]*analyze.Report{
		"nothing":     {},
		"nil group":   {Groups: []analyze.Keyed{{By: "model"}}},
		"empty group": {Overall: &analyze.Group{Requests: 3}, Groups: []analyze.Keyed{{By: "model", Group: &analyze.Group{}}}},
		"bare request": {Overall: &analyze.Group{Requests: 1, Turns: analyze.Turns{Count: 1}, SLO: analyze.SLO{Missed: 1}, Verdict: analyze.Verdict{Tail: &analyze.Tail{}}},
			Slowest: []*analyze.Request{{}}, Findings: []analyze.Finding{{}}},
		"no numbers": {Overall: &analyze.Group{Requests: 1, TTFT: nan, Total: nan, TPS: analyze.TPS{Clean: nan, Pooled: p(math.NaN())},
			Time: analyze.TimeSplit{Total: 1, Prefill: math.NaN()}, PrefillModel: &analyze.PrefillModel{Overhead: math.NaN()}, RequestModel: &analyze.RequestModel{PrefillShare: p(math.NaN())}}},
	} {
		for format, write := range writers {
			var b strings.Builder
			err := write(&b, r)
			if err != nil && !(name == "no numbers" && format == "json") { // JSON has no way to say it
				t.Errorf("%s as %s: %v", name, format, err)
			}
			if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") {
				t.Errorf("%s as %s prints NaN or Inf", name, format)
			}
		}
	}
}

// However narrow the terminal, no line is wider, but for a name that is one
// word, and no figure is cut or parted from its unit.
func TestNarrowTerminals(t *testing.T) {
	for columns := 28; columns <= 100; columns++ {
		o := TextOptions{Width: columns, Unicode: true}
		var report, requests strings.Builder
		if err := Text(&report, New(full()), o); err != nil {
			t.Fatal(err)
		}
		w, err := NewRequestWriter(&requests, "text", nil, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range full().Slowest {
			if err := w.Write(q); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		for _, page := range []string{report.String(), requests.String()} {
			for _, line := range strings.Split(page, "\n") {
				if width(line) > columns && len(strings.Fields(strings.TrimPrefix(line, "- "))) > 1 {
					t.Errorf("%d columns of %d: %s", width(line), columns, line)
				}
				if s := strings.TrimLeft(line, " "); strings.HasPrefix(s, "%") || strings.HasPrefix(s, "ms") {
					t.Errorf("%d columns: a unit is parted from its number: %s", columns, line)
				}
			}
			for _, figure := range []string{"~14.2 s", "2.84 s", "214 s", "3.12 s", "failed"} {
				if !strings.Contains(page, figure) {
					t.Errorf("%d columns: %q is cut", columns, figure)
				}
			}
		}
	}
}

// Where not even the columns that never go fit, a row is a record with all of them.
func TestRecords(t *testing.T) {
	table := Table{
		Columns: []Column{{Title: "Part"}, {Title: "Share", Right: true}, {Title: "Mean", Right: true, Drop: 1}, {Title: "Meaning", Fit: Wrap}},
		Rows:    [][]Cell{{cell("start"), {Span: plain("12.5 %"), Mark: "*"}, cell("—"), cell("later tokens")}, {cell("end"), cell("—"), cell("3 s"), cell("")}},
	}
	for columns, want := range map[int]string{
		40: "Part     Share  Mean  Meaning\nstart  12.5 %*     —  later tokens\nend          —   3 s\n",
		28: "Part     Share  Meaning\nstart  12.5 %*  later tokens\nend          —\n(too narrow for: Mean)\n",
		24: "Part: start\n  Share: 12.5 %*;\n  Meaning: later tokens\nPart: end\n  Share: —; Mean: 3 s\n",
	} {
		var b strings.Builder
		if err := Text(&b, &Document{Blocks: []Block{table}}, TextOptions{Width: columns, Unicode: true}); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimLeft(b.String(), "\n"); got != want {
			t.Errorf("%d columns:\n%s\nwant\n%s", columns, got, want)
		}
	}
}

func TestMissingTTFTIsAlwaysTold(t *testing.T) {
	for name, c := range map[string]struct {
		ttft   *analyze.Dist
		counts map[string]int
		want   string
	}{
		"none at all": {nil, map[string]int{"none": 3}, "No TTFT"},
		"some":        {dist(2, 1, 2, 3, 2, 3, 3, 3), map[string]int{"measured": 2, "none": 1}, "TTFT missing"},
		"bounds":      {nil, map[string]int{"bound": 3}, "For 3 only an upper bound is known"},
	} {
		r := &analyze.Report{Overall: &analyze.Group{Requests: 3, TTFT: c.ttft}, Quality: analyze.Quality{Requests: 3, TTFT: c.counts}}
		for format, write := range map[string]func(io.Writer, *analyze.Report) error{"markdown": writers["markdown"], "text": writers["text"], "html": writers["html"]} {
			var b strings.Builder
			if err := write(&b, r); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(strings.Join(strings.Fields(b.String()), " "), c.want) {
				t.Errorf("%s as %s lacks %q", name, format, c.want)
			}
		}
	}
}

func TestMarkdownFitsInAnIssue(t *testing.T) {
	var b strings.Builder
	if err := Markdown(&b, New(full())); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(b.String(), "\n"); lines > 200 {
		t.Errorf("%d lines, want at most 200", lines)
	}
}

func TestTextKeepsToTheWidth(t *testing.T) {
	for _, columns := range []int{60, 72, 80, 100, 120, 200} {
		var b strings.Builder
		if err := Text(&b, New(full()), TextOptions{Width: columns, Unicode: true}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if strings.HasPrefix(line, "logs/") && !strings.Contains(line, " ") {
				continue // a place to be copied stays whole
			}
			if n := width(strings.TrimSuffix(line, "\n")); n > columns {
				t.Errorf("at %d columns a line has %d: %s", columns, n, line)
			}
		}
	}
}

func TestTextWithoutColourHasNoEscapes(t *testing.T) {
	var plain, coloured strings.Builder
	if err := Text(&plain, New(full()), TextOptions{Width: 100, Unicode: true}); err != nil {
		t.Fatal(err)
	}
	if err := Text(&coloured, New(full()), TextOptions{Width: 100, Unicode: true, Color: true}); err != nil {
		t.Fatal(err)
	}
	s := coloured.String()
	for _, style := range append([]string{ansiReset, ansiBold, ansiDim}, toneSequences()...) {
		s = strings.ReplaceAll(s, style, "")
	}
	if s != plain.String() {
		t.Errorf("colours change the text:\n%s", firstDifference(s, plain.String()))
	}
}

func toneSequences() []string {
	var s []string
	for _, v := range toneANSI {
		s = append(s, v)
	}
	return s
}

func TestRequestCSVHasTheNamesOfTheJSON(t *testing.T) {
	var object bytes.Buffer
	if err := writeAll(&object, "ndjson", full().Slowest[:1]); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(&object)
	var names []string
	for depth, key := 0, true; ; {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case json.Delim:
			if x == '{' || x == '[' {
				depth++
			} else {
				depth, key = depth-1, true
			}
		case string:
			if depth == 1 && key {
				names, key = append(names, x), false
				continue
			}
			key = depth == 1
		default:
			key = true
		}
	}
	if got, want := strings.Join(requestColumns, ","), strings.Join(names, ","); got != want {
		t.Errorf("columns\n%s\nJSON\n%s", got, want)
	}
	var table strings.Builder
	if err := writeAll(&table, "csv", full().Slowest); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(table.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 5 || len(rows[1]) != len(requestColumns) {
		t.Errorf("%d rows of %d columns, want 5 of %d", len(rows), len(rows[1]), len(requestColumns))
	}
}

func TestJSONKeepsItsMeaning(t *testing.T) {
	name := hostile + multiline + mention + bidi + wide + "\u009b\U000e0041\u2028&"
	r := full()
	r.Groups[0].Key = name
	var b bytes.Buffer
	if err := JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	var back struct{ Groups []struct{ Key string } }
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if back.Groups[0].Key != name {
		t.Errorf("got %q, want %q", back.Groups[0].Key, name)
	}
	if strings.Contains(b.String(), `\u003c`) {
		t.Error("< is escaped as for a web page")
	}
}

func TestUnknownFormat(t *testing.T) {
	if _, err := NewRequestWriter(io.Discard, "xml", nil, TextOptions{}); err == nil || !strings.Contains(err.Error(), "ndjson") {
		t.Errorf("got %v, want an error that names the formats", err)
	}
}

func BenchmarkRequestWriter(b *testing.B) {
	q := full().Slowest[0]
	for _, format := range []string{"ndjson", "csv", "text"} {
		b.Run(format, func(b *testing.B) {
			w, err := NewRequestWriter(io.Discard, format, nil, TextOptions{})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if err := w.Write(q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
