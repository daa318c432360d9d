package telemetry

import (
	"bytes"
	"time"

	"codexlag/parse/intern"
	"codexlag/parse/record"
	"codexlag/parse/timestamp"
)

// A Kind is what an event tells.
type Kind uint8

// The kinds of events. The first group are Codex's telemetry events, the
// second one marks that Codex's own spans leave in a log without telemetry.
const (
	Other              Kind = iota // nothing that takes part in a reconstruction
	ConversationStarts             // codex.conversation_starts: provider, effort
	APIRequest                     // codex.api_request: the headers of an HTTP answer came, or an error
	WebsocketConnect               // codex.websocket_connect
	WebsocketRequest               // codex.websocket_request: the request is sent
	Stream                         // codex.sse_event, codex.websocket_event: one event of the answer's stream
	TurnTTFT                       // codex.turn_ttft: the first visible output of the turn
	ToolResult                     // codex.tool_result: a tool call is over
	UserPrompt                     // codex.user_prompt: the user's input arrived

	ModelSpanOpened // the span around one request on a websocket begins
	ModelSpanClosed // and ends
	TurnSpanOpened  // the span around a turn begins
	TurnSpanClosed  // and ends
	Usage           // the usage that came with the end of an answer
	Sampled         // Codex is done with one answer ("post sampling token usage")
)

func kindOf(name []byte) Kind {
	switch string(name) {
	case "codex.conversation_starts":
		return ConversationStarts
	case "codex.api_request":
		return APIRequest
	case "codex.websocket_connect":
		return WebsocketConnect
	case "codex.websocket_request":
		return WebsocketRequest
	case "codex.sse_event", "codex.websocket_event":
		return Stream
	case "codex.turn_ttft":
		return TurnTTFT
	case "codex.tool_result":
		return ToolResult
	case "codex.user_prompt":
		return UserPrompt
	}
	return Other
}

// A Part says which event of an answer's stream a Stream event tells of.
type Part uint8

// The parts of a stream that matter.
const (
	NoPart    Part = iota // not stated: the stream as a whole
	Between               // an event on the way
	FirstItem             // response.output_item.added
	Completed             // response.completed
	Broken                // an error, or an end that is none
)

// An Event is one event of a conversation, as far as it matters for times.
type Event struct {
	record.Pos
	Time time.Time // when it was emitted; zero where unknown
	Kind Kind
	Part Part

	Conversation, Turn, Model, Provider, Effort, Version, Tool string

	Call uint64 // hash of the id of a tool call

	Duration    time.Duration // means something only if HasDuration
	HasDuration bool
	TTFT        time.Duration // stream open until the first output item; means something only if HasTTFT
	HasTTFT     bool

	Input, Cached, Output, Reasoning record.Tokens

	HTTPStatus int // 0 where unknown
	Attempt    int
	Endpoint   Endpoint
	Failed     bool   // success="false", or an error message
	Error      string // kind of the error, see record.Error
}

// An Endpoint says what an HTTP request asked for.
type Endpoint uint8

// The endpoints of codex.api_request.
const (
	AnyEndpoint   Endpoint = iota // not stated (early builds)
	Responses                     // a request to a model
	OtherEndpoint                 // lists of models, compaction and the like: no stream follows
)

// Field takes one field of an event, the key and the value as text. The first
// of several fields of one name counts: what follows a free text may be part
// of it. Fields that say nothing about times are passed over; no e-mail
// address, account, prompt or output is ever kept.
func (e *Event) Field(n *intern.Table, key, value []byte) {
	switch string(key) {
	case "event.name":
		if e.Kind == Other {
			e.Kind = kindOf(value)
		}
	case "event.timestamp":
		if t, ok := timestamp.Parse(value); ok {
			e.Time = t
		}
	case "event.kind":
		e.part(value)
	case "conversation.id":
		name(&e.Conversation, n, value)
	case "turn_id", "turn.id":
		name(&e.Turn, n, value)
	case "model":
		name(&e.Model, n, value)
	case "app.version":
		name(&e.Version, n, value)
	case "provider_name":
		name(&e.Provider, n, value)
	case "model_reasoning_effort", "reasoning_effort":
		name(&e.Effort, n, unwrap(value))
	case "tool_name":
		name(&e.Tool, n, value)
	case "call_id":
		e.Call = hashBytes(hashSeed, value)
	case "duration_ms":
		millis(&e.Duration, &e.HasDuration, value)
	case "ttft_ms":
		millis(&e.TTFT, &e.HasTTFT, value)
	case "input_token_count":
		count(&e.Input, value)
	case "cached_token_count":
		count(&e.Cached, value)
	case "output_token_count":
		count(&e.Output, value)
	case "reasoning_token_count":
		count(&e.Reasoning, value)
	case "http.response.status_code":
		if v, ok := number(value); ok && v >= 100 && v <= 599 && e.HTTPStatus == 0 {
			e.HTTPStatus = int(v)
		}
	case "attempt":
		if v, ok := number(value); ok && v >= 0 && v < 1e6 {
			e.Attempt = int(v)
		}
	case "endpoint":
		e.Endpoint = endpointOf(value)
	case "success":
		e.Failed = e.Failed || string(value) == "false"
	case "error.message":
		e.Failed = true
		e.Error = classify(value)
	}
}

func (e *Event) part(kind []byte) {
	switch string(kind) {
	case "response.output_item.added":
		e.Part = FirstItem
	case "response.completed":
		e.Part = Completed
	case "response.failed", "response.incomplete", "error":
		e.Part = Broken
	default:
		if bytes.HasPrefix(kind, []byte("response.")) {
			e.Part = Between
		}
	}
}

// Matters reports whether the event takes part in the reconstruction; most
// stream events do not.
func (e *Event) Matters() bool {
	switch e.Kind {
	case Other:
		return false
	case Stream:
		return e.Part == FirstItem || e.broken() || e.Part == Completed && e.counts()
	}
	return true
}

// counts reports whether the event has token counts. Of the end of an answer
// Codex tells twice: as one more stream event, then with what it cost.
func (e *Event) counts() bool { return e.Input.Known || e.Output.Known }

// broken reports whether a stream event ends its request without an answer. An
// item that Codex cannot read is told as an error too, but the stream goes on.
func (e *Event) broken() bool {
	return e.Part == Broken || e.Failed && (e.Part == NoPart || e.Part == Completed)
}

func endpointOf(v []byte) Endpoint {
	v = bytes.TrimRight(v, "/")
	if bytes.HasSuffix(v, []byte("responses")) {
		return Responses
	}
	return OtherEndpoint
}

func name(s *string, n *intern.Table, v []byte) {
	if *s == "" {
		*s = n.Get(v)
	}
}

func count(t *record.Tokens, v []byte) {
	if t.Known {
		return
	}
	if x, ok := number(v); ok && x >= 0 && x < 1e12 {
		*t = record.Count(int64(x))
	}
}

func millis(d *time.Duration, has *bool, v []byte) {
	if *has {
		return
	}
	// 1e10 ms are 116 days: more is not the duration of anything here.
	if x, ok := number(v); ok && x >= 0 && x < 1e10 {
		*d, *has = time.Duration(x*float64(time.Millisecond)), true
	}
}

// unwrap takes the value out of Some(…), as Rust prints an optional value, and
// out of quotes.
func unwrap(v []byte) []byte {
	if bytes.HasPrefix(v, []byte("Some(")) && v[len(v)-1] == ')' {
		v = v[len("Some(") : len(v)-1]
	}
	if len(v) >= 2 && v[0] == '"' && v[len(v)-1] == '"' {
		v = v[1 : len(v)-1]
	}
	return v
}

// number reads digits with an optional fraction; a float holds every whole
// number that occurs here exactly.
func number(v []byte) (float64, bool) {
	v = unwrap(v)
	if len(v) == 0 || len(v) > 24 || v[0] == '.' {
		return 0, false
	}
	x, scale, dot := 0.0, 1.0, false
	for _, c := range v {
		switch {
		case c == '.' && !dot:
			dot = true
		case c < '0' || c > '9':
			return 0, false
		case dot:
			scale /= 10
			x += float64(c-'0') * scale
		default:
			x = x*10 + float64(c-'0')
		}
	}
	return x, true
}

// classify tells what an error message is about. The message itself may hold
// anything and is not kept.
func classify(message []byte) string {
	if len(message) > 512 {
		message = message[:512]
	}
	m := bytes.ToLower(message)
	has := func(words ...string) bool {
		for _, w := range words {
			if bytes.Contains(m, []byte(w)) {
				return true
			}
		}
		return false
	}
	switch {
	case has("timeout", "timed out", "deadline"):
		return record.ErrTimeout
	case has("disconnect", "stream closed", "closed before", "connection closed", "connection reset", "broken pipe", "unexpected eof", "websocket closed"):
		return record.ErrDisconnected
	}
	return record.ErrOther
}
