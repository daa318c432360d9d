// Package intern keeps one copy of the few short strings that a log repeats on
// every line (model names, ids) and makes them safe to keep.
package intern

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxLen is the longest name that is kept, in bytes; ids have 36, model
	// names rarely 40. What is longer is no name and is cut.
	maxLen = 120
	// maxStrings bounds the memory when every line brings a new string.
	maxStrings = 1 << 14
)

// A Table interns strings. The zero value is ready to use.
type Table struct {
	known map[string]string
}

// Get returns b as a string: valid UTF-8, without control characters, at most
// maxLen bytes. Equal input gives the same string without a new allocation.
func (t *Table) Get(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if s, ok := t.known[string(b)]; ok {
		return s
	}
	s := Clean(b)
	if t.known == nil || len(t.known) >= maxStrings {
		t.known = make(map[string]string)
	}
	if len(b) <= maxLen {
		t.known[string(b)] = s
	}
	return s
}

// Clean returns b as a name that can be kept: see Table.Get.
func Clean(b []byte) string {
	if len(b) > maxLen {
		b = b[:maxLen]
		for len(b) > 0 && !utf8.RuneStart(b[len(b)-1]) {
			b = b[:len(b)-1]
		}
		if r, n := utf8.DecodeLastRune(b); r == utf8.RuneError && n == 1 {
			b = b[:len(b)-1]
		}
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(string(b), string(utf8.RuneError)))
}
