package report

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"codexlag/analyze"
	"codexlag/analyze/lang"
)

// A RequestWriter writes requests one by one, so that their number does not
// matter. Close writes what is pending; it does not close what is below.
type RequestWriter interface {
	Write(*analyze.Request) error
	Close() error
}

// NewRequestWriter returns a writer for the format: ndjson, csv, or text (or table),
// which has times in zone (nil: each in its own) and fits the screen that o describes.
func NewRequestWriter(w io.Writer, format string, zone *time.Location, o TextOptions) (RequestWriter, error) {
	b := bufio.NewWriter(w)
	switch format {
	case "ndjson":
		return &ndjsonWriter{b}, nil
	case "csv":
		c := csv.NewWriter(b)
		return &csvWriter{b: b, c: c, err: c.Write(requestColumns)}, nil
	case "text", "table":
		return newTableWriter(b, zone, o), nil
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

// A tableWriter writes a table whose columns are fixed beforehand, because the
// rows come one by one.
type tableWriter struct {
	terminal
	zone    *time.Location
	columns []Column
	show    []int
	widths  []int
	tooWide bool // for the screen: requests are records
	head    bool
}

var streamColumns = []struct {
	Column
	piped, screen int // widths where there is no screen, and on one
}{
	{Column{Title: lang.Mark("ENDED"), Drop: 1}, 19, 19},
	{Column{Title: lang.Mark("SOURCE"), Fit: Shorten}, 0, 40},
	{Column{Title: lang.Mark("MODEL"), Fit: Shorten, Drop: 3}, 18, 14},
	{Column{Title: "TTFT", Right: true}, 10, 9},
	{Column{Title: lang.Mark("TOTAL"), Right: true}, 9, 8},
	{Column{Title: lang.Mark("TOKENS"), Right: true, Drop: 2}, 9, 7},
	{Column{Title: "TPS, tok/s", Right: true}, 16, 15},
	{Column{Title: lang.Mark("PHASE"), Fit: Wrap}, 18, 10},
	{Column{Title: lang.Mark("FLAGS"), Fit: Wrap, Drop: 4}, 24, 24},
}

const sourceColumn = 1

func newTableWriter(b *bufio.Writer, zone *time.Location, o TextOptions) *tableWriter {
	o = o.in(o.Language)
	w := &tableWriter{terminal: terminal{b: b, TextOptions: o, prose: max(20, o.Width)}, zone: zone}
	for i, c := range streamColumns {
		w.show = append(w.show, i)
		width := c.screen
		if o.Width <= 0 { // one line a request, for grep, and nothing left out
			width = c.piped
			c.Fit = Fixed
		}
		c.Title = o.Language.Word(c.Title)
		w.columns = append(w.columns, c.Column)
		w.widths = append(w.widths, width)
	}
	if o.Width <= 0 {
		// Sources are as long as they are: behind the rest nothing is out of line.
		w.show = append(slices.DeleteFunc(w.show, func(i int) bool { return i == sourceColumn }), sourceColumn)
	} else {
		w.show, w.tooWide = fit(w.columns, w.show, w.widths, w.widths, o.Width)
		// What is left goes to the source, so that it can be copied.
		left := o.Width - gap*(len(w.show)-1)
		for _, i := range w.show {
			left -= w.widths[i]
		}
		w.widths[sourceColumn] = min(maxName, w.widths[sourceColumn]+max(0, left))
	}
	return w
}

func (w *tableWriter) Write(q *analyze.Request) error {
	if err := w.header(); err != nil {
		return err
	}
	b := builder{Language: w.Language, zone: w.zone}
	row := b.requestRow(q)
	if w.tooWide {
		columns := slices.Clone(w.columns)
		columns[0], columns[1] = columns[1], columns[0]
		w.record(columns, row)
		return w.failed()
	}
	row[0], row[1] = row[1], row[0] // the time first: rows come in its order
	cells := make([]string, len(row))
	for i, c := range row {
		cells[i] = w.clean(c.Text)
	}
	w.row(w.columns, w.show, w.widths, cells, func(i int) string { return toneANSI[row[i].Tone] })
	return w.failed()
}

// failed returns the error that the writer below keeps.
func (w *tableWriter) failed() error {
	_, err := w.b.Write(nil)
	return err
}

func (w *tableWriter) Close() error {
	if err := w.header(); err != nil {
		return err
	}
	if !w.tooWide {
		w.tooNarrow(w.columns, w.show)
	}
	return w.b.Flush()
}

func (w *tableWriter) header() error {
	if w.head {
		return nil
	}
	if w.head = true; w.tooWide {
		return nil
	}
	var titles []string
	for _, c := range w.columns {
		titles = append(titles, c.Title)
	}
	w.row(w.columns, w.show, w.widths, titles, func(int) string { return ansiDim })
	return w.failed()
}
