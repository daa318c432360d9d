// Package lang says the sentences and words of a report in the reader's
// language. English ones are in the code, where they are used, and are the keys
// of the catalogues.
//
// Figures, units, names, flags and abbreviations such as TTFT are the same in
// all languages.
package lang

import (
	"fmt"

	"codexlag/analyze/human"
)

// A Language is one that reports can be written in. The zero value is English.
type Language string

// The languages that there are, by their ISO 639 codes.
const (
	English Language = "en"
	Chinese Language = "zh" // Simplified
)

// Text says a text that is whole: a heading, a label, a sentence without
// figures. The text must be a constant: a test looks each up in the catalogue.
func (l Language) Text(s string) string {
	if l == Chinese {
		if t, ok := chinese[s]; ok {
			return t
		}
	}
	return s
}

// Sprintf is fmt.Sprintf in the language; like that of Text, the format must be
// a constant. The order of the figures may differ between languages.
func (l Language) Sprintf(format string, args ...any) string {
	if l == Chinese {
		return fmt.Sprintf(l.Text(format), args...)
	}
	return fmt.Sprintf(format, args...)
}

// Word says a text that is known only when the program runs: a value such as
// "measured", or one of a table that Mark names. What has no translation, as
// names from a log have none, stays as it is.
func (l Language) Word(s string) string { return l.Text(s) }

// Mark returns s. It names a text that Word will say later, so that the test
// looks for it in the catalogue.
func Mark(s string) string { return s }

// Plural says a number with its noun: 1 request, 2 requests.
func Plural[T ~int | ~int64](l Language, n T, noun string) string {
	if l == Chinese {
		if format, ok := chineseNouns[noun]; ok {
			return fmt.Sprintf(format, human.Count(n))
		}
	}
	return human.Plural(n, noun)
}
