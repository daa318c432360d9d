package trace

import (
	"bytes"
	"time"

	"codexlag/parse/intern"
	"codexlag/parse/telemetry"
)

// Names of spans that mark a request, its usage and a turn.
const (
	modelSpan = "model_client.stream_responses_websocket"
	usageSpan = "handle_responses"
	turnSpan  = "session_task.turn"
)

// A state says how far the spans of a line could be read.
type state uint8

const (
	whole  state = iota // to their end
	cut                 // the line ends within them
	broken              // they are not well-formed
)

// spans is what the list of spans in front of a message tells:
//
//	session_loop{thread_id=…}:turn{otel.name="…" turn.id=… model=x}:run_turn: message
//
// Of several values the innermost counts. The slices are parts of the line.
type spans struct {
	state                       state
	thread, turn, model, effort []byte

	// The last span, which is what "new" and "close" are about.
	name     []byte
	otelName []byte
	warmup   bool
	usage    usage
}

// usage holds the token counts that the last span carries, as text.
type usage struct {
	input, cached, output, reasoning []byte
}

// parse reads the spans at the beginning of b. It returns the target behind
// them, nil where there is none, and the message.
func (s *spans) parse(b []byte) (target, body []byte) {
	*s = spans{}
	first := true
	for {
		n := nameLen(b)
		switch {
		case n == len(b):
			s.state = cut
			return nil, b
		case n == 0 || b[n] != '{' && b[n] != ':':
			if !first { // behind a colon without a blank there has to be a span
				s.state = broken
			}
			return nil, b
		}
		name := b[:n]
		b = b[n:]
		bare := b[0] == ':'
		if bare && first && len(b) > 1 && b[1] == ' ' && !isBareSpan(name) {
			return name, b[2:]
		}
		s.enter(name)
		if !bare {
			n := s.fields(b[1:])
			if n < 0 || 1+n == len(b) {
				s.state = cut
				return nil, b
			}
			b = b[1+n:]
		}
		if b[0] != ':' {
			s.state = broken
			return nil, b
		}
		if b = b[1:]; len(b) == 0 {
			s.state = cut
			return nil, b
		}
		if b[0] == ' ' {
			return splitTarget(b[1:])
		}
		first = false
	}
}

// isBareSpan reports whether the first word of a line is a span without fields,
// not the target or the beginning of a message (FunctionCall: …).
func isBareSpan(name []byte) bool {
	return name[0] >= 'a' && name[0] <= 'z' && !bytes.Contains(name, []byte("::")) && !isTelemetry(name)
}

// splitTarget takes the target off the beginning of what follows the spans.
func splitTarget(b []byte) (target, body []byte) {
	n := nameLen(b)
	if n > 0 && n+1 < len(b) && b[n] == ':' && b[n+1] == ' ' {
		return b[:n], b[n+2:]
	}
	return nil, b
}

// nameLen returns the length of the name that b begins with. Names of modules
// hold pairs of colons.
func nameLen(b []byte) int {
	n := 0
	for n < len(b) {
		if b[n] == ':' && n+1 < len(b) && b[n+1] == ':' {
			n += 2
			continue
		}
		if !isNameByte(b[n]) || b[n] == ':' {
			break
		}
		n++
	}
	return n
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-' || c == '/' || c == ':'
}

func (s *spans) enter(name []byte) {
	s.name, s.otelName, s.warmup, s.usage = name, nil, false, usage{}
}

// fields reads the fields of a span, from behind its brace. It returns the
// length up to and including the closing brace, -1 where there is none.
func (s *spans) fields(b []byte) int {
	i := 0
	for i < len(b) {
		switch b[i] {
		case '}':
			return i + 1
		case ' ':
			i++
			continue
		}
		start := i
		for i < len(b) && b[i] != '=' && b[i] != ' ' && b[i] != '}' {
			i++
		}
		if i == len(b) {
			return -1
		}
		if b[i] != '=' { // the rest of an unquoted value with a blank in it
			continue
		}
		key := b[start:i]
		i++
		n := valueLen(b[i:])
		if n < 0 {
			return -1
		}
		s.field(key, b[i:i+n])
		i += n
	}
	return -1
}

// valueLen returns the length of a span's value: up to a blank or the brace
// that closes the span. What is quoted or in brackets belongs together.
func valueLen(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			if i > 0 && isNameByte(b[i-1]) { // an apostrophe in plain text, as it were
				continue
			}
			n := quotedLen(b[i:])
			if n < 0 {
				return -1
			}
			i += n - 1
		case '{', '[', '(':
			depth++
		case '}', ']', ')':
			if depth == 0 {
				if b[i] == '}' {
					return i
				}
				continue
			}
			depth--
		case ' ':
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}

// quotedLen returns the length of the quoted text that b begins with, -1 where
// its end is missing.
func quotedLen(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

func (s *spans) field(key, v []byte) {
	if len(v) >= 2 && v[0] == '"' && v[len(v)-1] == '"' {
		v = v[1 : len(v)-1]
	}
	s.set(key, v)
}

// set takes one field of a span, its value without quotes.
func (s *spans) set(key, v []byte) {
	switch string(key) {
	case "thread_id", "thread.id", "conversation_id", "conversation.id":
		s.thread = v
	case "turn.id", "turn_id":
		s.turn = v
	case "model":
		s.model = v
	case "codex.turn.reasoning_effort":
		s.effort = v
	case "otel.name":
		s.otelName = v
	case "websocket.warmup":
		s.warmup = string(v) == "true"
	case "gen_ai.usage.input_tokens":
		s.usage.input = v
	case "gen_ai.usage.cache_read.input_tokens":
		s.usage.cached = v
	case "gen_ai.usage.output_tokens":
		s.usage.output = v
	case "codex.usage.reasoning_output_tokens":
		s.usage.reasoning = v
	}
}

// complete fills in what the event itself does not say from the spans around
// it.
func (s *spans) complete(e *telemetry.Event, n *intern.Table, thread []byte) {
	fill := func(field *string, v []byte) {
		if *field == "" {
			*field = n.Get(v)
		}
	}
	if s.thread == nil {
		s.thread = thread
	}
	fill(&e.Conversation, s.thread)
	fill(&e.Turn, s.turn)
	fill(&e.Model, s.model)
	fill(&e.Effort, s.effort)
}

// last makes e of a line that says that the last span opened or closed, if that
// span matters.
func (s *spans) last(e *telemetry.Event, body []byte) bool {
	isNew := string(body) == "new"
	times, isClose := bytes.CutPrefix(body, []byte("close time.busy="))
	if s.state != whole || !isNew && !isClose {
		return false
	}
	if isClose {
		e.Duration, e.HasDuration = busyAndIdle(times)
	}
	return s.mark(e, isNew)
}

// mark makes e of the fact that the last span opened (isNew) or closed.
func (s *spans) mark(e *telemetry.Event, isNew bool) bool {
	switch {
	case string(s.name) == modelSpan && !s.warmup:
		e.Kind = telemetry.ModelSpanClosed
		if isNew {
			e.Kind = telemetry.ModelSpanOpened
		}
	case string(s.name) == usageSpan && s.usage.output != nil && !isNew:
		e.Kind = telemetry.Usage
		e.Field(nil, []byte("input_token_count"), s.usage.input)
		e.Field(nil, []byte("cached_token_count"), s.usage.cached)
		e.Field(nil, []byte("output_token_count"), s.usage.output)
		e.Field(nil, []byte("reasoning_token_count"), s.usage.reasoning)
	case string(s.name) == turnSpan || string(s.name) == "turn" && string(s.otelName) == turnSpan:
		if s.turn == nil {
			return false
		}
		e.Kind = telemetry.TurnSpanClosed
		if isNew {
			e.Kind = telemetry.TurnSpanOpened
		}
	default:
		return false
	}
	return true
}

// busyAndIdle adds up the two times of a closing span: "1.23ms time.idle=4.5s".
func busyAndIdle(b []byte) (time.Duration, bool) {
	busy, idle, ok := bytes.Cut(b, []byte(" time.idle="))
	if !ok {
		return 0, false
	}
	if i := bytes.IndexByte(idle, ' '); i >= 0 {
		idle = idle[:i]
	}
	x, okX := spanTime(busy)
	y, okY := spanTime(idle)
	return x + y, okX && okY
}

// spanTime reads a duration as Rust prints it, three digits and a unit.
func spanTime(b []byte) (time.Duration, bool) {
	if len(b) > 24 {
		return 0, false
	}
	d, err := time.ParseDuration(string(b))
	return d, err == nil && d >= 0
}
