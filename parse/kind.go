package parse

import (
	"bytes"

	"codexlag/parse/jsonwalk"
	"codexlag/parse/requestline"
)

// A kind is what one line of a log is. Files are mixed (codex exec's output
// and its trace in one file), so the kind is decided for each line.
type kind uint8

const (
	kindNone kind = iota
	kindRequest
	kindRollout
	kindTrace
	kindOTLP
	kindExec
	kindBundle
	kindRecorder // CODEX_TUI_RECORD_SESSION: has no figures for us
	kindRows     // rows of logs_2.sqlite as sqlite3 -json prints them
	kinds
)

// Top-level members that tell JSON logs apart.
const (
	hasTimestamp = 1 << iota
	hasType
	hasPayload
	hasOrdinal
	hasLevel
	hasFields
	hasTarget
	hasSchema
	hasWallTime
	hasTS
	hasDir
	hasKind
	hasResource
	hasRecordType
	hasID
	hasInstructions
	hasMsg
	hasCallID
	hasRole
	hasLogBody
	hasTTFT
	hasTotal
	hasSession
	hasItems
	hasNanos
)

var members = map[string]uint32{
	"timestamp": hasTimestamp, "type": hasType, "payload": hasPayload, "ordinal": hasOrdinal,
	"level": hasLevel, "fields": hasFields, "target": hasTarget,
	"schema_version": hasSchema, "wall_time_unix_ms": hasWallTime,
	"ts": hasTS, "dir": hasDir, "kind": hasKind,
	"resourceLogs": hasResource, "resourceSpans": hasResource,
	"record_type": hasRecordType, "id": hasID, "instructions": hasInstructions, "git": hasInstructions,
	"msg": hasMsg, "call_id": hasCallID, "role": hasRole, "feedback_log_body": hasLogBody,
	"ts_nanos": hasNanos, "session": hasSession, "items": hasItems,
	"first_token_ms": hasTTFT, "ttft_ms": hasTTFT, "time_to_first_token_ms": hasTTFT, "ttft": hasTTFT,
	"total_ms": hasTotal, "duration_ms": hasTotal, "elapsed_ms": hasTotal, "latency_ms": hasTotal,
	"total_tokens": hasTotal, "output_tokens": hasTotal, "completion_tokens": hasTotal,
}

// jsonKind tells what log a line that starts with a brace belongs to. head may
// be only the beginning of the line.
func jsonKind(head []byte) kind {
	if k := usualKind(head); k != kindNone {
		return k
	}
	var have uint32
	var typ []byte
	o := jsonwalk.Members(head)
	note := func() {
		bit := members[string(o.Key)]
		have |= bit
		if bit == hasType {
			typ, _ = jsonwalk.String(o.Value)
		}
		if bit == hasMsg && !jsonwalk.IsObject(o.Value) {
			have &^= hasMsg
		}
	}
	for o.Next() {
		note()
	}
	if o.Key != nil { // the member in which head ends
		note()
	}
	all := func(bits uint32) bool { return have&bits == bits }
	switch {
	case all(hasTTFT | hasTotal):
		return kindRequest
	case all(hasPayload|hasType) && !all(hasWallTime), all(hasPayload | hasOrdinal), all(hasRecordType):
		return kindRollout
	case all(hasSchema | hasWallTime):
		return kindBundle
	case all(hasLevel | hasFields), all(hasLevel | hasTarget | hasTimestamp):
		return kindTrace
	case all(hasResource):
		return kindOTLP
	case all(hasTS | hasDir | hasKind):
		return kindRecorder
	case all(hasLogBody), all(hasNanos | hasTarget):
		return kindRows
	case isExecType(typ), all(hasID | hasMsg):
		return kindExec
	case all(hasTimestamp | hasType | hasCallID), all(hasSession | hasItems), all(hasID|hasTimestamp|hasInstructions) && !all(hasType), isBareItem(typ, have):
		return kindRollout
	case requestline.Match(head):
		return kindRequest // a message that holds a request line, maybe
	}
	return kindNone
}

// usualKind recognises the two most frequent lines by their first bytes, as
// Codex writes them; the order of members decides nothing else.
func usualKind(b []byte) kind {
	const stamp = `{"timestamp":"`
	if !bytes.HasPrefix(b, []byte(stamp)) || len(b) < 64 {
		return kindNone
	}
	i := bytes.IndexByte(b[len(stamp):64], '"')
	if i < 0 {
		return kindNone
	}
	rest := b[len(stamp)+i+1:]
	if bytes.HasPrefix(rest, []byte(`,"ordinal":`)) {
		return kindRollout
	}
	if bytes.HasPrefix(rest, []byte(`,"type":"`)) {
		rest = rest[len(`,"type":"`):]
		if j := bytes.IndexByte(rest[:min(len(rest), 64)], '"'); j >= 0 && bytes.HasPrefix(rest[j:], []byte(`","payload":{`)) {
			return kindRollout
		}
	}
	return kindNone
}

func isExecType(typ []byte) bool {
	for _, p := range []string{"thread.", "turn.", "item.", "session.created"} {
		if bytes.HasPrefix(typ, []byte(p)) {
			return true
		}
	}
	return string(typ) == "error"
}

// isBareItem recognises a response item as the oldest session files have it.
func isBareItem(typ []byte, have uint32) bool {
	switch string(typ) {
	case "message":
		return have&hasRole != 0
	case "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output", "local_shell_call", "local_shell_call_output":
		return have&hasCallID != 0
	case "reasoning":
		return true
	}
	return false
}

// isTracing reports whether a line of text starts as the Rust tracing library
// writes it: an RFC 3339 time, blanks, a level. Colours may stand before.
func isTracing(b []byte) bool {
	b = skipColour(b)
	if len(b) < 28 || b[4] != '-' || b[7] != '-' || b[10] != 'T' || b[13] != ':' {
		return false
	}
	end := bytes.IndexAny(b[:min(len(b), 48)], " \x1b")
	if end < 20 {
		return false
	}
	rest := bytes.TrimLeft(skipColour(bytes.TrimLeft(skipColour(b[end:]), " ")), " ")
	for _, level := range []string{"INFO", "WARN", "ERROR", "DEBUG", "TRACE"} {
		if bytes.HasPrefix(rest, []byte(level)) {
			return true
		}
	}
	return false
}

// skipColour drops ANSI colour sequences from the start of b.
func skipColour(b []byte) []byte {
	for len(b) > 2 && b[0] == '\x1b' && b[1] == '[' {
		i := bytes.IndexByte(b[:min(len(b), 24)], 'm')
		if i < 0 {
			return b
		}
		b = b[i+1:]
	}
	return b
}

// codexMarks are what lines of Codex's own trace hold: a target of one of its
// crates, the name of its outermost span, or, in early builds that print no
// target, its first words. A model's name (gpt-5.2-codex) is none.
var codexMarks = []struct {
	rare byte // of the text: most lines lack it, and looking for a byte is quick
	text []byte
}{
	{'_', []byte("codex_")}, {'_', []byte("session_loop")}, {'"', []byte(`event.name="codex.`)},
	{'C', []byte("FunctionCall: ")}, {'C', []byte("ToolCall: ")}, {'(', []byte("TokenCount(")},
}

// isCodexTrace tells a line of Codex's own trace from one of another Rust
// program, whose message may be a request line.
func isCodexTrace(b []byte) bool {
	b = b[:min(len(b), 4096)]
	for _, m := range codexMarks {
		if bytes.IndexByte(b, m.rare) >= 0 && bytes.Contains(b, m.text) {
			return true
		}
	}
	return false
}

// opensText reports whether a trace line holds free text (arguments, output, a
// prompt), so that lines without a timestamp after it go on with that text.
func opensText(b []byte) bool {
	names := []string{"ToolCall", "FunctionCall", " output=", " arguments=", "prompt="}
	if bytes.IndexByte(b, '\x1b') >= 0 { // colours stand between a name and its sign
		names = []string{"ToolCall", "FunctionCall", "output", "arguments", "prompt"}
	}
	for _, s := range names {
		if bytes.Contains(b, []byte(s)) {
			return true
		}
	}
	return false
}

// isNoise reports, quickly, whether a line of text without a [ is of no log at
// all. It may be wrong in one direction: recognise knows for sure.
func isNoise(b []byte) bool {
	switch c := b[0]; {
	case c == '{' || c == ' ' || c == '\t' || c == '\x1b':
		return false
	case c >= '0' && c <= '9' && (bytes.IndexByte(b, 'C') >= 0 || bytes.IndexByte(b, '"') >= 0):
		return false // see codexMarks
	}
	for i := 0; ; i++ {
		n := bytes.IndexByte(b[i:], '_')
		if n < 0 {
			return true
		}
		i += n
		for _, word := range [...]string{"ttft", "first", "codex", "session"} { // first_token, session_loop
			if i >= len(word) && string(b[i-len(word):i]) == word {
				return false
			}
		}
	}
}
