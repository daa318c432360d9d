package report

import (
	"strings"
	"unicode/utf8"
)

// A chunk is a piece of text that no line breaks: a word, or a character of a
// script without spaces.
type chunk struct {
	text   string
	space  bool // before it
	breaks bool // a line may end before it although there is no space
}

// Signs that must not begin a line, and that must not end one.
const (
	closing = "，。、；：？！）》」』】”’…—%"
	opening = "（《「『【“‘"
)

// chunks splits text where its lines may be broken. Text without wide
// characters is split at its spaces alone.
func chunks(s string) []chunk {
	var l []chunk
	for i, word := range strings.Split(s, " ") {
		space := i > 0
		from := 0
		first, _ := utf8.DecodeRuneInString(word)
		var last rune // before at
		for at, r := range word {
			if at > 0 && mayBreak(last, r) {
				l = append(l, chunk{word[from:at], space, from > 0 || ideograph(first)})
				from, space = at, false
			}
			last = r
		}
		l = append(l, chunk{word[from:], space, from > 0 || ideograph(first)})
	}
	return l
}

// mayBreak reports whether a line may end between two characters of a word.
func mayBreak(a, b rune) bool {
	return (ideograph(a) || ideograph(b)) && !strings.ContainsRune(closing, b) && !strings.ContainsRune(opening, a) ||
		strings.ContainsRune("，。、；：", a) && !strings.ContainsRune(closing, b)
}

// ideograph reports whether lines may break on both sides of a character.
func ideograph(r rune) bool { return r >= 0x3400 && r <= 0x9fff }
