// Package report turns figures into pages: Markdown, terminal text, HTML, JSON
// and CSV. It formats and computes nothing.
//
// All readable formats are made from one neutral [Document], so that they
// cannot disagree. A document may hold text that came from a log (names of
// models, files, sessions); it is kept as it is, and each renderer makes it
// harmless for its own format.
package report

import (
	"slices"

	"codexlag/analyze/human"
	"codexlag/analyze/lang"
)

// A Document is a report before it has a format.
type Document struct {
	Language lang.Language
	Title    string
	Blocks   []Block
}

// A Block is one part of a document: Heading, Paragraph, List, Table, Bars or
// Note; on pages also Tiles and Figures.
type Block interface{ block() }

// Heading opens a section (level 2) or a part of one (level 3).
type Heading struct {
	Level int
	Text  string
}

// Paragraph is running text.
type Paragraph struct{ Text Inline }

// List is a bulleted list.
type List struct{ Items []Item }

// An Item is a point of a list, with lines below it that belong to it.
type Item struct {
	Text Inline
	More []Inline

	// Anchor names the point on a page, "" for not at all; Chart leads to the
	// figure that shows what it is about, if there is one.
	Anchor string
	Chart  Link
}

// Table is a table whose rows have a cell for each column.
type Table struct {
	Columns []Column
	Rows    [][]Cell
}

// Bars is a set of labelled shares of one whole. Labels and values are the
// report's own words, never text from a log.
type Bars struct{ Rows []Bar }

// A Bar is one share.
type Bar struct {
	Label string
	Share float64 // 0..1
	Value string  // what the share stands for: 3.16 s
	Tone  Tone
}

// Note is small print; Mark is the sign in a table that it explains, if any.
type Note struct{ Mark, Text string }

func (Heading) block()   {}
func (Paragraph) block() {}
func (List) block()      {}
func (Table) block()     {}
func (Bars) block()      {}
func (Note) block()      {}

// Inline is a line of text in several styles.
type Inline []Span

// A Span is text in one style.
type Span struct {
	Text  string
	Style Style
	Tone  Tone
}

// A Style says what a span is, not how it looks.
type Style uint8

const (
	Plain  Style = iota
	Strong       // what must be seen
	Name         // a name from a log or of the program: model, file, flag
)

// A Tone is a colour's meaning. Nothing is told by tone alone.
type Tone uint8

const (
	NoTone Tone = iota
	Info
	Warn
	Bad
	Prefill
	Decode
	Other
)

// A Cell is one field of a table. Mark is the sign of a footnote behind it.
type Cell struct {
	Span
	Mark string
}

// A Column is the head of a table's column.
type Column struct {
	Title string
	Right bool // numbers are aligned to the right
	// Drop says how early the column goes where a terminal is too narrow:
	// the highest first, 0 never.
	Drop int
	Fit  Fit
}

// A Fit says how a column's cells give way where there is too little room.
type Fit uint8

const (
	Fixed   Fit = iota // not at all
	Shorten            // names: cut in the middle
	Wrap               // prose: over several lines
)

func text(s string) Inline   { return Inline{{Text: s}} }
func strong(s string) Span   { return Span{Text: s, Style: Strong} }
func plain(s string) Span    { return Span{Text: s} }
func name(s string) Span     { return Span{Text: s, Style: Name} }
func cell(s string) Cell     { return Cell{Span: plain(s)} }
func nameCell(s string) Cell { return Cell{Span: name(s)} }

// withoutEmpty leaves out the columns that may go and tell nothing in any row.
func withoutEmpty(t Table) Table {
	for i := len(t.Columns) - 1; i >= 0; i-- {
		told := slices.ContainsFunc(t.Rows, func(row []Cell) bool { return row[i].Text != "" && row[i].Text != human.Undefined })
		if told || t.Columns[i].Drop == 0 {
			continue
		}
		t = t.without(i)
	}
	return t
}

// without takes a column out of the table.
func (t Table) without(column int) Table {
	t.Columns = slices.Delete(t.Columns, column, column+1)
	for i, row := range t.Rows {
		t.Rows[i] = slices.Delete(row, column, column+1)
	}
	return t
}
