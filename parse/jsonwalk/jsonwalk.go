// Package jsonwalk steps through the members of a JSON object in place: no
// copy, no garbage, no recursion, and a value that is not looked at costs only
// the search for its end. Log lines of 30 MB are one object whose interesting
// members are a few bytes, and lines can be cut short anywhere, so a walk also
// works on the beginning of an object.
package jsonwalk

import (
	"bytes"
	"errors"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Errors of a walk.
var (
	ErrCut    = errors.New("json: the object is cut short")
	ErrSyntax = errors.New("json: not an object")
)

// An Object is a walk over the members of one JSON object.
//
//	o := jsonwalk.Members(line)
//	for o.Next() {
//		switch string(o.Key) {
//		case "type": ...o.Value...
//		}
//	}
//	if o.Err() != nil { ... }
type Object struct {
	Key   []byte // without quotes, unescaped
	Value []byte // as it stands, strings with their quotes

	rest    []byte
	err     error
	started bool
	done    bool
}

// Members starts a walk over the object that b holds, blanks around it allowed.
func Members(b []byte) Object { return Object{rest: b} }

// Next steps to the next member. It returns false at the end and on an error.
//
// Where the input ends inside a value, Next returns false, Err ErrCut, and Key
// and Value hold that member as far as it goes: the value can be walked in turn.
func (o *Object) Next() bool {
	o.Key, o.Value = nil, nil
	if o.done {
		return false
	}
	b := skipSpace(o.rest)
	if !o.started {
		if len(b) == 0 {
			return o.stop(ErrCut)
		}
		if b[0] != '{' {
			return o.stop(ErrSyntax)
		}
		o.started = true
		b = skipSpace(b[1:])
		if len(b) > 0 && b[0] == '}' {
			return o.end(b[1:])
		}
	} else {
		if len(b) == 0 {
			return o.stop(ErrCut)
		}
		switch b[0] {
		case ',':
			b = skipSpace(b[1:])
		case '}':
			return o.end(b[1:])
		default:
			return o.stop(ErrSyntax)
		}
	}
	n, err := valueEnd(b)
	if err != nil {
		return o.stop(err)
	}
	if b[0] != '"' {
		return o.stop(ErrSyntax)
	}
	key := b[1 : n-1]
	if bytes.IndexByte(key, '\\') >= 0 {
		key, _ = String(b[:n])
	}
	b = skipSpace(b[n:])
	if len(b) == 0 {
		return o.stop(ErrCut)
	}
	if b[0] != ':' {
		return o.stop(ErrSyntax)
	}
	b = skipSpace(b[1:])
	n, err = valueEnd(b)
	if err != nil {
		o.stop(err)
		if err == ErrCut {
			o.Key, o.Value = key, b
		}
		return false
	}
	o.Key, o.Value, o.rest = key, b[:n], b[n:]
	return true
}

// Err tells why the walk ended; nil at the object's proper end.
func (o *Object) Err() error { return o.err }

func (o *Object) stop(err error) bool {
	o.done, o.err = true, err
	return false
}

func (o *Object) end(rest []byte) bool {
	o.done = true
	if len(skipSpace(rest)) > 0 {
		o.err = ErrSyntax // something follows the object: two records glued together
	}
	return false
}

func skipSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\r' || b[0] == '\n') {
		b = b[1:]
	}
	return b
}

// valueEnd returns the length of the JSON value that b starts with. Objects
// and arrays are only matched by depth: what they hold is checked when walked.
func valueEnd(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, ErrCut
	}
	switch b[0] {
	case '"':
		return stringEnd(b)
	case '{', '[':
		depth := 0
		for i := 0; i < len(b); i++ {
			switch b[i] {
			case '"':
				n, err := stringEnd(b[i:])
				if err != nil {
					return 0, err
				}
				i += n - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1, nil
				}
			}
		}
		return 0, ErrCut
	}
	n := 0
	for n < len(b) && !isEnd(b[n]) {
		n++
	}
	if n == len(b) {
		return 0, ErrCut
	}
	if !isScalar(b[:n]) {
		return 0, ErrSyntax
	}
	return n, nil
}

func isEnd(c byte) bool {
	return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\t' || c == '\r' || c == '\n'
}

func isScalar(v []byte) bool {
	switch string(v) {
	case "true", "false", "null":
		return true
	}
	if len(v) == 0 || v[0] != '-' && (v[0] < '0' || v[0] > '9') {
		return false
	}
	for _, c := range v {
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			return false
		}
	}
	return true
}

// stringEnd returns the length of the string that b starts with, quotes
// included. A quote ends it unless an odd number of backslashes precedes it.
func stringEnd(b []byte) (int, error) {
	i := 1
	for {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return 0, ErrCut
		}
		i += n
		k := i
		for b[k-1] == '\\' { // stops at the opening quote at the latest
			k--
		}
		i++
		if (i-1-k)%2 == 0 {
			return i, nil
		}
	}
}

// String returns the text of a string value, unescaped; ok is false where v is
// no string. The result is a part of v unless v holds escapes.
func String(v []byte) (s []byte, ok bool) {
	if len(v) < 2 || v[0] != '"' || v[len(v)-1] != '"' {
		return nil, false
	}
	s = v[1 : len(v)-1]
	if bytes.IndexByte(s, '\\') < 0 {
		return s, true
	}
	return unescape(s), true
}

func unescape(s []byte) []byte {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		switch s[i] {
		case 'n':
			out = append(out, '\n')
		case 't':
			out = append(out, '\t')
		case 'r':
			out = append(out, '\r')
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'u':
			r := hex4(s[i+1:])
			if r < 0 {
				out = utf8.AppendRune(out, utf8.RuneError)
				continue
			}
			i += 4
			if utf16.IsSurrogate(r) {
				low := rune(-1)
				if i+2 < len(s) && s[i+1] == '\\' && s[i+2] == 'u' {
					low = hex4(s[i+3:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			out = utf8.AppendRune(out, r)
		default: // \" \\ \/ and, leniently, anything else
			out = append(out, s[i])
		}
	}
	return out
}

func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	n, err := strconv.ParseUint(string(b[:4]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// Int returns the whole number that v holds, as a number or as a string (some
// writers quote numbers); ok is false where it is none or does not fit.
func Int(v []byte) (n int64, ok bool) {
	if s, isString := String(v); isString {
		v = s
	}
	digits := v
	if len(digits) > 0 && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) > 0 && len(digits) <= 18 {
		for _, c := range digits {
			if c < '0' || c > '9' {
				return wholeFloat(v)
			}
			n = n*10 + int64(c-'0')
		}
		if len(digits) < len(v) {
			n = -n
		}
		return n, true
	}
	return wholeFloat(v)
}

// wholeFloat reads 12.0 and 1e3 as whole numbers.
func wholeFloat(v []byte) (int64, bool) {
	f, ok := Float(v)
	if !ok || f != math.Trunc(f) || math.Abs(f) >= 1<<62 {
		return 0, false
	}
	return int64(f), true
}

// Float returns the finite number that v holds, as a number or as a string.
func Float(v []byte) (float64, bool) {
	if s, isString := String(v); isString {
		v = s
	}
	if len(v) == 0 || len(v) > 64 || v[0] != '-' && (v[0] < '0' || v[0] > '9') {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return 0, false
	}
	return f, true
}

// IsObject reports whether v is an object, as far as its first byte tells.
func IsObject(v []byte) bool { return len(v) > 0 && v[0] == '{' }

// IsNull reports whether v is null.
func IsNull(v []byte) bool { return string(v) == "null" }

// Get returns the value of a member of the object v, nil where there is none.
// It walks from the start: for several members use Members.
func Get(v []byte, key string) []byte {
	o := Members(v)
	for o.Next() {
		if string(o.Key) == key {
			return o.Value
		}
	}
	return nil
}
