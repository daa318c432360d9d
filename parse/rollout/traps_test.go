package rollout

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"codexlag/parse/lines"
	"codexlag/parse/record"
)

func TestCountingTraps(t *testing.T) {
	head := join(meta0(118, ""), started(120, a), user(140))
	usage := func(ms int, total, last string) string {
		return event(ms, "token_count", `"info":{"total_token_usage":`+total+`,"last_token_usage":`+last+`}`)
	}
	end := complete(9000, a, "")
	turn := func(line, n int) string {
		return fmt.Sprintf("turn %d ok: 120..9000 duration 8880, %d requests", line, n)
	}
	const none = "null"
	onlyTotal := `{"input_tokens":0,"cached_input_tokens":0,"output_tokens":0,"reasoning_output_tokens":0,"total_tokens":272000}`
	run(t, []testCase{
		{"repeats with unchanged totals", join(head, answer(1000), count(1001, 10, 10), count(2000, 10, 10), count(3000, 10, 10), end),
			"repeat 6\nrepeat 7\nrequest 5: 140..1001 total 861 ttft 860 bound out 10\n" + turn(8, 1)},
		{"the same usage with a new total is another response", join(head, answer(1000), count(1001, 10, 10), answer(2000), count(2001, 20, 10), end),
			"request 5: 140..1001 total 861 ttft 860 bound out 10\nrequest 7: 1001..2001 total 1000 ttft 999 bound out 10\n" + turn(8, 2)},
		{"a total that drops", join(head, answer(1000), count(1001, 90, 10), answer(2000), count(2001, 20, 10), end),
			"request 5: 140..1001 total 861 ttft 860 bound out 10\nrequest 7: 1001..2001 total 1000 ttft 999 bound out 10\n" + turn(8, 2)},
		{"info null", join(head, event(150, "token_count", `"info":null,"rate_limits":{}`), answer(1000), count(1001, 10, 10), end),
			"request 6: 140..1001 total 861 ttft 860 bound out 10\n" + turn(7, 1)},
		{"no info at all", join(head, event(150, "token_count", `"rate_limits":{}`), event(160, "token_count", `"info":{}`), end), turn(6, 0)},
		{"a usage record and its count are one response", join(head, answer(1000), usageLine(1001, "r", 10, 10), count(1003, 10, 10), count(1500, 10, 10), end),
			"repeat 7\nrequest 5: 140..1001 total 861 ttft 860 bound out 10\n" + turn(8, 1)},
		{"the same usage record twice", join(head, answer(1000), usageLine(1001, "r", 10, 10), usageLine(1002, "r", 10, 10), end),
			"repeat 6\nrequest 5: 140..1001 total 861 ttft 860 bound out 10\n" + turn(7, 1)},
		{"a count before its usage record", join(head, answer(1000), count(1001, 10, 10), usageLine(1002, "r", 10, 10), answer(2000), count(2001, 30, 20), usageLine(2002, "s", 30, 20), end),
			"request 5: 140..1001 total 861 ttft 860 bound out 10\nrequest 8: 1001..2001 total 1000 ttft 999 bound out 20\n" + turn(10, 2)},
		{"a usage record paired by the thread's total", join(head, answer(1000), usageLine(1001, "r", 10, 10), usage(1002, tokens(100, 0, 10, 0), none), end),
			"request 5: 140..1001 total 861 ttft 860 bound out 10\n" + turn(7, 1)},
		{"synthetic usage on overflow of the window", join(head, answer(1000), count(1001, 10, 10), usage(1500, onlyTotal, onlyTotal), usage(1600, onlyTotal, onlyTotal), end),
			"synthetic 6\nrepeat 7\nrequest 5: 140..1001 total 861 ttft 860 bound out 10\n" + turn(8, 1)},
		{"synthetic last usage after compaction", join(head, answer(1000), count(1001, 10, 10), usage(1500, tokens(100, 0, 10, 0), onlyTotal), end),
			"synthetic 6\nrequest 5: 140..1001 total 861 ttft 860 bound out 10\n" + turn(7, 1)},
		{"no last usage: what the total grew by", join(head, answer(1000), usage(1001, tokens(100, 0, 10, 0), none), answer(2000), usage(2001, tokens(300, 0, 35, 0), none), end),
			"request 5: 140..1001 total 861 ttft 860 bound out 10\nrequest 7: 1001..2001 total 1000 ttft 999 bound out 25\n" + turn(8, 2)},
		{"no last usage, and the total dropped: unknown", join(head, answer(1000), usage(1001, tokens(100, 0, 10, 0), none), answer(2000), usage(2001, tokens(30, 0, 5, 0), none), end),
			"request 5: 140..1001 total 861 ttft 860 bound out 10\nrequest 7: 1001..2001 total 1000 ttft 999 bound\n" + turn(8, 2)},
		{"no total usage", join(head, answer(1000), usage(1001, none, tokens(100, 0, 10, 0)), usage(1500, none, tokens(100, 0, 10, 0)), end),
			"repeat 6\nrequest 5: 140..1001 total 861 ttft 860 bound out 10\n" + turn(7, 1)},
		{"the same answer as event and item is one item", join(head, said(1000), answer(1005), count(1006, 10, 10), end),
			"request 6: 140..1006 total 866 ttft 860 bound out 10\n" + turn(7, 1)},
		{"warm-up", join(head, usage(400, tokens(100, 0, 0, 0), tokens(100, 0, 0, 0)), answer(1000), usage(1001, tokens(200, 0, 10, 0), tokens(100, 0, 10, 0)), complete(9000, a, `"duration_ms":8880,"time_to_first_token_ms":700`)),
			"request 4: 140..400 total 260 out 0 warmup\nrequest 6: 400..1001 total 601 ttft 420 estimated out 10\nturn 7 ok: 120..9000 duration 8880 ttft 700, 2 requests"},
		{"copies inside of compacted are not counted", join(head, line(500, "compacted", `{"latest_token_usage_record":`+usageLine(1, "r", 5, 5)+`,"replacement_history":[`+count(1, 5, 5)+`]}`), answer(1000), count(1001, 10, 10), end),
			"request 6: 500..1001 total 501 ttft 500 bound out 10\n" + turn(7, 1)},
		{"a session quoted in an output is not counted", join(head, item(500, "function_call_output", `"call_id":"c","output":`+fmt.Sprintf("%q", usageLine(1, "r", 5, 5)+"\n"+count(1, 5, 5))), answer(1000), count(1001, 10, 10), end),
			"request 6: 500..1001 total 501 ttft 500 bound out 10\n" + turn(7, 1)},
	})
}

// TestResponseID: a response id names a request across copies of a file.
func TestResponseID(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"usage record", join(answer(1000), usageLine(1001, "r", 10, 10), count(1002, 10, 10)), "r"},
		{"usage record after its count", join(answer(1000), count(1001, 10, 10), usageLine(1002, "r", 10, 10)), "r"},
		{"usage record of another response", join(answer(1000), count(1001, 10, 10), answer(2000), usageLine(2002, "r", 20, 10)), ""},
		{"count alone", join(answer(1000), count(1001, 10, 10)), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, _ := decode(join(started(0, "t"), user(1), c.in, complete(3000, "t", "")))
			if q := all[0].(*record.Request); q.ID != c.want {
				t.Errorf("id %q", q.ID)
			}
		})
	}
}

func TestTokensOfARequest(t *testing.T) {
	for _, c := range []struct {
		name, last                       string
		input, cached, output, reasoning record.Tokens
	}{
		{"total_tokens is not the output", `{"input_tokens":100,"cached_input_tokens":60,"output_tokens":20,"reasoning_output_tokens":5,"total_tokens":120}`,
			record.Count(100), record.Count(60), record.Count(20), record.Count(5)},
		{"counters of other kinds", `{"input_tokens":100,"cache_write_input_tokens":50,"output_tokens":20}`,
			record.Count(100), record.Tokens{}, record.Count(20), record.Tokens{}},
		{"negative", `{"input_tokens":-1,"cached_input_tokens":-5,"output_tokens":20}`,
			record.Tokens{}, record.Tokens{}, record.Count(20), record.Tokens{}},
		{"huge", `{"input_tokens":99999999999999999999,"cached_input_tokens":5,"output_tokens":9000000000000}`,
			record.Tokens{}, record.Count(5), record.Tokens{}, record.Tokens{}},
		{"parts greater than the whole", `{"input_tokens":100,"cached_input_tokens":160,"output_tokens":20,"reasoning_output_tokens":50}`,
			record.Count(100), record.Tokens{}, record.Count(20), record.Tokens{}},
		{"wrong types", `{"input_tokens":"100","cached_input_tokens":[],"output_tokens":20.0,"reasoning_output_tokens":null}`,
			record.Count(100), record.Tokens{}, record.Count(20), record.Tokens{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			total := `{"input_tokens":1,"output_tokens":1}`
			all, _ := decode(join(started(0, "t"), user(1), answer(1000), event(1001, "token_count", `"info":{"total_token_usage":`+total+`,"last_token_usage":`+c.last+`}`), complete(1010, "t", "")))
			q, ok := all[0].(*record.Request)
			if !ok {
				t.Fatal(show(all))
			}
			if q.Input != c.input || q.Cached != c.cached || q.Output != c.output || q.Reasoning != c.reasoning {
				t.Errorf("%+v", q)
			}
		})
	}
}

func TestTimeTraps(t *testing.T) {
	head := join(meta0(118, ""), started(120, a), user(140), answer(1000), count(1001, 10, 10))
	const q = "request 5: 140..1001 total 861 ttft 860 bound out 10\n"
	turn := func(fields string) string { return join(head, complete(9000, a, fields)) }
	run(t, []testCase{
		{"duration in ms, others in seconds", turn(fmt.Sprintf(`"started_at":%d,"completed_at":%d,"duration_ms":8870`, base.Unix(), base.Unix()+9)),
			q + "turn 6 ok: 120..9000 duration 8870, 1 requests"},
		{"negative duration", turn(`"duration_ms":-5`), q + "turn 6 ok: 120..9000 duration 8880, 1 requests"},
		{"duration of 31 days", turn(`"duration_ms":2678400000`), q + "turn 6 ok: 120..9000 duration 8880, 1 requests"},
		{"duration that is no number", turn(`"duration_ms":"soon","time_to_first_token_ms":{}`), q + "turn 6 ok: 120..9000 duration 8880, 1 requests"},
		{"ttft beyond everything", turn(`"time_to_first_token_ms":1e300`), q + "turn 6 ok: 120..9000 duration 8880, 1 requests"},
		{"negative ttft", turn(`"time_to_first_token_ms":-1`), q + "turn 6 ok: 120..9000 duration 8880, 1 requests"},
		{"clock set back in the middle of a request", join(meta0(118, ""), started(120, a), user(5000), answer(2000), count(2001, 10, 10), complete(2010, a, "")),
			"request 5: 120..2001 total 1881 ttft 1880 bound out 10\nturn 6 ok: 120..2010 duration 1890, 1 requests"},
		{"clock set back before the start", join(meta0(5000, ""), started(5000, v7(5000, 9)), user(5001), answer(2000), count(2001, 10, 10), complete(2010, v7(5000, 9), "")),
			"request 5: ?..2001 out 10\nturn 6 ok: 5000..2010, 1 requests"},
		{"clock set back between two requests", join(head, tool(5000, "c"), count(5001, 20, 10), output(3000, "c"), answer(4000), count(4001, 30, 10), complete(9000, a, "")),
			q + "request 7: 1001..5001 total 4000 ttft 3999 bound out 10\nrequest 10: ?..4001 out 10\nturn 11 ok: 120..9000 duration 8880, 3 requests"},
		{"a line 40 days later", join(head, complete(40*24*3600_000, a, "")), q + fmt.Sprintf("turn 6 ok: 120..%d, 1 requests", 40*24*3600_000)},
	})
}

func TestTools(t *testing.T) {
	head := join(meta0(118, ""), started(120, a), user(140))
	end := complete(9000, a, "")
	want := func(line int, tools string) string {
		return fmt.Sprintf("turn %d ok: 120..9000 duration 8880, 0 requests%s", line, tools)
	}
	run(t, []testCase{
		{"parallel calls are one interval each", join(head, tool(1000, "c"), tool(1001, "d"), output(3000, "d"), output(4000, "c"), end), want(8, ", shell 1000..4000, shell 1001..3000")},
		{"no output, no interval", join(head, tool(1000, "c"), end), want(5, "")},
		{"an output without its call", join(head, output(1000, "c"), end), want(5, "")},
		{"the same ids twice", join(head, tool(1000, "c"), tool(1500, "c"), output(3000, "c"), output(4000, "c"), end), want(8, ", shell 1000..3000")},
		{"an output before its call", join(head, tool(2000, "c"), output(1500, "c"), end), want(6, "")},
		{"calls of all kinds", join(head, item(1000, "custom_tool_call", `"call_id":"c","name":"apply_patch","input":"SECRET"`), item(2000, "custom_tool_call_output", `"call_id":"c","output":[]`),
			item(3000, "local_shell_call", `"call_id":"d","status":"completed","action":{"type":"exec"}`), output(4000, "d")), "turn 7 unfinished: 120..4000, 0 requests, apply_patch 1000..2000, local_shell 3000..4000"},
		{"a web search has no call id and is part of its response", join(head, item(1000, "web_search_call", `"action":{"query":"SECRET"}`), end), want(5, "")},
		{"waiting for approval counts: the call is asked before it runs", join(head, tool(1000, "c"), event(5000, "mcp_tool_call_end", `"call_id":"c","duration":{"secs":1,"nanos":0},"result":"SECRET"`), output(5001, "c"), end), want(7, ", shell 1000..5001")},
		{"only the end of a call", join(head, event(5000, "exec_command_end", `"call_id":"c","duration":1.5`), end), want(5, ", exec_command 3500..5000")},
		{"its end stated to the millisecond", join(head, event(5000, "exec_command_end", fmt.Sprintf(`"call_id":"c","duration":{"secs":0,"nanos":500000000},"completed_at_ms":%d`, unixMS(4900))), end), want(5, ", exec_command 4400..4900")},
		{"an end without a usable duration", join(head, event(5000, "exec_command_end", `"call_id":"c","duration":{"secs":-1}`), event(5001, "patch_apply_end", `"call_id":"d"`), end), want(6, "")},
		{"calls do not outlive their turn", join(head, tool(1000, "c"), end, started(10_000, "u"), output(11_000, "c"), complete(12_000, "u", "")),
			"turn 5 ok: 120..9000 duration 8880, 0 requests\nturn 8 ok: 10000..12000 duration 2000, 0 requests"},
		{"lines without payload", join(head, `{"timestamp":"`+stamp(1000)+`","type":"function_call","name":"shell","arguments":"{}","call_id":"c"}`,
			`{"timestamp":"`+stamp(3000)+`","type":"function_call_output","call_id":"c","output":"SECRET"}`, end), want(6, ", shell 1000..3000")},
	})
}

// TestModelSwitch: a request has the model that was set before its response came.
func TestModelSwitch(t *testing.T) {
	all, _ := decode(join(meta0(118, ""), started(120, a), context0(130, a, "one"), user(140), reasoning(900),
		event(950, "thread_settings_applied", `"thread_settings":{"model":"two","reasoning_effort":"low","model_provider_id":"azure"}`),
		answer(1000), count(1001, 10, 10), answer(2000), count(2001, 20, 10),
		context0(2002, a, "three"), answer(3000), count(3001, 30, 10), complete(9000, a, "")))
	var got []string
	for _, r := range all {
		if q, ok := r.(*record.Request); ok {
			got = append(got, q.Model+"/"+q.Effort)
		}
	}
	if want := []string{"one/high", "two/low", "three/high"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if turn := all[len(all)-1].(*record.Turn); turn.Model != "one" {
		t.Errorf("turn of model %q", turn.Model)
	}
}

func TestBadLines(t *testing.T) {
	run(t, []testCase{
		{"blank lines", "\n  \n\t\r\n", ""},
		{"truncated", `{"timestamp":"2026-09-10T09:00:00.000Z","type":"event_msg","payload":{"type":"agent_message","mess`, "bad_json 1"},
		{"truncated in the middle of a count", count(10, 1, 1)[:150], "bad_json 1"},
		{"truncated long line", item(10, "function_call_output", `"call_id":"c","output":"`+strings.Repeat("x", 5000)+`"`)[:3000], "bad_json 1"},
		{"glued records", user(0) + user(1), "bad_json 1"},
		{"a partial record glued to a full one", user(0)[:90] + user(1), "bad_json 1"},
		{"NULs", "\x00\x00\x00\x00", "not_text 1"},
		{"bad UTF-8", "\xe6\x87", "not_text 1"},
		{"text", "hello", "bad_json 1"},
		{"array", "[]", "not_an_object 1"},
		{"open array", "[{", "bad_json 1"},
		{"type of a wrong type", `{"type":7}`, "not_an_object 1"},
		{"payload of a wrong type", `{"timestamp":"2026-09-10T09:00:00Z","type":"event_msg","payload":[]}`, "not_an_object 1"},
		{"event without a type", line(0, "event_msg", "{}"), "not_an_object 1"},
		{"unknown type", `{"timestamp":"2026-09-10T09:00:01.000Z","type":"never_seen_before","payload":{"x":[1,2,{"y":null}]}}`, "unknown_type 1"},
		{"no type", `{"a":1}`, "unknown_type 1"},
		{"unknown type within", join(event(0, "never_seen_before", ""), item(1, "never_seen_before", "")), ""},
		{"known types that say nothing of time", join(line(0, "world_state", `{}`), line(0, "realtime_item", `{}`), line(0, "security_risk_score", `{}`)), ""},
		{"timestamp of a wrong form", `{"timestamp":"yesterday","type":"event_msg","payload":{"type":"token_count"}}`, "bad_time 1"},
		{"timestamp of a wrong type", `{"timestamp":7,"type":"event_msg","payload":{"type":"token_count"}}`, "bad_time 1"},
		{"no timestamp", `{"type":"event_msg","payload":{"type":"token_count"}}`, "bad_time 1"},
		{"usage of a wrong type", line(0, "token_usage_record", `{"usage":[]}`), "not_an_object 1"},
		{"a million levels deep", `{"timestamp":"2026-09-10T09:00:00Z","type":"event_msg","payload":{"type":"token_count","info":` + strings.Repeat("[", 1_000_000) + "}", "bad_json 1"},
		{"a million levels deep, closed", event(0, "token_count", `"info":{"total_token_usage":`+strings.Repeat(`{"a":`, 1_000_000)+"1"+strings.Repeat("}", 1_000_000)+"}"), ""},
		{"byte order mark", "\ufeff" + join(started(0, "t"), complete(1000, "t", "")), "turn 2 ok: 0..1000 duration 1000, 0 requests"},
		{"U+0085 inside of a string", join(started(0, "t"), event(1, "agent_message", "\"message\":\"a\u0085b\""), complete(1000, "t", "")), "turn 3 ok: 0..1000 duration 1000, 0 requests"},
	})
}

// TestKeyOrder: copies made by other programs sort the members of a line.
func TestKeyOrder(t *testing.T) {
	swap := func(line string) string {
		const prefix = len(`{"timestamp":"2026-09-10T09:00:00.000Z"`)
		i := strings.Index(line, `,"payload":`)
		return `{"ordinal":3` + line[i:len(line)-1] + "," + line[1:prefix] + line[prefix:i] + "}"
	}
	long := item(4000, "function_call_output", `"output":"`+strings.Repeat(`SECRET \"type\":\"x\" `, 100_000)+`","call_id":"c"`)
	in := []string{meta0(118, ""), started(120, a), context0(130, a, "m"), user(140), tool(3000, "c"), count(3001, 10, 10), long, answer(5000), count(5001, 20, 10), complete(5010, a, `"duration_ms":4890`)}
	plain, _ := decode(join(in...))
	want := show(plain)
	for i, l := range in {
		in[i] = swap(l)
	}
	all, _ := decode(join(in...))
	if got := show(all); got != want || !strings.Contains(want, "shell 3000..4000") {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNeedWhole(t *testing.T) {
	big := strings.Repeat("x", lines.Window)
	for _, c := range []struct {
		name, line string
		want       bool
	}{
		{"output", item(0, "function_call_output", `"call_id":"c","output":"`+big+`"`), false},
		{"output, call id behind", item(0, "function_call_output", `"output":"`+big+`","call_id":"c"`), true},
		{"call", item(0, "function_call", `"name":"shell","arguments":"`+big+`","call_id":"c"`), true},
		{"call, call id before", item(0, "function_call", `"name":"shell","call_id":"c","arguments":"`+big+`"`), false},
		{"message", item(0, "message", `"role":"user","content":[{"type":"input_image","image_url":"`+big+`"}]`), false},
		{"message, role behind", item(0, "message", `"content":["`+big+`"],"role":"user"`), true},
		{"reasoning", item(0, "reasoning", `"encrypted_content":"`+big+`"`), false},
		{"unknown item", item(0, "never_seen_before", `"x":"`+big+`"`), false},
		{"compacted", line(0, "compacted", `{"message":"`+big+`"}`), false},
		{"world state", line(0, "world_state", `{"x":"`+big+`"}`), false},
		{"unknown type", line(0, "never_seen_before", `{"x":"`+big+`"}`), false},
		{"agent message", event(0, "agent_message", `"message":"`+big+`"`), false},
		{"item", event(0, "item_completed", `"item":{"type":"CommandExecution","aggregated_output":"`+big+`"}`), true},
		{"turn end", event(0, "task_complete", `"last_agent_message":"`+big+`"`), true},
		{"session meta", line(0, "session_meta", `{"base_instructions":{"text":"`+big+`"}}`), true},
		{"payload first", `{"payload":{"type":"function_call_output","call_id":"c","output":"` + big + `"},"timestamp":"2026-09-10T09:00:00Z","type":"response_item"}`, true},
		{"without payload", `{"timestamp":"2026-09-10T09:00:00Z","type":"function_call_output","call_id":"c","output":"` + big + `"}`, false},
		{"typescript", `{"session":{"id":"x"},"items":["` + big + `"]}`, false},
		{"no JSON", big, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := New("f", func(r record.Record) { t.Errorf("emitted %s", show([]record.Record{r})) })
			if got := d.NeedWhole([]byte(c.line)[:lines.Window]); got != c.want {
				t.Fatalf("NeedWhole = %v", got)
			}
			if c.want || c.name == "no JSON" || c.name == "unknown type" {
				return
			}
			// What is not needed whole is read from its beginning without complaint.
			d.Line(lines.Line{N: 1, Text: []byte(c.line)[:lines.Head], Size: int64(len(c.line))})
		})
	}
}

func TestTooLong(t *testing.T) {
	all := []record.Record{}
	d := New("f", func(r record.Record) { all = append(all, r) })
	long := event(0, "task_complete", `"last_agent_message":"`+strings.Repeat("x", lines.Head)+`"`)
	d.Line(lines.Line{N: 1, Text: []byte(long)[:lines.Head], Size: int64(len(long))})
	if got := show(all); got != "too_long 1" {
		t.Error(got)
	}
}

func TestInfo(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     Info
	}{
		{"nothing", "", Info{}},
		{"typescript", testdata(t, "typescript.json"), Info{Era: EraTypeScript, Untimed: 1}},
		{"bare", testdata(t, "bare.jsonl"), Info{Era: EraBare, Session: "5f3c2c60-1111-4222-8333-444455556666", Untimed: 5}},
		{"wrapped", join(meta0(0, ""), started(1, "t"), complete(2, "t", `"time_to_first_token_ms":1`)), Info{Era: EraWrapped, Version: "0.128.0", Session: v7(0, 1), Turns: 1, HasTurnTTFT: true}},
		{"paginated", testdata(t, "paginated.jsonl"), Info{Era: EraPaginated, Version: "0.157.1", Session: "01a08a8b-9a80-7000-8000-0000000000a1", Requests: 2, Turns: 1, HasTurnTTFT: true, HasItemStarts: true}},
		{"paginated by its mode", meta0(0, `,"history_mode":"paginated"`), Info{Era: EraPaginated, Version: "0.128.0", Session: v7(0, 1)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, d := decode(c.in); d.Info() != c.want {
				t.Errorf("got %+v, want %+v", d.Info(), c.want)
			}
		})
	}
}

// TestPrivacy: names are clipped and no text of a session gets out.
func TestPrivacy(t *testing.T) {
	nasty := strings.Repeat(`\u001b[31m`, 3) + string([]byte{0xff}) + strings.Repeat("é", 60)
	all, _ := decode(join(
		line(0, "session_meta", `{"id":"x","cli_version":"`+nasty+`","base_instructions":{"text":"SECRET"}}`),
		started(1, "t"), context0(2, "t", nasty), user(3),
		item(1000, "function_call", `"name":"`+nasty+`","arguments":"SECRET","call_id":"c"`), count(1001, 10, 10), output(2000, "c"),
		complete(3000, "t", `"error":{"message":"SECRET"},"last_agent_message":"SECRET"`)))
	if len(all) != 2 {
		t.Fatal(show(all))
	}
	q, turn := all[0].(*record.Request), all[1].(*record.Turn)
	for _, s := range []string{q.Version, turn.Tools[0].Tool} {
		if len(s) > maxWord || !strings.HasPrefix(s, "[31m") || !strings.HasSuffix(s, "é") || strings.ContainsAny(s, "\x1b\ufffd") || !utf8.ValidString(s) {
			t.Errorf("%q", s)
		}
	}
	if s := fmt.Sprintf("%+v %+v", q, turn); strings.Contains(s, "SECRET") {
		t.Error(s)
	}
}

func TestClean(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "gpt-x", "gpt-x"},
		{"empty", "", ""},
		{"control characters", "a\x00b\nc\x7f\u009b", "abc"},
		{"text direction", "a\u202eb", "ab"},
		{"bad UTF-8", "a\xc3\x28", "a("},
		{"long", strings.Repeat("x", 1000), strings.Repeat("x", 80)},
		{"never half a character", strings.Repeat("x", 79) + "é", strings.Repeat("x", 79)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := clean([]byte(c.in)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestWordsAreBounded(t *testing.T) {
	var w words
	for i := range 3 * maxWords {
		if s := fmt.Sprint(i); w.take([]byte(s)) != s {
			t.Fatal(s)
		}
	}
	if len(w.known) > maxWords {
		t.Errorf("%d words kept", len(w.known))
	}
}

func TestUUIDTime(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     int64 // Unix ms, 0 for none
	}{
		{"version 7", "01a08a8b-9a80-7000-8000-0000000000a1", 0x01a08a8b9a80},
		{"capitals", "01A08A8B-9A80-7000-8000-0000000000A1", 0x01a08a8b9a80},
		{"version 4", "5f3c2c60-1111-4222-8333-444455556666", 0},
		{"a letter that is no digit", "01a08a8g-9a80-7000-8000-0000000000a1", 0},
		{"too short", "01a08a8b-9a80-7000", 0},
		{"other separators", "01a08a8b_9a80_7000_8000_0000000000a1", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := uuidTime(c.in)
			if ok != (c.want != 0) || ok && got != time.UnixMilli(c.want).UTC() {
				t.Errorf("got %v, %v", got, ok)
			}
		})
	}
}
