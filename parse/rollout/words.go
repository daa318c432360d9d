package rollout

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// maxWord is how long an id or a name may be in a record, in bytes.
	maxWord = 80
	// maxWords is how many of them are kept to be used again.
	maxWords = 4096
)

// words makes strings of what a log says, each only once. The zero value works.
type words struct {
	known map[string]string
}

// take returns b as a name that is fit to be shown: at most 80 bytes of valid
// UTF-8 without control characters.
func (w *words) take(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if s, ok := w.known[string(b)]; ok {
		return s
	}
	s := clean(b)
	if len(b) > maxWord {
		return s
	}
	if w.known == nil || len(w.known) >= maxWords {
		w.known = make(map[string]string)
	}
	w.known[string(b)] = s
	return s
}

func clean(b []byte) string {
	b = b[:min(len(b), maxWord+utf8.UTFMax)]
	s := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(b), ""))
	for len(s) > maxWord {
		_, n := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-n]
	}
	return s
}

// uuidTime returns the time that a UUID of version 7 was made, to the
// millisecond; ok is false for other ids.
func uuidTime(id string) (t time.Time, ok bool) {
	if len(id) != 36 || id[8] != '-' || id[13] != '-' || id[18] != '-' || id[23] != '-' || id[14] != '7' {
		return time.Time{}, false
	}
	var ms int64
	for i := range 13 {
		c := id[i]
		switch {
		case i == 8:
			continue
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return time.Time{}, false
		}
		ms = ms<<4 | int64(c)
	}
	return time.UnixMilli(ms).UTC(), true
}
