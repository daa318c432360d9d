package report

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// maxName is how wide a name from a log may be in a table: the path of a session
// file fits, so that it can be copied from a report.
const maxName = 160

// visible replaces what a page must not obey: control characters by their
// pictures (ESC is ␛, a newline ␊), and bidirectional overrides, zero-width
// and other format characters, line separators and bytes that are no UTF-8 by
// U+FFFD. Every format starts from it.
func visible(s string) string {
	if !strings.ContainsFunc(s, hidden) && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r < 0x20:
			b.WriteRune(0x2400 + r)
		case r == 0x7f:
			b.WriteRune(0x2421)
		case hidden(r):
			b.WriteRune(utf8.RuneError)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden reports whether a rune acts on the page instead of showing on it.
func hidden(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) ||
		unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// screen measures columns. It is fixed, not taken from the locale, so that the
// same figures make the same page everywhere.
var screen = &runewidth.Condition{StrictEmojiNeutral: true}

func width(s string) int { return screen.StringWidth(s) }

// shorten cuts the middle of a name that is wider than limit columns: the
// beginning says what it is, the end tells it from its neighbours.
func shorten(s string, limit int) string {
	if len(s) <= limit || width(s) <= limit {
		return s
	}
	left, right := max(0, limit-1)/2, max(0, limit-1)-max(0, limit-1)/2
	i := 0
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if left -= screen.RuneWidth(r); left < 0 {
			break
		}
		i += n
	}
	j := len(s)
	for j > i {
		r, n := utf8.DecodeLastRuneInString(s[:j])
		if right -= screen.RuneWidth(r); right < 0 {
			break
		}
		j -= n
	}
	return s[:i] + "…" + s[j:]
}

// tableText is the text of a cell as every format shows it.
func tableText(c Cell) string {
	s := visible(c.Text)
	if c.Style == Name {
		return shorten(s, maxName)
	}
	return s
}
