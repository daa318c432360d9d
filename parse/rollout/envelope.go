package rollout

import "codexlag/parse/jsonwalk"

// An envelope is the outside of a line, as far as it was read. Members come in
// any order: copies made by other programs sort them by name.
type envelope struct {
	stamp   []byte // value of timestamp
	typ     []byte // text of type
	typed   bool   // there is a type, be it a string or not
	ordinal int64  // -1 where there is none
	payload []byte // may be cut short
	part    part   // of the payload or, where there is none, of the line itself
	line    []byte

	// What tells the oldest eras.
	id                    []byte
	session, items, state bool
}

// A part is what an item or an event tells of itself at its beginning.
type part struct {
	typ, role, name, call []byte
	whole                 bool // nothing is missing because of a cut
}

// readEnvelope reads the beginning of a line, or all of it. The error is that
// of jsonwalk.
func readEnvelope(text []byte) (envelope, error) {
	e := envelope{ordinal: -1, line: text}
	o := jsonwalk.Members(text)
	for o.Next() {
		e.take(o.Key, o.Value)
	}
	err := o.Err()
	if err == jsonwalk.ErrCut && len(o.Value) > 0 && (o.Value[0] == '{' || o.Value[0] == '[') {
		e.take(o.Key, o.Value)
	}
	if e.payload != nil {
		e.part = readPart(e.payload)
	} else {
		e.part.whole = err == nil
	}
	return e, err
}

func (e *envelope) take(key, value []byte) {
	switch string(key) {
	case "timestamp":
		e.stamp = value
	case "type":
		e.typed = true
		e.typ, _ = jsonwalk.String(value)
		if e.payload == nil {
			e.part.typ = e.typ
		}
	case "ordinal":
		if n, ok := jsonwalk.Int(value); ok && n >= 0 {
			e.ordinal = n
		}
	case "payload":
		e.payload = value
	case "role":
		e.part.role, _ = jsonwalk.String(value)
	case "name":
		e.part.name, _ = jsonwalk.String(value)
	case "call_id":
		e.part.call, _ = jsonwalk.String(value)
	case "id":
		e.id, _ = jsonwalk.String(value)
	case "session":
		e.session = true
	case "items":
		e.items = true
	case "record_type":
		e.state = true
	}
}

// readPart walks a payload until what it is about is known.
func readPart(payload []byte) (p part) {
	o := jsonwalk.Members(payload)
	for o.Next() {
		switch string(o.Key) {
		case "type":
			p.typ, _ = jsonwalk.String(o.Value)
		case "role":
			p.role, _ = jsonwalk.String(o.Value)
		case "name":
			p.name, _ = jsonwalk.String(o.Value)
		case "call_id":
			p.call, _ = jsonwalk.String(o.Value)
		default:
			continue
		}
		if p.told() {
			return p
		}
	}
	p.whole = o.Err() != jsonwalk.ErrCut
	return p
}

// told reports whether the rest of the payload has nothing to add.
func (p *part) told() bool {
	if p.typ == nil {
		return false
	}
	switch itemOf(p.typ) {
	case itemMessage:
		return p.role != nil
	case itemCall:
		return p.call != nil && p.name != nil
	case itemOutput:
		return p.call != nil
	}
	return true
}

// body is what the fields of an event are read from.
func (e *envelope) body() []byte {
	if e.payload != nil {
		return e.payload
	}
	return e.line
}

// settled reports whether what was read of a cut line is all that is needed.
func (e *envelope) settled() bool {
	if e.session && e.items && e.typ == nil {
		return true
	}
	if e.stamp == nil || e.typ == nil {
		return false
	}
	switch e.kind() {
	case kindMeta, kindContext, kindUsage:
		return false
	case kindItem:
		return e.part.whole || e.part.told()
	case kindEvent:
		return e.part.typ != nil && !readsFields(e.part.typ)
	}
	return true
}

// A kind is what a line is, as its type says.
type kind uint8

const (
	kindUnknown kind = iota
	kindMeta
	kindContext
	kindUsage
	kindItem
	kindEvent
	kindMessage   // from another agent: sent to the model like a user's
	kindCompacted // the history was summed up
	kindIgnored   // known, and of no use here
)

func (e *envelope) kind() kind {
	switch string(e.typ) {
	case "response_item":
		return kindItem
	case "event_msg":
		return kindEvent
	case "session_meta":
		return kindMeta
	case "turn_context":
		return kindContext
	case "token_usage_record":
		return kindUsage
	case "inter_agent_communication":
		return kindMessage
	case "compacted":
		return kindCompacted
	case "world_state", "inter_agent_communication_metadata", "retained_context", "security_risk_score", "realtime_item":
		return kindIgnored
	}
	// Some files have items and events without a payload, in the line itself.
	switch {
	case e.payload != nil:
		return kindUnknown
	case itemOf(e.typ) != itemIgnored:
		return kindItem
	case readsFields(e.typ) || outputEvent(e.typ) || string(e.typ) == "user_message":
		return kindEvent
	}
	return kindUnknown
}

// A sort of response item.
type sort uint8

const (
	itemIgnored sort = iota
	itemMessage
	itemReasoning
	itemCall
	itemOutput
	itemServed // tools that the server runs while it answers: part of the response
)

func itemOf(typ []byte) sort {
	switch string(typ) {
	case "message":
		return itemMessage
	case "reasoning":
		return itemReasoning
	case "function_call", "custom_tool_call", "local_shell_call", "tool_search_call":
		return itemCall
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_call_output", "tool_search_output":
		return itemOutput
	case "web_search_call", "image_generation_call":
		return itemServed
	}
	return itemIgnored
}

// outputEvent reports whether an event repeats what the model said.
func outputEvent(typ []byte) bool {
	switch string(typ) {
	case "agent_message", "agent_reasoning", "agent_reasoning_raw_content":
		return true
	}
	return false
}

// readsFields reports whether an event of this type is read to its end.
func readsFields(typ []byte) bool {
	switch string(typ) {
	case "token_count", "task_started", "turn_started", "task_complete", "turn_complete", "turn_aborted",
		"item_completed", "exec_command_end", "mcp_tool_call_end", "patch_apply_end", "thread_settings_applied":
		return true
	}
	return false
}
