package report

import (
	"bufio"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"codexlag/analyze/human"
)

// Markdown writes the document as GitHub's Markdown.
func Markdown(w io.Writer, d *Document) error {
	b := bufio.NewWriter(w)
	b.WriteString("# " + markdownText(d.Title) + "\n")
	for _, block := range readable(d.Blocks) {
		b.WriteByte('\n')
		markdownBlock(b, block)
	}
	return b.Flush()
}

func markdownBlock(b *bufio.Writer, block Block) {
	switch x := block.(type) {
	case Heading:
		b.WriteString(strings.Repeat("#", x.Level) + " " + markdownText(x.Text) + "\n")
	case Paragraph:
		b.WriteString(markdownInline(x.Text) + "\n")
	case Note:
		b.WriteString(markdownText(noteText(x)) + "\n")
	case List:
		for _, item := range x.Items {
			b.WriteString("- " + markdownInline(item.Text) + "\n")
			for _, more := range item.More {
				b.WriteString("  " + markdownInline(more) + "\n")
			}
		}
	case Table:
		markdownTable(b, x)
	case Bars:
		b.WriteString("```text\n")
		for _, line := range barLines(x.Rows, 40, true) {
			b.WriteString(strings.TrimRight(line.label+line.bar+line.rest, " ") + "\n")
		}
		b.WriteString("```\n")
	}
}

func markdownTable(b *bufio.Writer, t Table) {
	for _, c := range t.Columns {
		b.WriteString("| " + markdownText(c.Title) + " ")
	}
	b.WriteString("|\n")
	for _, c := range t.Columns {
		if c.Right {
			b.WriteString("|--:")
		} else {
			b.WriteString("|:--")
		}
	}
	b.WriteString("|\n")
	for _, row := range t.Rows {
		for _, c := range row {
			b.WriteString("| " + markdownCell(c) + " ")
		}
		b.WriteString("|\n")
	}
}

func markdownCell(c Cell) string {
	s := markdownSpan(Span{Text: tableText(c), Style: c.Style})
	if strings.Count(s, `\~`) == 1 {
		s = strings.Replace(s, `\~`, "~", 1) // one tilde alone strikes nothing through
	}
	return s + c.Mark
}

func markdownInline(in Inline) string {
	var b strings.Builder
	for _, s := range in {
		b.WriteString(markdownSpan(s))
	}
	return strings.TrimSpace(b.String()) // four leading spaces would be code
}

func markdownSpan(s Span) string {
	switch s.Style {
	case Name:
		return markdownName(s.Text)
	case Strong:
		if t := strings.TrimSpace(markdownText(s.Text)); t != "" {
			return "**" + t + "**"
		}
		return ""
	}
	return markdownText(s.Text)
}

// markdownName writes a name as code, where nothing is a link, a mention, an
// emoji or emphasis. A name with a character that means something even there
// (or in a table around it) is escaped as text.
func markdownName(s string) string {
	s = strings.TrimSpace(visible(s))
	if s == "" || s == human.Undefined || strings.ContainsAny(s, "`|<>") {
		return markdownText(s)
	}
	return "`" + s + "`"
}

// zeroWidth shows nothing, but GitHub no longer sees a mention, an issue, an
// emoji or an address. It decodes other entities before it looks for those, so
// escaping alone does not help.
const zeroWidth = "&#8203;"

// markdownText escapes text so that it comes out as it is, and only that:
// no markup, no HTML, no link, no mention, no end of a table's cell.
func markdownText(s string) string {
	s = visible(s)
	var b strings.Builder
	for i, r := range s {
		next := s[i+utf8.RuneLen(r):]
		switch r {
		case '\\', '`', '*', '[', ']', '|', '~':
			b.WriteByte('\\')
			b.WriteRune(r)
		case '_':
			// Between letters an underline is no emphasis; names stay readable.
			if !wordBefore(s[:i]) || !wordAfter(next) {
				b.WriteByte('\\')
			}
			b.WriteByte('_')
		case '<':
			if next != "" && next[0] >= '0' && next[0] <= '9' { // <0.1 % is no tag
				b.WriteByte('<')
			} else {
				b.WriteString("&lt;")
			}
		case '>': // a quotation, at the start; a tag never gets its <
			if blank(s[:i]) {
				b.WriteString("&gt;")
			} else {
				b.WriteByte('>')
			}
		case '&':
			b.WriteString("&amp;")
		case '$':
			b.WriteString("&#36;" + zeroWidth) // mathematics
		case '@':
			b.WriteString("@" + zeroWidth)
		case '#':
			if blank(s[:i]) {
				b.WriteByte('\\')
			}
			b.WriteByte('#')
			if wordAfter(next) {
				b.WriteString(zeroWidth)
			}
		case ':':
			b.WriteByte(':')
			if strings.HasPrefix(next, "//") || emoji(next) {
				b.WriteString(zeroWidth)
			}
		case '.':
			switch {
			case len(s[:i]) >= 3 && strings.EqualFold(s[i-3:i], "www"):
				b.WriteString(zeroWidth)
			case leadingDigits(s[:i]) && strings.HasPrefix(next, " "):
				b.WriteByte('\\') // 1. would begin a list
			}
			b.WriteByte('.')
		case ')':
			if leadingDigits(s[:i]) {
				b.WriteByte('\\')
			}
			b.WriteByte(')')
		case '-', '=', '+':
			// A list, a rule or a heading; +1.20 s is none.
			if blank(s[:i]) && (r != '+' || blank(next[:min(1, len(next))])) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func wordBefore(s string) bool { r, _ := utf8.DecodeLastRuneInString(s); return word(r) }
func wordAfter(s string) bool  { r, _ := utf8.DecodeRuneInString(s); return word(r) }
func word(r rune) bool         { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

func blank(s string) bool { return strings.TrimLeft(s, " ") == "" }

// emoji reports whether what follows a colon makes it an emoji, as in :tada:
// or :100:; the minutes of 09:30:15 do not.
func emoji(s string) bool {
	name, _, closed := strings.Cut(s[:min(len(s), 100)], ":")
	if !closed || name == "" || len(name) <= 2 && strings.Trim(name, "0123456789") == "" {
		return false
	}
	return strings.IndexFunc(name, func(r rune) bool { return !word(r) && !strings.ContainsRune("_+-", r) }) < 0
}

// leadingDigits reports whether s is a number as a list may have it.
func leadingDigits(s string) bool {
	s = s[:min(len(s), 100)]
	s = strings.TrimLeft(s, " ")
	return s != "" && len(s) <= 9 && strings.Trim(s, "0123456789") == ""
}

// noteText is a note with the sign that it explains.
func noteText(n Note) string {
	if n.Mark == "" {
		return n.Text
	}
	return n.Mark + " " + n.Text
}
