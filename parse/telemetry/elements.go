package telemetry

import (
	"bytes"

	"codexlag/parse/jsonwalk"
)

// Elements calls f with each element of the JSON array v, in place. It reports
// whether the array was complete; of one that is cut short the last element may
// be incomplete.
func Elements(v []byte, f func(element []byte)) bool {
	v = bytes.TrimLeft(v, " \t\r\n")
	if len(v) == 0 || v[0] != '[' {
		return false
	}
	for v = v[1:]; ; {
		v = bytes.TrimLeft(v, " \t\r\n,")
		if len(v) == 0 {
			return false
		}
		if v[0] == ']' {
			return true
		}
		n := ValueLen(v)
		if n == 0 {
			return false
		}
		f(v[:n])
		v = v[n:]
	}
}

// ValueLen returns the length of the JSON value that b starts with, or that of
// b where the value is cut short.
func ValueLen(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			if i += stringLen(b[i:]) - 1; depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return len(b)
}

func stringLen(b []byte) int {
	for i := 1; i < len(b); {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			break
		}
		i += n + 1
		k := i - 2
		for b[k] == '\\' { // stops at the opening quote at the latest
			k--
		}
		if (i-2-k)%2 == 0 {
			return i
		}
	}
	return len(b)
}

// Text returns the text of a JSON string, or a number or a boolean as it
// stands.
func Text(v []byte) []byte {
	if s, ok := jsonwalk.String(v); ok {
		return s
	}
	if jsonwalk.IsNull(v) {
		return nil
	}
	return v
}
