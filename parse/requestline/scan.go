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
	if i := IndexMark(text[:min(len(text), maxPrefix)]); i >= 0 {
		if bytes.IndexByte(text[:i], '{') >= 0 {
			return false
		}
		marked = true
		f.prefix(text[:i])
		rest = text[i+len(mark):]
	} else if len(text) > maxPrefix && IndexMark(text) >= 0 {
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
	for len(text) > 0 && (text[0] == '[' || text[0] == '(' || text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	if len(text) < len("2026-09-10T09:00:00") || text[0] < '0' || text[0] > '9' {
		return
	}
	text = text[:min(len(text), 48)]
	end := timeEnd(text, 0)
	if end == len("2026-09-10") && text[end] == ' ' { // date and time as two words
		end = timeEnd(text, end+1)
	}
	f.setTime(text[:end])
}

func timeEnd(text []byte, i int) int {
	for i < len(text) && text[i] != ' ' && text[i] != '\t' && text[i] != ']' && text[i] != ')' {
		i++
	}
	return i
}

// pairs takes key=value and key: value pairs of a line of text. Pairs are set
// apart by blanks, commas, semicolons or bars; values may be quoted.
// With namesOnly, numbers are left alone.
func (f *fields) pairs(text []byte, namesOnly bool) {
	for i := 0; i < len(text); {
		if class[text[i]]&keyByte == 0 {
			i++
			continue
		}
		start := i
		for i < len(text) && class[text[i]]&keyByte != 0 {
			i++
		}
		if i+1 < len(text) && text[i] == '=' && !namesOnly && (start == 0 || class[text[start-1]]&separator != 0) {
			if end := f.plainNumber(text, start, i); end > 0 { // nearly every pair
				i = end
				continue
			}
		}
		i = f.pair(text, start, i, namesOnly)
	}
}

// plainNumber takes the pair whose key ends at eq if its value is a whole
// number without quotes or unit, and returns where it ends; 0 if it is not.
func (f *fields) plainNumber(text []byte, start, eq int) (end int) {
	n, i := int64(0), eq+1
	for ; i < len(text) && text[i] >= '0' && text[i] <= '9'; i++ {
		n = n*10 + int64(text[i]-'0')
	}
	if i == eq+1 || i > eq+16 || i < len(text) && class[text[i]]&valueEnds == 0 || isThousands(text, i) {
		return 0
	}
	k := lookup(text[start:eq])
	if !k.isNumber() {
		return 0
	}
	f.setWhole(k, n)
	return i
}

// pair takes the pair whose key is text[start:i], if it is one, and returns
// where to go on.
func (f *fields) pair(text []byte, start, i int, namesOnly bool) int {
	key := text[start:i]
	// A key that goes on from something else ({"a, $x, path/x) is not ours.
	foreign := start > 0 && class[text[start-1]]&separator == 0
	j := skipBlanks(text, i)
	if j < len(text) && text[j] == '"' && start > 0 && text[start-1] == '"' {
		foreign, j = false, skipBlanks(text, j+1) // "key": value
	}
	if j >= len(text) || text[j] != '=' && text[j] != ':' {
		return i
	}
	colon := text[j] == ':'
	field := lookup(key)
	if j++; colon || j-1 > i { // "key: value" and "key = value", but "key=" has none
		j = skipBlanks(text, j)
	}
	ignore := foreign || namesOnly && field.isNumber()
	if j >= len(text) {
		f.set(field, nil, ignore)
		return j
	}
	if field == fieldNone && colon && !isQuote(text[j]) {
		return j // "gateway: model=x": what follows may be a pair of its own
	}
	end := valueEnd(text, j)
	if field != fieldNone {
		f.set(field, unquote(text[j:end]), ignore)
	}
	return end
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
	for i < len(text) && (class[text[i]]&valueEnds == 0 || isThousands(text, i)) {
		i++
	}
	return i
}

// isThousands reports whether the comma at i is part of a number (1,200): three
// digits follow it, and neither another digit nor the sign of a pair.
func isThousands(text []byte, i int) bool {
	if i == 0 || i >= len(text) || text[i] != ',' || !isDigit(text[i-1]) {
		return false
	}
	rest := text[i+1:]
	if len(rest) < 3 || !isDigit(rest[0]) || !isDigit(rest[1]) || !isDigit(rest[2]) {
		return false
	}
	return len(rest) == 3 || class[rest[3]]&keyByte == 0 && rest[3] != '=' && rest[3] != ':' || rest[3] == '.'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// unquote takes quotes, backticks and their escapes off both ends of a value.
func unquote(v []byte) []byte {
	for len(v) > 0 && class[v[0]]&quoting != 0 {
		v = v[1:]
	}
	for len(v) > 0 && class[v[len(v)-1]]&quoting != 0 {
		v = v[:len(v)-1]
	}
	return v
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// Classes of bytes in a line of text.
const (
	keyByte   = 1 << iota // can be part of a key
	separator             // a key may stand right after it
	valueEnds             // ends a value without quotes
	quoting               // around a value: quotes, their escapes, brackets
	textByte              // stands for itself in a JSON string
)

var class = func() (t [256]uint8) {
	for c := range t {
		b := byte(c)
		if b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b == '.' || b == '-' || b == '@' {
			t[c] |= keyByte
		}
		if b >= ' ' && b != '"' && b != '\\' {
			t[c] |= textByte
		}
	}
	for _, b := range []byte(" \t,|;[(`'\"*") {
		t[b] |= separator
	}
	for _, b := range []byte(" \t,|;") {
		t[b] |= valueEnds
	}
	for _, b := range []byte("\"'`\\)]*") {
		t[b] |= quoting
	}
	return t
}()

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
