package trace

import (
	"bytes"

	"codexlag/parse/intern"
	"codexlag/parse/telemetry"
)

// parseFields reads the key=value fields of an event from the front, and
// reports whether the event itself names its conversation.
//
// Values printed for display are not quoted and may hold anything, text that
// looks like fields included. So reading stops at free text, unless it is
// clear where that ends. open says that the line may not be finished: then a
// value at its very end is not believed. A second name of an event is where
// another line was written into this one.
func parseFields(e *telemetry.Event, names *intern.Table, b []byte, open bool) (named bool) {
	for {
		b = bytes.TrimLeft(b, " ")
		if len(b) == 0 {
			return named
		}
		n := 0
		for n < len(b) && isNameByte(b[n]) && b[n] != ':' {
			n++
		}
		if n == 0 || n == len(b) || b[n] != '=' { // a word of an unquoted value
			i := bytes.IndexByte(b, ' ')
			if i < 0 {
				return named
			}
			b = b[i:]
			continue
		}
		key := b[:n]
		b = b[n+1:]
		if string(key) == "event.name" && e.Kind != telemetry.Other {
			return named
		}
		if isFreeText(key) && (len(b) == 0 || b[0] != '"') {
			if string(key) == "error.message" {
				e.Field(names, key, b)
			}
			if b = behindFreeText(key, b); b == nil {
				return named
			}
			continue
		}
		value, rest, closed := splitValue(b)
		b = rest
		if !closed || open && len(b) == 0 {
			return named
		}
		named = named || string(key) == "conversation.id" && len(value) > 0
		e.Field(names, key, value)
	}
}

// splitValue takes one value off the beginning of b: a quoted one without its
// quotes, else up to the next blank. closed is false where the end quote is
// missing.
func splitValue(b []byte) (value, rest []byte, closed bool) {
	if len(b) > 0 && b[0] == '"' {
		n := quotedLen(b)
		if n < 0 {
			return nil, nil, false
		}
		return b[1 : n-1], b[n:], true
	}
	if i := bytes.IndexByte(b, ' '); i >= 0 {
		return b[:i], b[i:], true
	}
	return b, nil, true
}

func isFreeText(key []byte) bool {
	switch string(key) {
	case "arguments", "output", "prompt", "error.message":
		return true
	}
	return false
}

// behindFreeText returns what follows a free text that b begins with, nil where
// its end is not certain. JSON arguments end with their last bracket. An error
// message ends at the common fields, which begin with the event's time, if that
// appears once only.
func behindFreeText(key, b []byte) []byte {
	switch string(key) {
	case "arguments":
		if len(b) > 0 && (b[0] == '{' || b[0] == '[') {
			n := telemetry.ValueLen(b)
			if n < len(b) && b[n] == ' ' {
				return b[n:]
			}
		}
	case "prompt":
		if rest, ok := bytes.CutPrefix(b, []byte("[REDACTED] ")); ok {
			return rest
		}
	case "error.message":
		mark := []byte(" event.timestamp=")
		i := bytes.Index(b, mark)
		if i >= 0 && bytes.LastIndex(b, mark) == i {
			return b[i:]
		}
	}
	return nil
}
