package requestline

import (
	"bytes"

	"codexlag/parse/jsonwalk"
)

// line takes the fields of a line of text and reports whether it is marked.
//
// Where the line is marked, what stands before the mark is only a prefix: a
// timestamp and names; numbers count after the mark. A mark that stands behind
// an opening brace is a quotation (the arguments of a tool call), not a mark.
func (f *fields) line(text []byte) (marked bool) {
	rest := text
	if i := bytes.Index(text[:min(len(text), maxPrefix)], mark); i >= 0 {
		if bytes.IndexByte(text[:i], '{') >= 0 {
			return false
		}
		marked = true
		f.prefix(text[:i])
		rest = bytes.TrimLeft(text[i+len(mark):], ": \t")
	} else if bytes.Contains(text, mark) {
		return false // too far in: a quotation
	} else {
		f.leadingTime(text)
	}
	if i := bytes.IndexByte(rest, '{'); i >= 0 {
		return f.embedded(rest, i, marked)
	}
	f.pairs(rest, false)
	return marked
}

// embedded takes the fields of a line with an object in it. The object counts
// where it ends the line (text {"first_token_ms":…}); text around an object
// that does not is somebody else's record, unless the line is marked.
func (f *fields) embedded(text []byte, brace int, marked bool) bool {
	var o fields
	o.location = f.location
	if _, err := o.object(text[brace:]); err == nil {
		f.pairs(text[:brace], true)
		f.merge(&o)
		return marked
	}
	if marked {
		f.pairs(text[:brace], false)
	}
	return marked
}

// prefix takes the timestamp and the names that stand before the mark.
func (f *fields) prefix(text []byte) {
	f.leadingTime(text)
	f.pairs(text, true)
}

// leadingTime takes the timestamp at the start of a line, bare or in brackets.
func (f *fields) leadingTime(text []byte) {
	text = bytes.TrimLeft(text, "[( \t")
	if len(text) < len("2026-09-10T09:00:00") || text[0] < '0' || text[0] > '9' {
		return
	}
	end := bytes.IndexAny(text[:min(len(text), 48)], " \t])")
	if end == len("2026-09-10") && text[end] == ' ' { // date and time as two words
		if n := bytes.IndexAny(text[end+1:min(len(text), 48)], " \t])"); n >= 0 {
			end += 1 + n
		} else {
			end = -1
		}
	}
	if end < 0 {
		end = min(len(text), 48)
	}
	f.setTime(text[:end])
}

// pairs takes key=value and key: value pairs of a line of text. Pairs are set
// apart by blanks, commas, semicolons or bars; values may be quoted.
// With namesOnly, numbers are left alone.
func (f *fields) pairs(text []byte, namesOnly bool) {
	for i := 0; i < len(text); {
		if !isKeyByte(text[i]) {
			i++
			continue
		}
		start := i
		for i < len(text) && isKeyByte(text[i]) {
			i++
		}
		key := text[start:i]
		// A key that goes on from something else ({"a, $x, path/x) is not ours.
		foreign := start > 0 && !isSeparator(text[start-1])
		j := skipBlanks(text, i)
		if j < len(text) && text[j] == '"' && start > 0 && text[start-1] == '"' {
			foreign, j = false, skipBlanks(text, j+1) // "key": value
		}
		if j >= len(text) || text[j] != '=' && text[j] != ':' {
			continue
		}
		colon := text[j] == ':'
		field := lookup(key)
		if j++; colon || j-1 > i { // "key: value" and "key = value", but "key=" has none
			j = skipBlanks(text, j)
		}
		if j >= len(text) {
			f.set(field, nil, foreign || namesOnly && field.isNumber())
			return
		}
		if field == fieldNone && (colon || !isQuote(text[j])) {
			i = j // "gateway: model=x": what follows may be a pair of its own
			if !colon {
				i = valueEnd(text, j)
			}
			continue
		}
		end := valueEnd(text, j)
		f.set(field, unquote(text[j:end]), foreign || namesOnly && field.isNumber())
		i = end
	}
}

func skipBlanks(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
		i++
	}
	return i
}

// valueEnd returns where the value that starts at i ends.
func valueEnd(text []byte, i int) int {
	if isQuote(text[i]) {
		q := text[i]
		for j := i + 1; j < len(text); j++ {
			switch text[j] {
			case '\\':
				j++
			case q:
				return j + 1
			}
		}
		return len(text)
	}
	for i < len(text) && text[i] != ' ' && text[i] != '\t' && text[i] != ',' && text[i] != '|' && text[i] != ';' {
		i++
	}
	return i
}

// unquote takes quotes, backticks and their escapes off both ends of a value.
func unquote(v []byte) []byte { return bytes.Trim(v, "\"'`\\)]*") }

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

func isKeyByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-' || c == '@'
}

// isSeparator reports whether a key may stand right after c.
func isSeparator(c byte) bool {
	switch c {
	case ' ', '\t', ',', '|', ';', '[', '(', '`', '\'', '"', '*':
		return true
	}
	return false
}

// object takes the top-level members of a JSON object. It is marked where its
// message is a marked line of text.
func (f *fields) object(text []byte) (marked bool, err error) {
	o := jsonwalk.Members(text)
	for o.Next() {
		field := lookup(o.Key)
		if field == fieldMessage {
			if s, ok := jsonwalk.String(o.Value); ok && bytes.HasPrefix(s, mark) {
				marked = true
				f.pairs(s[len(mark):], false)
			}
			continue
		}
		if field == fieldNone {
			continue
		}
		v := o.Value
		if s, ok := jsonwalk.String(v); ok {
			v = bytes.TrimSpace(s)
		} else if jsonwalk.IsObject(v) || v[0] == '[' {
			continue
		}
		f.set(field, v, false)
	}
	return marked, o.Err()
}
