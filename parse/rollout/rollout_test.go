package rollout

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codexlag/parse/lines"
	"codexlag/parse/record"
)

var _ record.Decoder = (*Decoder)(nil)

var base = time.Date(2026, 9, 10, 9, 0, 0, 0, time.UTC)

// stamp is the time of a line, ms after base.
func stamp(ms int) string {
	return base.Add(time.Duration(ms) * time.Millisecond).Format("2006-01-02T15:04:05.000Z")
}

func unixMS(ms int) int64 { return base.UnixMilli() + int64(ms) }

// v7 is an id of version 7 made ms after base.
func v7(ms, n int) string {
	h := fmt.Sprintf("%012x", unixMS(ms))
	return fmt.Sprintf("%s-%s-7000-8000-%012x", h[:8], h[8:], n)
}

func line(ms int, typ, payload string) string {
	return fmt.Sprintf(`{"timestamp":%q,"type":%q,"payload":%s}`, stamp(ms), typ, payload)
}

func event(ms int, typ, fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return line(ms, "event_msg", fmt.Sprintf(`{"type":%q%s}`, typ, fields))
}

func item(ms int, typ, fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return line(ms, "response_item", fmt.Sprintf(`{"type":%q%s}`, typ, fields))
}

func meta0(ms int, fields string) string {
	return line(ms, "session_meta", fmt.Sprintf(`{"id":%q,"timestamp":%q,"cli_version":"0.128.0","source":"cli","model_provider":"openai"%s}`, v7(0, 1), stamp(0), fields))
}

func started(ms int, id string) string {
	return event(ms, "task_started", fmt.Sprintf(`"turn_id":%q`, id))
}
func user(ms int) string      { return event(ms, "user_message", `"message":"SECRET"`) }
func said(ms int) string      { return event(ms, "agent_message", `"message":"SECRET"`) }
func answer(ms int) string    { return item(ms, "message", `"role":"assistant","content":[]`) }
func reasoning(ms int) string { return item(ms, "reasoning", `"summary":[]`) }
func output(ms int, call string) string {
	return item(ms, "function_call_output", fmt.Sprintf(`"call_id":%q,"output":"SECRET"`, call))
}
func tool(ms int, call string) string {
	return item(ms, "function_call", fmt.Sprintf(`"name":"shell","arguments":"{}","call_id":%q`, call))
}

func context0(ms int, id, model string) string {
	if id != "" {
		id = fmt.Sprintf(`"turn_id":%q,`, id)
	}
	return line(ms, "turn_context", fmt.Sprintf(`{%s"cwd":"/w","model":%q,"effort":"high"}`, id, model))
}

func complete(ms int, id string, fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return event(ms, "task_complete", fmt.Sprintf(`"turn_id":%q%s`, id, fields))
}

func tokens(in, cached, out, reasoning int) string {
	return fmt.Sprintf(`{"input_tokens":%d,"cached_input_tokens":%d,"output_tokens":%d,"reasoning_output_tokens":%d,"total_tokens":%d}`, in, cached, out, reasoning, in+out)
}

// count is a token_count: sum is the thread's output so far, out that of the response.
func count(ms, sum, out int) string {
	return event(ms, "token_count", fmt.Sprintf(`"info":{"total_token_usage":%s,"last_token_usage":%s,"model_context_window":1000},"rate_limits":null`,
		tokens(10*sum, 0, sum, 0), tokens(10*out, 0, out, 0)))
}

func usageLine(ms int, id string, sum, out int) string {
	return line(ms, "token_usage_record", fmt.Sprintf(`{"response_id":%q,"usage":%s,"thread_token_usage":%s}`, id, tokens(10*out, 0, out, 0), tokens(10*sum, 0, sum, 0)))
}

func itemDone(ms int, typ, id string, begun, done int) string {
	return event(ms, "item_completed", fmt.Sprintf(`"thread_id":"t","turn_id":"u","item":{"type":%q,"id":%q,"content":[]},"started_at_ms":%d,"completed_at_ms":%d`, typ, id, unixMS(begun), unixMS(done)))
}

func decode(text string) ([]record.Record, *Decoder) {
	var all []record.Record
	d := New("f", func(r record.Record) { all = append(all, r) })
	read(d, []byte(text))
	return all, d
}

func read(d *Decoder, text []byte) {
	in := lines.NewReader(bytes.NewReader(text))
	in.NeedWhole = d.NeedWhole
	for in.Scan() {
		d.Line(in.Line())
	}
	d.End()
}

// show writes records in short, times in ms after base:
//
//	request 9: 1000..13005 total 12005 ttft 4000 estimated visible out 600
//	turn 15 ok: 1000..29050 duration 28050 ttft 4000, 2 requests, shell 13000..15000
//	repeat 11
func show(all []record.Record) string {
	ms := func(t time.Time) string {
		if t.IsZero() {
			return "?"
		}
		return fmt.Sprint(t.Sub(base).Milliseconds())
	}
	var b strings.Builder
	for _, r := range all {
		switch r := r.(type) {
		case *record.Request:
			fmt.Fprintf(&b, "request %d: %s..%s", r.Line, ms(r.Start), ms(r.End))
			if r.Total != 0 {
				fmt.Fprintf(&b, " total %d", r.Total.Milliseconds())
			}
			if r.Quality != record.None {
				fmt.Fprintf(&b, " ttft %d %v", r.TTFT.Milliseconds(), r.Quality)
			}
			if r.FirstVisible {
				b.WriteString(" visible")
			}
			if r.Output.Known {
				fmt.Fprintf(&b, " out %d", r.Output.N)
			}
			if r.Status != record.OK {
				fmt.Fprintf(&b, " %v", r.Status)
			}
		case *record.Turn:
			fmt.Fprintf(&b, "turn %d %v: %s..%s", r.Line, r.Status, ms(r.Start), ms(r.End))
			if r.Duration != 0 {
				fmt.Fprintf(&b, " duration %d", r.Duration.Milliseconds())
			}
			if r.HasTTFT {
				fmt.Fprintf(&b, " ttft %d", r.TTFT.Milliseconds())
			}
			fmt.Fprintf(&b, ", %d requests", len(r.Requests))
			for _, i := range r.Tools {
				fmt.Fprintf(&b, ", %s %s..%s", i.Tool, ms(i.Start), ms(i.End))
			}
		case *record.Dropped:
			fmt.Fprintf(&b, "%s %d", r.Reason, r.Line)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func join(s ...string) string { return strings.Join(s, "\n") }

type testCase struct {
	name string
	in   string
	want string
}

func run(t *testing.T, cases []testCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			all, _ := decode(c.in)
			if got := show(all); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			for _, r := range all {
				if turn, ok := r.(*record.Turn); ok {
					checkRequests(t, turn, all)
				}
			}
		})
	}
}

// checkRequests checks that a turn points to the requests emitted just before it.
func checkRequests(t *testing.T, turn *record.Turn, all []record.Record) {
	t.Helper()
	var before []*record.Request
	for _, r := range all {
		if q, ok := r.(*record.Request); ok && q.Turn == turn.ID {
			before = append(before, q)
		}
		if r == record.Record(turn) {
			break
		}
	}
	before = before[max(0, len(before)-len(turn.Requests)):]
	for i, q := range turn.Requests {
		if i >= len(before) || q != before[i] {
			t.Errorf("turn %s: request %d was not emitted before it", turn.ID, i)
		}
	}
}

var a = v7(120, 10) // a turn that starts 120 ms after base

func TestRequestBounds(t *testing.T) {
	head := join(meta0(118, ""), started(120, a), context0(130, a, "m"), user(140))
	run(t, []testCase{
		{"count before the outputs", join(head, reasoning(4000), tool(5000, "c"), count(5005, 10, 10), output(7000, "c"), answer(9000), count(9010, 30, 20), complete(9020, a, "")),
			"request 7: 140..5005 total 4865 ttft 3860 bound out 10\nrequest 10: 7000..9010 total 2010 ttft 2000 bound out 20\nturn 11 ok: 120..9020 duration 8900, 2 requests, shell 5000..7000"},
		{"count after the outputs", join(head, reasoning(4000), tool(5000, "c"), output(7000, "c"), count(7000, 10, 10), answer(9000), count(9010, 30, 20), complete(9020, a, "")),
			"request 8: 140..5000 total 4860 ttft 3860 bound out 10\nrequest 10: 7000..9010 total 2010 ttft 2000 bound out 20\nturn 11 ok: 120..9020 duration 8900, 2 requests, shell 5000..7000"},
		{"count after outputs of parallel tools", join(head, tool(5000, "c"), tool(5100, "d"), output(7000, "d"), output(9000, "c"), count(9000, 10, 10), answer(12000), count(12001, 30, 20), complete(12010, a, "")),
			"request 9: 140..5100 total 4960 ttft 4860 bound out 10\nrequest 11: 9000..12001 total 3001 ttft 3000 bound out 20\nturn 12 ok: 120..12010 duration 11890, 2 requests, shell 5000..9000, shell 5100..7000"},
		{"count after the output of a fast tool", join(head, tool(5000, "c"), output(5003, "c"), count(5003, 10, 10), answer(9000), count(9001, 30, 20), complete(9010, a, "")),
			"request 7: 140..5000 total 4860 ttft 4860 bound out 10\nrequest 9: 5003..9001 total 3998 ttft 3997 bound out 20\nturn 10 ok: 120..9010 duration 8890, 2 requests, shell 5000..5003"},
		{"usage record before the output", join(head, tool(5000, "c"), usageLine(5050, "r1", 10, 10), output(7000, "c"), count(7000, 10, 10), answer(9000), usageLine(9010, "r2", 30, 20), count(9011, 30, 20), complete(9020, a, "")),
			"request 6: 140..5050 total 4910 ttft 4860 bound out 10\nrequest 10: 7000..9010 total 2010 ttft 2000 bound out 20\nturn 12 ok: 120..9020 duration 8900, 2 requests, shell 5000..7000"},
		{"a message to the model in the middle of a response starts the next one", join(head, reasoning(4000), line(4500, "inter_agent_communication", `{}`), answer(5000), count(5001, 10, 10), answer(7000), count(7001, 30, 20), complete(7010, a, "")),
			"request 8: 140..5001 total 4861 ttft 3860 bound out 10\nrequest 10: 5001..7001 total 2000 ttft 1999 bound out 20\nturn 11 ok: 120..7010 duration 6890, 2 requests"},
		{"steering", join(head, answer(3000), count(3001, 10, 10), user(4000), answer(6000), count(6001, 30, 20), complete(6010, a, "")),
			"request 6: 140..3001 total 2861 ttft 2860 bound out 10\nrequest 9: 4000..6001 total 2001 ttft 2000 bound out 20\nturn 10 ok: 120..6010 duration 5890, 2 requests"},
		{"compaction between two requests", join(head, tool(3000, "c"), count(3001, 10, 10), output(4000, "c"), count(9000, 15, 5), line(9001, "compacted", `{"message":"SECRET"}`), event(9002, "context_compacted", ""), context0(9003, a, "m"), reasoning(11000), tool(11500, "d"), count(11501, 35, 20), complete(12000, a, "")),
			"request 6: 140..3001 total 2861 ttft 2860 bound out 10\nrequest 8: 4000..9000 total 5000 out 5\nrequest 14: 9003..11501 total 2498 ttft 1997 bound out 20\nturn 15 ok: 120..12000 duration 11880, 3 requests, shell 3000..4000"},
		{"turn ttft goes to the first request", join(head, reasoning(2000), tool(5000, "c"), count(5005, 10, 10), output(7000, "c"), answer(9000), count(9010, 30, 20), complete(9020, a, `"duration_ms":8900,"time_to_first_token_ms":2000`)),
			"request 7: 120..5005 total 4885 ttft 2000 estimated out 10\nrequest 10: 7000..9010 total 2010 ttft 2000 bound out 20\nturn 11 ok: 120..9020 duration 8900 ttft 2000, 2 requests, shell 5000..7000"},
		{"no token count, no request", join(head, answer(3000), complete(3010, a, "")),
			"turn 6 ok: 120..3010 duration 2890, 0 requests"},
	})
}

func TestPaginated(t *testing.T) {
	head := join(meta0(118, `,"history_mode":"paginated"`), started(120, a), context0(130, a, "m"), itemDone(141, "UserMessage", "u", 139, 140))
	run(t, []testCase{
		{"item starts win over the turn's ttft", join(head, itemDone(3001, "Reasoning", "r", 2000, 3000), answer(5000), usageLine(5050, "r1", 10, 10), count(5051, 10, 10), complete(5060, a, `"duration_ms":4940,"time_to_first_token_ms":2880`)),
			"request 7: 140..5050 total 4910 ttft 1860 estimated out 10\nturn 9 ok: 120..5060 duration 4940 ttft 2880, 1 requests"},
		{"without item starts the turn's ttft is taken", join(head, answer(5000), usageLine(5050, "r1", 10, 10), complete(5060, a, `"duration_ms":4940,"time_to_first_token_ms":2880`)),
			"request 6: 120..5050 total 4930 ttft 2880 estimated out 10\nturn 7 ok: 120..5060 duration 4940 ttft 2880, 1 requests"},
		{"a tool that is done before its response does not split it", join(head, itemDone(1500, "Reasoning", "r", 1000, 1490), tool(2000, "c"), itemDone(2100, "CommandExecution", "c", 2010, 2090), tool(3000, "d"), usageLine(3050, "r1", 10, 10), output(3060, "c"), output(3900, "d"), itemDone(5000, "AgentMessage", "m", 4500, 5000), usageLine(5050, "r2", 20, 10), complete(5060, a, "")),
			"request 9: 140..3050 total 2910 ttft 860 estimated out 10\nrequest 13: 3900..5050 total 1150 ttft 600 estimated out 10\nturn 14 ok: 120..5060 duration 4940, 2 requests, shell 2010..2090, shell 3000..3900"},
		{"only a tool call: its end bounds the ttft", join(head, tool(2000, "c"), usageLine(2050, "r1", 10, 10), itemDone(3000, "CommandExecution", "c", 2010, 2990), output(3001, "c"), itemDone(4000, "AgentMessage", "m", 3500, 4000), usageLine(4050, "r2", 20, 10), complete(5060, a, "")),
			"request 6: 140..2050 total 1910 ttft 1860 bound out 10\nrequest 10: 3001..4050 total 1049 ttft 499 estimated out 10\nturn 11 ok: 120..5060 duration 4940, 2 requests, shell 2010..2990"},
		{"a web search is part of its response", join(head, itemDone(2500, "WebSearch", "ws", 1000, 2500), itemDone(4000, "AgentMessage", "m", 3500, 4000), usageLine(4050, "r2", 20, 10), complete(5060, a, "")),
			"request 7: 140..4050 total 3910 ttft 860 estimated out 10\nturn 8 ok: 120..5060 duration 4940, 1 requests"},
		{"a trigger after the first output started is not the start", join(head, line(2500, "inter_agent_communication", `{}`), itemDone(4000, "AgentMessage", "m", 2000, 4000), usageLine(4050, "r2", 20, 10), complete(5060, a, "")),
			"request 7: 140..4050 total 3910 ttft 1860 estimated out 10\nturn 8 ok: 120..5060 duration 4940, 1 requests"},
		{"no usage records yet: count after the outputs", join(head, itemDone(1500, "Reasoning", "r", 1000, 1490), tool(2000, "c"), itemDone(3100, "CommandExecution", "c", 2010, 3090), output(3101, "c"), count(3102, 10, 10), itemDone(5000, "AgentMessage", "m", 4500, 5000), count(5050, 20, 10), complete(5060, a, "")),
			"request 9: 140..2000 total 1860 ttft 860 estimated out 10\nrequest 11: 3101..5050 total 1949 ttft 1399 estimated out 10\nturn 12 ok: 120..5060 duration 4940, 2 requests, shell 2010..3090"},
		{"item times without a start", join(head, event(3000, "item_completed", fmt.Sprintf(`"item":{"type":"CommandExecution","id":"c","duration":{"secs":1,"nanos":500000000}},"completed_at_ms":%d`, unixMS(2990))), complete(5060, a, "")),
			"turn 6 ok: 120..5060 duration 4940, 0 requests, CommandExecution 1490..2990"},
	})
}

// Versions of 2025 write calls and outputs in one batch when the tools are done.
func TestLateBatches(t *testing.T) {
	head := join(line(300, "session_meta", fmt.Sprintf(`{"id":"5f3c2c60-1111-4222-8333-444455556666","timestamp":%q,"cli_version":"0.40.0"}`, stamp(290))), user(300), context0(301, "", "m"))
	run(t, []testCase{
		{"count at once after the tools ran: neither response nor tool has a time (0.34-0.40)",
			join(head, event(2000, "agent_reasoning", ""), count(5000, 10, 10), reasoning(5001), tool(5001, "c"), output(5001, "c"),
				said(8000), count(8500, 20, 10), answer(8501)),
			"request 5: 301..5000 ttft 1699 bound out 10\nrequest 10: 5001..8500 total 3499 ttft 2999 bound out 10\nturn 11 ok: 300..8501 duration 8201, 2 requests"},
		{"count when the response ends, batch when the tools are done (0.57)",
			join(head, event(2000, "agent_reasoning", ""), count(3000, 10, 10), reasoning(5001), tool(5001, "c"), output(5002, "c"),
				count(5200, 10, 10), said(8000), count(8500, 20, 10), answer(8501)),
			"repeat 9\nrequest 5: 301..3000 total 2699 ttft 1699 bound out 10\nrequest 11: 5002..8500 total 3498 ttft 2998 bound out 10\nturn 12 ok: 300..8501 duration 8201, 2 requests, shell 3000..5002"},
		{"once a tool was seen to run after a count, fast tools are told apart as well",
			join(head, count(3000, 10, 10), tool(5001, "c"), output(5001, "c"), count(7000, 20, 10), tool(7010, "d"), output(7010, "d"), count(9000, 30, 10), answer(9001)),
			"request 4: 301..3000 total 2699 out 10\nrequest 7: 5001..7000 total 1999 out 10\nrequest 10: 7010..9000 total 1990 out 10\nturn 11 ok: 300..9001 duration 8701, 3 requests, shell 3000..5001, shell 7000..7010"},
		{"a stated duration gives the tool its time",
			join(head, count(5000, 10, 10), tool(5001, "c"), event(5001, "exec_command_end", `"call_id":"c","duration":{"secs":2,"nanos":0}`), output(5001, "c"), said(8000), count(8500, 20, 10)),
			"request 4: 301..5000 out 10\nrequest 9: 5001..8500 total 3499 ttft 2999 bound out 10\nturn 9 ok: 300..8500 duration 8200, 2 requests, shell 3001..5001"},
		{"the batch of a turn's last response", join(head, count(3000, 10, 10), tool(5000, "c"), output(5000, "c"), event(6000, "turn_aborted", `"reason":"interrupted"`)),
			"request 4: 301..3000 total 2699 out 10\nturn 7 aborted: 300..6000 duration 5700, 1 requests, shell 3000..5000"},
	})
}

func TestTurns(t *testing.T) {
	m := meta0(118, "")
	b := v7(20_000, 11)
	run(t, []testCase{
		{"later names of the events", join(m, event(120, "turn_started", `"turn_id":"x"`), user(140), answer(3000), count(3001, 10, 10), event(3010, "turn_complete", `"turn_id":"x","duration_ms":2890`)),
			"request 5: 140..3001 total 2861 ttft 2860 bound out 10\nturn 6 ok: 120..3010 duration 2890, 1 requests"},
		{"aborted", join(m, started(120, a), user(140), tool(3000, "c"), count(3001, 10, 10), event(5000, "turn_aborted", fmt.Sprintf(`"turn_id":%q,"reason":"interrupted","duration_ms":4880`, a))),
			"request 5: 140..3001 total 2861 ttft 2860 bound out 10\nturn 6 aborted: 120..5000 duration 4880, 1 requests, shell 3000..5000"},
		{"aborted without an id, response interrupted", join(m, user(140), reasoning(3000), event(5000, "turn_aborted", `"reason":"interrupted"`)),
			"turn 4 aborted: 140..5000 duration 4860, 0 requests"},
		{"an abort after the end says nothing", join(m, started(120, a), complete(3000, a, ""), event(5000, "turn_aborted", `"reason":"replaced"`)),
			"turn 3 ok: 120..3000 duration 2880, 0 requests"},
		{"failed", join(m, started(120, a), user(140), complete(3000, a, `"error":{"message":"SECRET"},"duration_ms":2880`)),
			"turn 4 failed: 120..3000 duration 2880, 0 requests"},
		{"no error is null", join(m, started(120, a), complete(3000, a, `"error":null`)),
			"turn 3 ok: 120..3000 duration 2880, 0 requests"},
		{"open at the end of the file", join(m, started(120, a), user(140), tool(3000, "c"), count(3001, 10, 10)),
			"request 5: 140..3001 total 2861 ttft 2860 bound out 10\nturn 5 unfinished: 120..3001, 1 requests"},
		{"left open, then another", join(m, started(120, a), user(140), started(20_000, b), user(20_010), answer(21_000), count(21_001, 10, 10), complete(21_010, b, "")),
			"turn 3 unfinished: 120..140, 0 requests\nrequest 7: 20010..21001 total 991 ttft 990 bound out 10\nturn 8 ok: 20000..21010 duration 1010, 1 requests"},
		{"turn_context before task_started", join(m, context0(119, a, "m"), started(120, a), user(140), answer(3000), count(3001, 10, 10), complete(3010, a, "")),
			"request 6: 140..3001 total 2861 ttft 2860 bound out 10\nturn 7 ok: 120..3010 duration 2890, 1 requests"},
		{"turn_context written again after compaction", join(m, started(120, a), context0(130, a, "m"), user(140), tool(1000, "c"), count(1001, 10, 10), output(1500, "c"), line(2000, "compacted", `{}`), context0(2001, a, "m"), answer(3000), count(3001, 20, 10), complete(3010, a, "")),
			"request 6: 140..1001 total 861 ttft 860 bound out 10\nrequest 11: 2001..3001 total 1000 ttft 999 bound out 10\nturn 12 ok: 120..3010 duration 2890, 2 requests, shell 1000..1500"},
		{"old: a turn lasts until the next message", join(m, user(140), context0(141, "", "m"), said(2000), answer(2001), count(2002, 10, 10), user(60_000), context0(60_001, "", "m"), answer(62_000), count(62_002, 20, 10)),
			"request 6: 141..2002 total 1861 ttft 1859 bound out 10\nturn 6 ok: 140..2002 duration 1862, 1 requests\nrequest 10: 60001..62002 total 2001 ttft 1999 bound out 10\nturn 10 ok: 60000..62002 duration 2002, 1 requests"},
		{"old: only turn_context", join(m, context0(141, "", "m"), answer(2001), count(2002, 10, 10), context0(60_001, "", "m"), answer(62_000), count(62_002, 20, 10)),
			"request 4: 141..2002 total 1861 ttft 1860 bound out 10\nturn 4 ok: 141..2002 duration 1861, 1 requests\nrequest 7: 60001..62002 total 2001 ttft 1999 bound out 10\nturn 7 ok: 60001..62002 duration 2001, 1 requests"},
		{"old: turn_context for each request", join(m, user(140), context0(141, "", "m"), tool(2001, "c"), count(2002, 10, 10), output(3000, "c"), context0(3001, "", "m"), answer(5000), count(5002, 20, 10)),
			"request 5: 141..2002 total 1861 ttft 1860 bound out 10\nrequest 9: 3001..5002 total 2001 ttft 1999 bound out 10\nturn 9 ok: 140..5002 duration 4862, 2 requests, shell 2001..3000"},
		{"old: open at the end of the file", join(m, user(140), context0(141, "", "m"), tool(2001, "c"), count(2002, 10, 10), output(3000, "c")),
			"request 5: 141..2002 total 1861 ttft 1860 bound out 10\nturn 6 unfinished: 140..3000, 1 requests, shell 2001..3000"},
		{"old: the note of an abort does not start the next turn", join(m, user(140), reasoning(500), event(900, "turn_aborted", `"reason":"interrupted"`), item(901, "message", `"role":"user","content":[]`), user(50_000), answer(52_000), count(52_001, 10, 10)),
			"turn 4 aborted: 140..900 duration 760, 0 requests\nrequest 8: 50000..52001 total 2001 ttft 2000 bound out 10\nturn 8 ok: 50000..52001 duration 2001, 1 requests"},
		{"the beginning is not in the log", join(answer(3000), count(3001, 10, 10), complete(3010, a, `"duration_ms":9000,"time_to_first_token_ms":10`)),
			"request 2: ?..3001 out 10\noutside_turn 3"},
		{"an end without a turn", join(m, complete(3010, a, `"duration_ms":9000`)), "outside_turn 2"},
		{"the end of another turn", join(m, started(120, a), complete(200, b, ""), complete(300, a, "")),
			"outside_turn 3\nturn 4 ok: 120..300 duration 180, 0 requests"},
		{"the same end twice", join(m, started(120, a), complete(300, a, ""), complete(301, a, "")),
			"turn 3 ok: 120..300 duration 180, 0 requests\noutside_turn 4"},
		{"resume repeats the meta", join(m, started(120, a), complete(300, a, ""), m, started(20_000, b), complete(20_500, b, "")),
			"turn 3 ok: 120..300 duration 180, 0 requests\nturn 6 ok: 20000..20500 duration 500, 0 requests"},
	})
}

func TestFirstTurnOfAFileIsWrittenLate(t *testing.T) {
	tail := func(ttft string) string {
		return join(reasoning(8000), answer(9000), count(9010, 10, 10), complete(9020, a, `"duration_ms":8900`+ttft))
	}
	late := join(meta0(4000, ""), started(4000, a), context0(4001, a, "m"), user(4002))
	run(t, []testCase{
		{"the stated duration gives the start", join(late, tail("")),
			"request 7: 120..9010 total 8890 ttft 7880 bound out 10\nturn 8 ok: 120..9020 duration 8900, 1 requests"},
		{"and the start of the clock of the turn's ttft", join(late, tail(`,"time_to_first_token_ms":7000`)),
			"request 7: 120..9010 total 8890 ttft 7000 estimated out 10\nturn 8 ok: 120..9020 duration 8900 ttft 7000, 1 requests"},
		{"without a duration, the turn's id", join(late, answer(9000), count(9010, 10, 10), complete(9020, a, "")),
			"request 6: 120..9010 total 8890 ttft 8880 bound out 10\nturn 7 ok: 120..9020 duration 8900, 1 requests"},
		{"without both, started_at, in seconds", join(meta0(4000, ""), event(4000, "task_started", fmt.Sprintf(`"turn_id":"x","started_at":%d`, base.Unix()+1)), user(4002), answer(9000), count(9010, 10, 10), complete(9020, "x", "")),
			"request 5: 1000..9010 total 8010 ttft 8000 bound out 10\nturn 6 ok: 1000..9020 duration 8020, 1 requests"},
		{"the time of an item is exact", join(meta0(4000, `,"history_mode":"paginated"`), started(4000, a), itemDone(4002, "UserMessage", "u", 300, 301), itemDone(6000, "AgentMessage", "m", 5000, 6000), usageLine(6001, "r", 10, 10), complete(6010, a, `"duration_ms":5890`)),
			"request 5: 301..6001 total 5700 ttft 4699 estimated out 10\nturn 6 ok: 120..6010 duration 5890, 1 requests"},
		{"a slept-over turn keeps its line", join(meta0(118, ""), started(120, a), user(130), answer(9000), count(9010, 10, 10), complete(3_600_000, a, `"duration_ms":8900`)),
			"request 5: 130..9010 total 8880 ttft 8870 bound out 10\nturn 6 ok: 120..3600000 duration 8900, 1 requests"},
	})
}

func TestShowsWhatCameFirst(t *testing.T) {
	head := join(meta0(118, ""), started(120, a), user(140))
	used := func(ms int) string {
		u := tokens(100, 0, 50, 20)
		return event(ms, "token_count", fmt.Sprintf(`"info":{"total_token_usage":%s,"last_token_usage":%s}`, u, u))
	}
	run(t, []testCase{
		{"hidden reasoning came before the first visible output", join(head, reasoning(4100), answer(5000), used(5001), complete(5010, a, `"duration_ms":4890,"time_to_first_token_ms":4000`)),
			"request 6: 120..5001 total 4881 ttft 4000 estimated visible out 50\nturn 7 ok: 120..5010 duration 4890 ttft 4000, 1 requests"},
		{"reasoning that goes on after it was what could be seen", join(head, event(3500, "agent_reasoning", ""), reasoning(4100), answer(5000), used(5001), complete(5010, a, `"duration_ms":4890,"time_to_first_token_ms":1000`)),
			"request 7: 120..5001 total 4881 ttft 1000 estimated out 50\nturn 8 ok: 120..5010 duration 4890 ttft 1000, 1 requests"},
		{"a ttft after the end of the first request is none of it", join(head, answer(2000), used(2001), complete(5010, a, `"duration_ms":4890,"time_to_first_token_ms":3000`)),
			"request 5: 140..2001 total 1861 ttft 1860 bound out 50\nturn 6 ok: 120..5010 duration 4890 ttft 3000, 1 requests"},
		{"a ttft beyond the duration is none", join(head, answer(2000), used(2001), complete(5010, a, `"duration_ms":4890,"time_to_first_token_ms":5000`)),
			"request 5: 140..2001 total 1861 ttft 1860 bound out 50\nturn 6 ok: 120..5010 duration 4890, 1 requests"},
		{"an item's start with hidden reasoning before it", join(meta0(118, `,"history_mode":"paginated"`), started(120, a), user(140), itemDone(5000, "AgentMessage", "m", 4000, 5000), used(5001), complete(5010, a, "")),
			"request 5: 140..5001 total 4861 ttft 3860 estimated visible out 50\nturn 6 ok: 120..5010 duration 4890, 1 requests"},
	})
}

func testdata(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestFiles(t *testing.T) {
	run(t, []testCase{
		{"paginated", testdata(t, "paginated.jsonl"),
			"request 7: 417..5050 total 4633 ttft 2483 estimated out 210\nrequest 12: 8064..12300 total 4236 ttft 1200 estimated out 300\nturn 14 ok: 120..12351 duration 12230 ttft 4030, 2 requests, exec_command 5060..8060"},
		{"bare", testdata(t, "bare.jsonl"), ""},
		{"typescript", testdata(t, "typescript.json"), ""},
		{"typescript over many lines", "{\n  \"session\": {\n  },\n  \"items\": []\n}\n", ""},
		{"typescript over many lines, in another style", "{\"session\": {\n\"id\": 1 },\n  \"items\": []\n}\n", ""},
		{"a brace alone is not typescript", "{\n" + user(0), "bad_json 1"},
	})
}
