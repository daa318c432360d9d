package report

import (
	"bufio"
	"io"
	"slices"
	"strings"

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
	t.line(t.paint(t.clean(d.Title), ansiBold))
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
		t.line(t.paint(s+t.Language.Text(":"), ansiBold))
		return
	}
	rule := "─"
	if !t.Unicode {
		rule = "-"
	}
	t.line(t.paint(s, ansiBold))
	t.line(strings.Repeat(rule, width(s)))
}

func (t *terminal) bars(x Bars) {
	lines := barLines(x.Rows, 40, t.Unicode)
	if len(lines) > 0 {
		l := lines[0]
		if over := width(l.label+l.bar+l.rest) - t.Width; over > 0 {
			lines = barLines(x.Rows, max(5, 40-over), t.Unicode)
		}
	}
	for _, l := range lines {
		t.line(t.clean(l.label) + t.paint(l.bar, toneANSI[l.tone]) + t.clean(l.rest))
	}
}

// wrap writes running text, the first line after first, the others after rest.
func (t *terminal) wrap(in Inline, first, rest string) {
	line, used, prefix := first, width(first), width(first)
	space := false // before the next word
	for _, s := range in {
		style := toneANSI[s.Tone]
		if s.Style == Strong {
			style = ansiBold + style
		}
		for _, c := range chunks(t.clean(s.Text)) {
			space = space || c.space
			if c.text == "" {
				continue
			}
			n := width(c.text)
			if space {
				n++
			}
			switch {
			case used == prefix || !space && !c.breaks:
			case used+n > t.prose:
				t.line(strings.TrimRight(line, " "))
				line, used, prefix = rest, width(rest), width(rest)
			case space:
				line, used = line+" ", used+1
			}
			line, used, space = line+t.paint(c.text, style), used+width(c.text), false
		}
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
// order: names get shorter, prose gets narrower, the least needed columns go.
func (t *terminal) table(x Table) {
	cells := make([][]string, len(x.Rows))
	for i, row := range x.Rows {
		for _, c := range row {
			cells[i] = append(cells[i], t.clean(tableText(c))+c.Mark)
		}
	}
	show := make([]int, len(x.Columns))
	widths := make([]int, len(x.Columns))
	for i, c := range x.Columns {
		show[i] = i
		widths[i] = width(t.clean(c.Title))
		for _, row := range cells {
			widths[i] = max(widths[i], width(row[i]))
		}
	}
	show = fit(x.Columns, show, widths, t.Width)

	head := make([]string, len(x.Columns))
	for i, c := range x.Columns {
		head[i] = t.clean(c.Title)
	}
	t.row(x.Columns, show, widths, head, func(int) string { return ansiDim })
	for i, row := range cells {
		t.row(x.Columns, show, widths, row, func(col int) string { return toneANSI[x.Rows[i][col].Tone] })
	}
	t.tooNarrow(x.Columns, show)
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

// A squeeze is how narrow a column may get: first so that a name still tells
// something, and only when no column is left to drop, down to the last.
type squeeze map[Fit]int

var (
	gentle = squeeze{Shorten: 20, Wrap: 24}
	hard   = squeeze{Shorten: 10, Wrap: 10}
)

// fit narrows columns in place and returns those to show, in order.
func fit(columns []Column, show, widths []int, limit int) []int {
	natural := slices.Clone(widths)
	for narrow(columns, show, widths, limit, gentle) > 0 {
		least := -1
		for at, i := range show {
			if columns[i].Drop > 0 && (least < 0 || columns[i].Drop > columns[show[least]].Drop) {
				least = at
			}
		}
		if least < 0 {
			narrow(columns, show, widths, limit, hard)
			break
		}
		show = slices.Delete(show, least, least+1)
		copy(widths, natural) // what went makes room for those that stay
	}
	return show
}

// narrow takes from prose and then from names what is over the limit, and
// returns what is still over it.
func narrow(columns []Column, show, widths []int, limit int, floor squeeze) int {
	over := gap*(len(show)-1) - limit
	for _, i := range show {
		over += widths[i]
	}
	for _, kind := range []Fit{Wrap, Shorten} {
		for _, i := range show {
			if over > 0 && columns[i].Fit == kind {
				cut := max(0, min(over, widths[i]-floor[kind]))
				widths[i], over = widths[i]-cut, over-cut
			}
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
