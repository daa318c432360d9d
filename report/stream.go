package report

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"codexlag/analyze"
)

// A RequestWriter writes requests one by one, so that their number does not
// matter. Close writes what is pending; it does not close what is below.
type RequestWriter interface {
	Write(*analyze.Request) error
	Close() error
}

// NewRequestWriter returns a writer for the format: ndjson, csv, or text (or table):
// fixed columns whose times are in zone (nil: each in its own).
func NewRequestWriter(w io.Writer, format string, zone *time.Location) (RequestWriter, error) {
	b := bufio.NewWriter(w)
	switch format {
	case "ndjson":
		return &ndjsonWriter{b}, nil
	case "csv":
		c := csv.NewWriter(b)
		return &csvWriter{b: b, c: c, err: c.Write(requestColumns)}, nil
	case "text", "table":
		return &tableWriter{b: b, zone: zone}, nil
	}
	return nil, fmt.Errorf("requests have no format %q: take ndjson, csv or table", format)
}

type ndjsonWriter struct{ b *bufio.Writer }

func (w *ndjsonWriter) Write(q *analyze.Request) error {
	line, err := marshal(q, "")
	if err != nil {
		return fmt.Errorf("request %s as JSON: %w", visible(q.Source), err)
	}
	_, err = w.b.Write(line)
	return err
}

func (w *ndjsonWriter) Close() error { return w.b.Flush() }

// JSON writes the report with an indent, for scripts and for reading.
func JSON(w io.Writer, r *analyze.Report) error {
	out, err := marshal(r, "  ")
	if err != nil {
		return fmt.Errorf("report as JSON: %w", err)
	}
	_, err = w.Write(out)
	return err
}

// marshal is JSON with a newline at its end. Names keep their < and &, since
// it is no web page; what a terminal would obey is escaped.
func marshal(v any, indent string) ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return []byte(escapeHidden(b.String())), nil
}

// escapeHidden writes the characters that encoding/json leaves raw although
// they act on a terminal (C1 controls, bidirectional overrides) as \u escapes,
// which mean the same. They can only be inside strings.
func escapeHidden(s string) string {
	odd := func(r rune) bool { return r >= 0x7f && hidden(r) }
	if !strings.ContainsFunc(s, odd) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !odd(r):
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// A tableWriter writes a table whose columns are fixed beforehand.
type tableWriter struct {
	b    *bufio.Writer
	zone *time.Location
	head bool
}

var streamColumns = []struct {
	title string
	width int
	right bool
}{
	{"ENDED", 19, false}, {"SOURCE", 40, false}, {"MODEL", 18, false}, {"TTFT", 10, true}, {"TOTAL", 9, true},
	{"TOKENS", 9, true}, {"TPS, tok/s", 16, true}, {"PHASE", 18, false}, {"FLAGS", 0, false},
}

func (w *tableWriter) Write(q *analyze.Request) error {
	if err := w.header(); err != nil {
		return err
	}
	b := builder{zone: w.zone}
	row := b.requestRow(q)
	row[0], row[1] = row[1], row[0] // the time first: rows come in its order
	cells := make([]string, len(row))
	for i, c := range row {
		cells[i] = visible(c.Text)
	}
	return w.line(cells)
}

func (w *tableWriter) Close() error {
	if err := w.header(); err != nil {
		return err
	}
	return w.b.Flush()
}

func (w *tableWriter) header() error {
	if w.head {
		return nil
	}
	w.head = true
	var titles []string
	for _, c := range streamColumns {
		titles = append(titles, c.title)
	}
	return w.line(titles)
}

func (w *tableWriter) line(cells []string) error {
	var b strings.Builder
	for i, c := range streamColumns {
		s := cells[i]
		if c.width > 0 {
			s = pad(shorten(s, c.width), c.width, c.right) + "  "
		}
		b.WriteString(s)
	}
	_, err := w.b.WriteString(strings.TrimRight(b.String(), " ") + "\n")
	return err
}
