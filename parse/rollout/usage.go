package rollout

import (
	"time"

	"codexlag/parse/jsonwalk"
	"codexlag/parse/record"
)

// A usage is how many tokens Codex counted; -1 stands for unknown. Codex's own
// total is input and output together.
type usage struct {
	input, cached, output, reasoning, total int64
}

var unknownUsage = usage{-1, -1, -1, -1, -1}

// maxTokens is more than any thread uses: a greater number is none.
const maxTokens = 1e12

func readUsage(v []byte) (u usage, ok bool) {
	if !jsonwalk.IsObject(v) {
		return unknownUsage, false
	}
	u = unknownUsage
	o := jsonwalk.Members(v)
	for o.Next() {
		n, isInt := jsonwalk.Int(o.Value)
		if !isInt || n < 0 || n > maxTokens {
			continue
		}
		switch string(o.Key) {
		case "input_tokens":
			u.input = n
		case "cached_input_tokens":
			u.cached = n
		case "output_tokens":
			u.output = n
		case "reasoning_output_tokens":
			u.reasoning = n
		case "total_tokens":
			u.total = n
		}
	}
	return u, u != unknownUsage
}

// plausible leaves out a part that is greater than what it is a part of.
func (u usage) plausible() usage {
	if u.input >= 0 && u.cached > u.input {
		u.cached = -1
	}
	if u.output >= 0 && u.reasoning > u.output {
		u.reasoning = -1
	}
	return u
}

// since returns what was used from v to u, two sums of one thread.
func (u usage) since(v usage) usage {
	minus := func(a, b int64) int64 {
		if a < 0 || b < 0 || a < b {
			return -1
		}
		return a - b
	}
	return usage{
		minus(u.input, v.input), minus(u.cached, v.cached), minus(u.output, v.output),
		minus(u.reasoning, v.reasoning), minus(u.total, v.total),
	}
}

// madeUp reports whether Codex set the numbers itself: on an overflow of the
// context window and after compaction only the total says something.
func (u usage) madeUp() bool {
	return u.input <= 0 && u.output <= 0 && u.total >= 0
}

// A counter tells responses from repeats. Codex writes the sum of a thread
// again and again; a response is where the sum changed. Newer versions write
// a token_usage_record for each response as well, of which the next token_count
// is the echo.
type counter struct {
	total, last usage // of the token_count before
	known       bool

	records []echo // token_usage_records that no token_count has echoed yet
	count   echo   // the last response that a token_count told of
	id      string // the last response that a token_usage_record told of
}

type echo struct {
	usage, total usage
	at           time.Time
	request      *record.Request
}

// maxEchoes bounds how many records wait for their echo; it follows at once or never.
const maxEchoes = 8

// echoed reports whether a token_count repeats a token_usage_record, and
// strikes that off.
func (c *counter) echoed(total, last usage) bool {
	for i, r := range c.records {
		if r.usage == last || r.total == total && total != unknownUsage {
			c.records = append(c.records[:i], c.records[i+1:]...)
			return true
		}
	}
	return false
}

// tokenCount takes an event token_count.
func (d *Decoder) tokenCount(body []byte, at time.Time, pos record.Pos) {
	info := jsonwalk.Get(body, "info")
	if !jsonwalk.IsObject(info) {
		return // only rate limits, as at the start of a turn
	}
	total, last := unknownUsage, unknownUsage
	hasTotal, hasLast := false, false
	o := jsonwalk.Members(info)
	for o.Next() {
		switch string(o.Key) {
		case "total_token_usage":
			total, hasTotal = readUsage(o.Value)
		case "last_token_usage":
			last, hasLast = readUsage(o.Value)
		}
	}
	if !hasTotal && !hasLast {
		return
	}
	c := &d.usage
	before, known := *c, c.known
	c.total, c.last, c.known = total, last, true
	switch {
	case c.echoed(total, last):
		return
	case known && total == before.total && (last == before.last || hasTotal && !last.madeUp()):
		// Without a new total nothing was used, whatever the last usage says.
		d.drop(pos, record.Repeat)
		return
	case !known && d.info.IsFork && hasTotal && hasLast && total != last && d.opened(at):
		d.drop(pos, record.Replayed) // the parent's last count, told again as a turn begins
		return
	}
	if !hasLast {
		last = unknownUsage
		if known {
			last = total.since(before.total)
		} else if !d.info.IsFork {
			last = total // the first count of the thread
		}
	}
	if last.madeUp() {
		d.drop(pos, record.Synthetic)
		return
	}
	d.counted(last.plausible(), "", at, pos)
	c.count = echo{usage: last, at: at, request: d.lastRequest()}
}

// usageRecord takes a token_usage_record: one for each response, written when
// it ends.
func (d *Decoder) usageRecord(payload []byte, at time.Time, pos record.Pos) {
	used, total := unknownUsage, unknownUsage
	var id, thread []byte
	o := jsonwalk.Members(payload)
	for o.Next() {
		switch string(o.Key) {
		case "response_id":
			id, _ = jsonwalk.String(o.Value)
		case "thread_id":
			thread, _ = jsonwalk.String(o.Value)
		case "usage":
			used, _ = readUsage(o.Value)
		case "thread_token_usage":
			total, _ = readUsage(o.Value)
		}
	}
	if used == unknownUsage {
		d.drop(pos, record.NotAnObject)
		return
	}
	c := &d.usage
	name := clean(id)
	if name != "" && name == c.id {
		d.drop(pos, record.Repeat)
		return
	}
	c.id = name
	const pair = 5 * time.Second // a record and a count of one response are milliseconds apart
	if n := c.count; n.usage == used && at.Sub(n.at) <= pair && (d.turn == nil || d.turn.response.items == 0) {
		if q := d.lastRequest(); q != nil && q == n.request {
			q.ID = name // not emitted yet
		}
		c.count = echo{usage: unknownUsage}
		return
	}
	if len(c.records) == maxEchoes {
		c.records = append(c.records[:0], c.records[1:]...)
	}
	c.records = append(c.records, echo{usage: used, total: total})
	switch {
	case used.madeUp():
		d.drop(pos, record.Synthetic)
		return
	case d.info.IsFork && len(thread) > 0 && string(thread) != d.info.Session:
		d.drop(pos, record.Replayed)
		return
	}
	d.counted(used.plausible(), name, at, pos)
}

// opened reports whether the running turn has just begun: nothing can have come back yet.
func (d *Decoder) opened(at time.Time) bool {
	t := d.turn
	return t != nil && t.response.items == 0 && len(t.requests) == 0 && at.Sub(t.start) < atOnce
}

// lastRequest returns the request that was counted last in the running turn,
// nil where that was left out.
func (d *Decoder) lastRequest() *record.Request {
	if d.replay.on || d.turn == nil || len(d.turn.requests) == 0 {
		return nil
	}
	return d.turn.requests[len(d.turn.requests)-1]
}
