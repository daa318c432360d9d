package report

import (
	"bufio"
	"io"
	"slices"
	"strings"

	"codexlag/analyze/human"
	"codexlag/analyze/lang"
)

// TextOptions say what a terminal can show.
type TextOptions struct {
	Width   int  // columns; 0: tables as wide as they need, prose at 100
	Color   bool // ANSI colours
	Unicode bool // otherwise ASCII only, where the language has a form in it
	// Language of what has no document: a [RequestWriter], live lines.
	Language lang.Language
}

// in returns the options for a language: Chinese has no form in ASCII.
func (o TextOptions) in(l lang.Language) TextOptions {
	o.Language = l
	o.Unicode = o.Unicode || l == lang.Chinese
	return o
}

// Text writes the document for a terminal.
func Text(w io.Writer, d *Document, o TextOptions) error {
	t := &terminal{b: bufio.NewWriter(w), TextOptions: o.in(d.Language), prose: o.Width}
	if o.Width <= 0 {
		t.Width, t.prose = 1<<30, 100
	}
	t.prose = max(20, min(t.prose, 100)) // longer lines are hard to read
	t.bold(t.clean(d.Title))
	blocks := readable(d.Blocks)
	for i, block := range blocks {
		if !joined(blocks, i) {
			t.line("")
		}
		t.block(block)
	}
	return t.b.Flush()
}

// joined reports whether a block follows the one before without an empty line:
// what is below a heading, and small print.
func joined(blocks []Block, i int) bool {
	if _, note := blocks[i].(Note); note || i == 0 {
		return note
	}
	above, heading := blocks[i-1].(Heading)
	_, again := blocks[i].(Heading)
	return heading && !(again && above.Level > 2)
}

type terminal struct {
	TextOptions
	b     *bufio.Writer
	prose int // columns of running text
}

// ANSI sequences; the only control characters that Text ever writes beside newlines.
const (
	ansiReset = "\x1b[0m"
	ansiBold  = "\x1b[1m"
	ansiDim   = "\x1b[2m"
)

var toneANSI = map[Tone]string{
	Info: "\x1b[36m", Warn: "\x1b[33m", Bad: "\x1b[31m",
	Prefill: "\x1b[35m", Decode: "\x1b[34m", Other: "\x1b[36m",
}

func (t *terminal) block(block Block) {
	switch x := block.(type) {
	case Heading:
		t.heading(x)
	case Paragraph:
		t.wrap(x.Text, "", "")
	case Note:
		t.wrap(text(noteText(x)), "", strings.Repeat(" ", indent(x.Mark)))
	case List:
		for _, item := range x.Items {
			t.wrap(item.Text, "- ", "  ")
			for _, more := range item.More {
				t.wrap(more, "  ", "  ")
			}
		}
	case Table:
		t.table(x)
	case Bars:
		t.bars(x)
	}
}

func indent(mark string) int {
	if mark == "" {
		return 0
	}
	return width(mark) + 1
}

// heading underlines a section, so that it stands out without colour.
func (t *terminal) heading(h Heading) {
	s := t.clean(h.Text)
	if h.Level > 2 {
		t.bold(s + t.Language.Text(":"))
		return
	}
	rule := "─"
	if !t.Unicode {
		rule = "-"
	}
	t.bold(s)
	t.line(strings.Repeat(rule, min(width(s), t.Width)))
}

// bold writes a title, over several lines where one is too narrow.
func (t *terminal) bold(s string) {
	if width(s) > t.Width {
		t.wrap(Inline{{Text: s, Style: Strong}}, "", "")
		return
	}
	t.line(t.paint(s, ansiBold))
}

func (t *terminal) bars(x Bars) {
	lines := barLines(x.Rows, 40, t.Unicode)
	if len(lines) > 0 {
		l := lines[0]
		if over := width(l.label+l.bar+l.rest) - t.Width; over > 0 {
			lines = barLines(x.Rows, max(1, 40-over), t.Unicode)
		}
	}
	for _, l := range lines {
		t.line(t.clean(l.label) + t.paint(l.bar, toneANSI[l.tone]) + t.clean(l.rest))
	}
}

// wrap writes running text, the first line after first, the others after rest.
func (t *terminal) wrap(in Inline, first, rest string) {
	type piece struct {
		chunk
		style string
		whole int // columns of it and of what must not be parted from it
	}
	var pieces []piece
	space := false // before the next word
	for _, s := range in {
		style := toneANSI[s.Tone]
		if s.Style == Strong {
			style = ansiBold + style
		}
		for _, c := range chunks(t.clean(s.Text)) {
			c.space = c.space || space
			if space = c.text == "" && c.space; c.text != "" {
				pieces = append(pieces, piece{c, style, width(c.text)})
			}
		}
	}
	for i := len(pieces) - 2; i >= 0; i-- {
		if next := &pieces[i+1]; !next.space && !next.breaks {
			pieces[i].whole += next.whole
		}
	}
	line, used, prefix := first, width(first), width(first)
	for _, c := range pieces {
		n := c.whole
		if c.space {
			n++
		}
		switch {
		case used == prefix || !c.space && !c.breaks:
		case used+n > t.prose:
			t.line(strings.TrimRight(line, " "))
			line, used, prefix = rest, width(rest), width(rest)
		case c.space:
			line, used = line+" ", used+1
		}
		line, used = line+t.paint(c.text, c.style), used+width(c.text)
	}
	t.line(strings.TrimRight(line, " "))
}

func (t *terminal) line(s string) {
	t.b.WriteString(strings.TrimRight(s, " "))
	t.b.WriteByte('\n')
}

// paint colours s, which is clean already.
func (t *terminal) paint(s, style string) string {
	if !t.Color || style == "" || s == "" {
		return s
	}
	return style + s + ansiReset
}

// clean makes any text harmless for a terminal.
func (t *terminal) clean(s string) string { return terminalText(s, t.Unicode) }

func terminalText(s string, unicode bool) string {
	s = visible(s)
	if unicode || !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 }) {
		return s
	}
	s = asciiForms.Replace(s)
	return strings.Map(func(r rune) rune {
		if r >= 0x80 {
			return '?'
		}
		return r
	}, s)
}

// asciiForms are the signs that the report itself uses.
var asciiForms = strings.NewReplacer("—", "-", "–", "-", "−", "-", "…", "...", "≤", "<=", "≥", ">=",
	"±", "+-", "Δ", "delta", "→", "->", "·", "|", "⌈", "ceil(", "⌉", ")", "≈", "~", "×", "x")

// table writes columns two spaces apart. What does not fit gives way in this
// order: prose gets narrower, names get shorter, the least needed columns go.
// Where even that is too wide, each row is a record of its own.
func (t *terminal) table(x Table) {
	g := t.grid(x)
	if g.tooWide {
		t.records(x)
		return
	}
	t.rows(x, g)
	t.tooNarrow(x.Columns, g.show)
}

// A grid is a table's cells and the columns that there is room for.
type grid struct {
	cells   [][]string
	show    []int
	widths  []int
	tooWide bool // even so
}

func (t *terminal) grid(x Table) grid {
	g := grid{cells: make([][]string, len(x.Rows)), show: make([]int, len(x.Columns)), widths: make([]int, len(x.Columns))}
	for i, row := range x.Rows {
		for _, c := range row {
			g.cells[i] = append(g.cells[i], t.clean(tableText(c))+c.Mark)
		}
	}
	words := make([]int, len(x.Columns)) // the longest one, which stays whole
	for i, c := range x.Columns {
		g.show[i] = i
		title := t.clean(c.Title)
		g.widths[i], words[i] = width(title), width(title)
		for _, row := range g.cells {
			g.widths[i] = max(g.widths[i], width(row[i]))
			for _, word := range chunks(row[i]) {
				words[i] = max(words[i], width(word.text))
			}
		}
	}
	g.show, g.tooWide = fit(x.Columns, g.show, g.widths, words, t.Width)
	return g
}

func (t *terminal) rows(x Table, g grid) {
	head := make([]string, len(x.Columns))
	for i, c := range x.Columns {
		head[i] = t.clean(c.Title)
	}
	t.row(x.Columns, g.show, g.widths, head, func(int) string { return ansiDim })
	for i, row := range g.cells {
		t.row(x.Columns, g.show, g.widths, row, func(col int) string { return toneANSI[x.Rows[i][col].Tone] })
	}
}

// records writes each row of a table below its name, with all columns.
func (t *terminal) records(x Table) {
	for _, row := range x.Rows {
		t.record(x.Columns, row)
	}
}

// record writes one row: its first cell, then "column: value" for the others
// that tell something, as many on a line as fit whole.
func (t *terminal) record(columns []Column, row []Cell) {
	const indent = "  "
	text := func(c Cell) string { return t.clean(tableText(c)) + c.Mark }
	head := text(row[0])
	if columns[0].Fit != Shorten { // a name speaks for itself
		head = columns[0].Title + t.Language.Text(": ") + head
	}
	t.wrap(Inline{{Text: head, Style: Strong}}, "", indent)
	var line Inline
	used := 0
	flush := func() {
		if used > 0 {
			t.wrap(line, indent, indent+indent)
		}
		line, used = nil, 0
	}
	for i, c := range row[1:] {
		value := text(c)
		if value == "" || value == t.clean(human.Undefined) && columns[i+1].Drop > 0 {
			continue
		}
		title := t.clean(columns[i+1].Title + t.Language.Text(": "))
		n := width(title + value)
		if used > 0 {
			if end := t.clean(t.Language.Text("; ")); len(indent)+used+width(end)+n+width(strings.TrimRight(end, " ")) <= t.prose {
				line, used = append(line, plain(end)), used+width(end)
			} else {
				line[len(line)-1].Text += strings.TrimRight(end, " ")
				flush()
			}
		}
		line, used = append(line, plain(title), Span{Text: value, Tone: c.Tone}), used+n
	}
	flush()
}

// tooNarrow names the columns that found no room.
func (t *terminal) tooNarrow(columns []Column, show []int) {
	var hidden []string
	for i, c := range columns {
		if !slices.Contains(show, i) {
			hidden = append(hidden, t.clean(c.Title))
		}
	}
	if len(hidden) > 0 {
		t.wrap(text(t.Language.Sprintf("(too narrow for: %s)", strings.Join(hidden, t.Language.Text(", ")))), "", "")
	}
}

const gap = 2

// How narrow a column may get: a name so that it still tells its row from the
// others, prose at ease while there are columns to drop, and then less. A word
// of it stays whole.
const (
	leastName  = 20
	easyProse  = 24
	leastProse = 12
)

// fit narrows columns in place and returns those to show, in order, and whether
// they are too wide all the same. words are how wide the longest word of each is.
func fit(columns []Column, show, widths, words []int, limit int) (shown []int, tooWide bool) {
	natural := slices.Clone(widths)
	for narrow(columns, show, widths, words, limit, easyProse) > 0 {
		least := -1
		for at, i := range show {
			if columns[i].Drop > 0 && (least < 0 || columns[i].Drop > columns[show[least]].Drop) {
				least = at
			}
		}
		if least < 0 {
			return show, narrow(columns, show, widths, words, limit, leastProse) > 0
		}
		show = slices.Delete(show, least, least+1)
		copy(widths, natural) // what went makes room for those that stay
	}
	return show, false
}

// narrow takes from prose and then from names what is over the limit, and
// returns what is still over it.
func narrow(columns []Column, show, widths, words []int, limit, prose int) int {
	over := gap*(len(show)-1) - limit
	for _, i := range show {
		over += widths[i]
	}
	for _, kind := range []Fit{Wrap, Shorten} {
		for _, i := range show {
			if over <= 0 || columns[i].Fit != kind {
				continue
			}
			least := leastName
			if kind == Wrap {
				least = max(prose, words[i])
			}
			cut := max(0, min(over, widths[i]-least))
			widths[i], over = widths[i]-cut, over-cut
		}
	}
	return over
}

// row writes one row, over as many lines as its prose needs.
func (t *terminal) row(columns []Column, show, widths []int, cells []string, style func(col int) string) {
	lines := make([][]string, len(columns))
	height := 1
	for _, i := range show {
		switch columns[i].Fit {
		case Wrap:
			lines[i] = wrapWords(cells[i], widths[i])
		case Shorten:
			lines[i] = []string{t.clean(shorten(cells[i], widths[i]))}
			if !t.Unicode && width(lines[i][0]) > widths[i] { // "…" became "..."
				lines[i][0] = t.clean(shorten(cells[i], widths[i]-2))
			}
		default:
			lines[i] = []string{cells[i]}
		}
		height = max(height, len(lines[i]))
	}
	for n := range height {
		var b strings.Builder
		for at, i := range show {
			if at > 0 {
				b.WriteString(strings.Repeat(" ", gap))
			}
			s := ""
			if n < len(lines[i]) {
				s = lines[i][n]
			}
			fill := strings.Repeat(" ", max(0, widths[i]-width(s)))
			if columns[i].Right {
				b.WriteString(fill + t.paint(s, style(i)))
			} else {
				b.WriteString(t.paint(s, style(i)) + fill)
			}
		}
		t.line(b.String())
	}
}

// wrapWords breaks text at spaces and between Chinese characters; a word that
// is too long keeps its line.
func wrapWords(s string, limit int) []string {
	var lines []string
	line := ""
	for _, c := range chunks(strings.Join(strings.Fields(s), " ")) {
		space := ""
		if c.space {
			space = " "
		}
		if line != "" && (c.space || c.breaks) && width(line+space+c.text) > limit {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += space
		}
		line += c.text
	}
	return append(lines, line)
}
