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
	for i, word := range words(s) {
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

// words splits text at its spaces, except those between a number and its unit.
func words(s string) []string {
	var l []string
	for _, word := range strings.Split(s, " ") {
		if n := len(l); n > 0 && endsInDigit(l[n-1]) && units[strings.TrimRight(word, ".,;:)*|")] {
			l[n-1] += " " + word
			continue
		}
		l = append(l, word)
	}
	return l
}

var units = map[string]bool{"%": true, "ms": true, "s": true, "min": true, "h": true, "tok/s": true, "B": true, "kB": true, "MB": true, "GB": true, "TB": true}

func endsInDigit(s string) bool { return s != "" && s[len(s)-1] >= '0' && s[len(s)-1] <= '9' }

// mayBreak reports whether a line may end between two characters of a word.
func mayBreak(a, b rune) bool {
	return (ideograph(a) || ideograph(b)) && !strings.ContainsRune(closing, b) && !strings.ContainsRune(opening, a) ||
		strings.ContainsRune("，。、；：", a) && !strings.ContainsRune(closing, b)
}

// ideograph reports whether lines may break on both sides of a character.
func ideograph(r rune) bool { return r >= 0x3400 && r <= 0x9fff }
