package rollout

import (
	"bytes"
	"time"

	"codexlag/parse/jsonwalk"
	"codexlag/parse/record"
)

// responseItem takes an item of the conversation with the model.
func (d *Decoder) responseItem(p part, at time.Time, pos record.Pos) {
	switch itemOf(p.typ) {
	case itemMessage:
		switch string(p.role) {
		case "assistant":
			d.came(arrival{at: at}, pos)
			d.turn.owed = false
		case "user":
			d.userMessage(false, at, pos)
		default:
			d.sent(at, false, pos)
		}
	case itemReasoning:
		d.came(arrival{at: at, reasoning: true}, pos)
	case itemServed:
		d.came(arrival{at: at}, pos)
	case itemCall:
		r := d.came(arrival{at: at}, pos)
		d.turn.owed = true
		if len(p.call) == 0 {
			return
		}
		c := d.turn.call(p.call)
		if c.asked.IsZero() {
			c.asked = at
			c.tool = d.toolName(p)
			r.calls = append(r.calls, c)
		}
	case itemOutput:
		if t := d.turn; t != nil && len(p.call) > 0 {
			if c := t.find(p.call); c != nil && c.answered.IsZero() {
				c.answered = at
			}
		}
		d.sent(at, true, pos)
	}
}

func (d *Decoder) toolName(p part) string {
	if len(p.name) > 0 {
		return d.words.take(p.name)
	}
	if string(p.typ) == "local_shell_call" {
		return "local_shell"
	}
	return d.words.take(p.typ)
}

// event takes an event_msg.
func (d *Decoder) event(p part, body []byte, at time.Time, pos record.Pos) {
	if p.typ == nil {
		d.drop(pos, record.NotAnObject)
		return
	}
	switch string(p.typ) {
	case "token_count":
		d.tokenCount(body, at, pos)
	case "task_started", "turn_started":
		d.taskStarted(body, at, pos)
	case "task_complete", "turn_complete":
		d.taskEnded(body, false, at, pos)
	case "turn_aborted":
		d.taskEnded(body, true, at, pos)
	case "item_completed":
		d.itemCompleted(body, at, pos)
	case "exec_command_end", "mcp_tool_call_end", "patch_apply_end":
		d.toolEnded(bytes.TrimSuffix(p.typ, []byte("_end")), body, at)
	case "thread_settings_applied":
		d.settingsApplied(jsonwalk.Get(body, "thread_settings"))
	case "user_message":
		d.userMessage(true, at, pos)
	case "agent_message":
		d.came(arrival{at: at, live: true}, pos)
		d.turn.owed = false
	case "agent_reasoning", "agent_reasoning_raw_content":
		d.came(arrival{at: at, live: true, reasoning: true}, pos)
	case "context_compacted":
		d.compacted(at, pos)
	}
}

// itemCompleted takes the event that tells when an item started and was done,
// to the millisecond.
func (d *Decoder) itemCompleted(body []byte, at time.Time, pos record.Pos) {
	var typ, id []byte
	var begun, done time.Time
	var took time.Duration
	var timed bool
	o := jsonwalk.Members(body)
	for o.Next() {
		switch string(o.Key) {
		case "started_at_ms":
			begun = unixMillis(o.Value)
		case "completed_at_ms":
			done = unixMillis(o.Value)
		case "item":
			i := jsonwalk.Members(o.Value)
			for i.Next() {
				switch string(i.Key) {
				case "type":
					typ, _ = jsonwalk.String(i.Value)
				case "id":
					id, _ = jsonwalk.String(i.Value)
				case "duration":
					took, timed = duration(i.Value)
				}
			}
		}
	}
	done, exact := earlier(at, done)
	if begun.After(done) {
		begun = time.Time{}
	}
	switch string(typ) {
	case "UserMessage":
		d.promptDone(trigger{done, exact}, pos)
	case "ContextCompaction":
		d.compacted(done, pos)
	case "Reasoning":
		d.came(arrival{at: done, begun: begun, reasoning: true}, pos)
	case "AgentMessage", "Plan":
		d.came(arrival{at: done, begun: begun}, pos)
		d.turn.owed = false
	case "WebSearch", "ImageGeneration":
		d.came(arrival{at: done, begun: begun}, pos)
	default:
		d.toolDone(typ, id, begun, trigger{done, exact}, took, timed)
	}
}

// earlier returns the stated time where it is not later than the line that
// states it.
func earlier(line, stated time.Time) (at time.Time, exact bool) {
	if stated.IsZero() || stated.After(line) {
		return line, false
	}
	return stated, true
}

func (d *Decoder) promptDone(g trigger, pos record.Pos) {
	if d.turn == nil {
		d.open("", g.at, pos)
		return
	}
	d.turn.response.trigger(g)
	d.turn.owed = true
}

func (d *Decoder) toolDone(typ, id []byte, begun time.Time, done trigger, took time.Duration, timed bool) {
	t := d.turn
	if t == nil || len(id) == 0 || t.find(id) == nil && !toolItem(typ) {
		return
	}
	c := t.call(id)
	if c.tool == "" {
		c.tool = d.words.take(typ)
	}
	if begun.IsZero() && timed {
		begun = done.at.Add(-took)
	}
	if c.done.IsZero() {
		c.begun, c.done = begun, done.at
	}
	// The next request can't have started before; but a tool may also be done
	// while its response is still coming, so this does not end the response.
	t.response.trigger(done)
}

// toolEnded takes the events that older and extended files have at the end of
// a call.
func (d *Decoder) toolEnded(tool, body []byte, at time.Time) {
	t := d.turn
	if t == nil {
		return
	}
	var id []byte
	var took time.Duration
	var timed bool
	ended := at
	o := jsonwalk.Members(body)
	for o.Next() {
		switch string(o.Key) {
		case "call_id":
			id, _ = jsonwalk.String(o.Value)
		case "duration":
			took, timed = duration(o.Value)
		case "completed_at_ms":
			ended, _ = earlier(at, unixMillis(o.Value))
		}
	}
	if len(id) == 0 || !timed {
		return
	}
	c := t.call(id)
	if c.tool == "" {
		c.tool = d.words.take(tool)
	}
	if c.ended.IsZero() {
		c.ran, c.ended = ended.Add(-took), ended
	}
}
