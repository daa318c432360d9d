package trace

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"codexlag/parse/lines"
	"codexlag/parse/record"
)

func show(r record.Record) string {
	switch r := r.(type) {
	case *record.Request:
		s := fmt.Sprintf("%s:%d %s", r.Session, r.Line, r.Status)
		if r.Quality != record.None {
			s += fmt.Sprintf(" ttft=%d/%s", r.TTFT.Milliseconds(), r.Quality)
		}
		if r.Total != 0 {
			s += fmt.Sprint(" total=", r.Total.Milliseconds())
		}
		for name, n := range map[string]record.Tokens{"out": r.Output} {
			if n.Known {
				s += fmt.Sprintf(" %s=%d", name, n.N)
			}
		}
		if r.Error != (record.Error{}) {
			s += fmt.Sprint(" error=", r.Error.HTTPStatus, r.Error.Kind)
		}
		for _, v := range []string{r.Turn, r.Model, r.Effort, r.Version} {
			if v != "" {
				s += " " + v
			}
		}
		return s
	case *record.Turn:
		return fmt.Sprintf("%s:%d turn %s requests=%d tools=%d duration=%d", r.Session, r.Line, r.Status, len(r.Requests), len(r.Tools), r.Duration.Milliseconds())
	case *record.Dropped:
		return fmt.Sprintf(":%d dropped %s", r.Line, r.Reason)
	}
	return "?"
}

func decode(t testing.TB, log string) []string {
	t.Helper()
	var got []string
	d := New("f", func(r record.Record) { got = append(got, show(r)) })
	r := lines.NewReader(strings.NewReader(log))
	r.NeedWhole = d.NeedWhole
	for r.Scan() {
		d.Line(r.Line())
	}
	d.End()
	return got
}

// at is a time of a line, s seconds into the log.
func at(s float64) string {
	return time.Date(2026, 9, 10, 9, 0, 0, 0, time.UTC).Add(time.Duration(s * 1e9)).Format("2006-01-02T15:04:05.000000Z")
}

const loop = "session_loop{thread_id=c1}: "

// common are the fields that each event ends with.
func common(s float64) string {
	return " event.timestamp=" + strings.Replace(at(s), "000Z", "Z", 1) + " conversation.id=c1 app.version=0.157.1 originator=Codex Desktop terminal.type=unknown model=gpt-x slug=gpt-x\n"
}

// sent and got are the two events of a request on a websocket.
func sent(s float64, spans string) string {
	return at(s) + "  INFO " + spans + `codex_otel.trace_safe: event.name="codex.websocket_request" duration_ms=3 success="true"` + common(s)
}

func got(s float64, spans string) string {
	return at(s) + "  INFO " + spans + `codex_otel.trace_safe: event.name="codex.sse_event" event.kind=response.completed input_token_count=12000 output_token_count=210 cached_token_count=8000 reasoning_token_count=128 tool_token_count=12210 model_reasoning_effort="high" ttft_ms=2400` + common(s)
}

const usual = " ok ttft=2400/measured total=4550 out=210 gpt-x high 0.157.1"

func TestTraps(t *testing.T) {
	deep := strings.Repeat(`turn{otel.name="session_task.turn" turn.id=t0 cwd="/w/a b{}:" codex.turn.token_usage.input_tokens=5 codex.turn.token_usage.output_tokens=7 model=gpt-old}:`, 691) + "run_turn: "
	veryDeep := strings.Repeat(deep[:len(deep)-len("run_turn: ")], 5) + "run_turn: "
	inTurn := func(id string) string {
		return `session_loop{thread_id=c1}:turn{otel.name="session_task.turn" thread.id=c1 turn.id=` + id + ` model=gpt-x}:run_turn: `
	}
	for _, test := range []struct {
		name string
		log  string
		want []string
	}{
		{"8: log_only and trace_safe are one event",
			sent(0.503, loop) + strings.Replace(sent(0.503, loop), "trace_safe", "log_only", 1) + got(5.05, loop) + strings.Replace(got(5.051, loop), "trace_safe", "log_only", 1) + strings.Replace(got(5.051, loop), "trace_safe", "log_only", 1),
			[]string{"c1:3" + usual}},
		{"10: fake fields in a tool call",
			sent(0.503, loop) + at(3) + "  INFO " + loop + `codex_core::tools: ToolCall: shell {"cmd":"echo event.name=\"codex.sse_event\" event.kind=response.completed output_token_count=77 ttft_ms=1 conversation.id=c1"}` + "\n" +
				at(3) + "  INFO " + loop + `codex_core::tools: ToolCall: apply_patch codex_otel.trace_safe: event.name="codex.sse_event" event.kind=response.completed output_token_count=77 ttft_ms=1` + common(3) +
				at(3) + `  INFO ToolCall: event.name="codex.sse_event" event.kind=response.completed output_token_count=77 ttft_ms=1` + common(3) +
				got(5.05, loop),
			[]string{"c1:5" + usual}},
		{"10: fake fields in unquoted arguments, output and prompt",
			at(1) + "  INFO " + loop + `codex_otel.log_only: event.name="codex.tool_result" tool_name=x call_id=1 arguments={"a":"} event.name=\"codex.sse_event\""} duration_ms=20 success=true output=a event.kind=response.completed output_token_count=77 conversation.id=c2` + "\n" +
				at(2) + "  INFO " + loop + `codex_otel.log_only: event.name="codex.user_prompt" prompt_length=9 prompt=hi event.name="codex.sse_event" event.kind=response.completed output_token_count=5` + common(2),
			nil},
		{"31: continuation lines",
			sent(0.503, loop) + "goes on event.name=\"codex.sse_event\" event.kind=response.completed output_token_count=5\n\n\tcodex_otel.log_only: event.name=\"codex.sse_event\"\n" + got(5.05, loop),
			[]string{"c1:5" + usual}},
		{"31: 691 nested spans of one turn", sent(0.503, loop+"") + got(5.05, "session_loop{thread_id=c1}:"+deep),
			[]string{"c1:2 ok ttft=2400/measured total=4550 out=210 t0 gpt-x high 0.157.1"}},
		{"31: spans longer than any line that is kept whole by default", sent(0.503, loop) + got(5.05, "session_loop{thread_id=c1}:"+veryDeep),
			[]string{"c1:2 ok ttft=2400/measured total=4550 out=210 t0 gpt-x high 0.157.1"}},
		{"31: colours",
			"\x1b[2m" + at(5) + "\x1b[0m \x1b[32m INFO\x1b[0m \x1b[1msession_loop\x1b[0m\x1b[1m{\x1b[0m\x1b[3mthread_id\x1b[0m\x1b[2m=\x1b[0mc1\x1b[1m}\x1b[0m\x1b[2m:\x1b[0m \x1b[2mcodex_otel.trace_safe\x1b[0m\x1b[2m:\x1b[0m \x1b[3mevent.name\x1b[0m\x1b[2m=\x1b[0m\"codex.sse_event\" \x1b[3mevent.kind\x1b[0m\x1b[2m=\x1b[0mresponse.completed \x1b[3moutput_token_count\x1b[0m\x1b[2m=\x1b[0m7 \x1b[3mconversation.id\x1b[0m\x1b[2m=\x1b[0mc1\n",
			[]string{"c1:1 ok out=7"}},
		{"31: quotes, braces, colons and blanks in span values",
			sent(0.503, `a{cwd="/w/x}: codex_otel.x: \" {"}:b{c=Some("q } r") d=Cfg { e: [1, 2], f: "}" } g=plain text here h=}:c1::poll{frame=Settings { flags: (0x0) }}:d: `) + got(5.05, loop),
			[]string{"c1:2" + usual}},
		{"29: another line was written into one: it gives no field away",
			sent(0.503, loop) + strings.TrimSuffix(sent(0.503, loop), "\n") + got(0.6, loop) + got(5.05, loop),
			[]string{"c1:3" + usual}},
		{"31: an unpaired brace in a span value", sent(0.503, `a{cwd=/w/{x}:b: `) + got(5.05, `a{cwd="/w/x}:b: `),
			[]string{"c1:2" + usual}},
		{"32: interleaved sessions",
			sent(0.503, loop) + strings.ReplaceAll(sent(0.6, loop), "=c1", "=c2") + got(5.05, loop) + strings.ReplaceAll(got(5.15, loop), "=c1", "=c2"),
			[]string{"c1:3" + usual, "c2:4 ok ttft=2400/measured total=4553 out=210 gpt-x high 0.157.1"}},
		{"22: retries",
			at(1) + "  INFO " + loop + `codex_otel.log_only: event.name="codex.api_request" duration_ms=100 http.response.status_code=429 error.message=rate limited duration_ms=9 attempt=7 attempt=0` + common(1) +
				at(3) + "  INFO " + loop + `codex_otel.log_only: event.name="codex.api_request" duration_ms=100 attempt=1 http.response.status_code=200` + common(3) + got(5.05, loop),
			[]string{"c1:3 ok ttft=4500/derived total=4150 out=210 gpt-x high 0.157.1"}},
		{"27: warm-up",
			strings.Replace(got(5.05, loop), "output_token_count=210", "output_token_count=0", 1),
			[]string{"c1:1 warmup ttft=2400/measured out=0 gpt-x high 0.157.1"}},
		{"29: glued to a partial line", sent(0.503, loop) + "2026-09-10T09:00:01.000000Z  INFO session_lo" + got(5.05, loop), []string{"c1:2" + usual}},
		{"29: cut short in its numbers", sent(0.503, loop) + got(5.05, loop)[:200] + "\n" + got(5.05, loop), []string{":2 dropped bad_json", "c1:3" + usual}},
		{"29: the last line is not finished", strings.TrimSuffix(sent(0.503, loop)+got(5.05, loop), "\n"), []string{"c1:2" + usual}},
		{"29: NULs and bytes that are no UTF-8", "\x00\x00\x00\n\xff\xfe event.name\n" + sent(0.503, loop) + got(5.05, loop), []string{"c1:4" + usual}},
		{"33: a name is clean", strings.Replace(got(5.05, loop), "model=gpt-x", "model=gpt\x07\xffx", 1), []string{"c1:1 ok ttft=2400/measured out=210 gpt\ufffd\ufffdx high 0.157.1"}},
		{"no target printed",
			strings.ReplaceAll(sent(0.503, loop)+got(5.05, loop), "codex_otel.trace_safe: ", ""), []string{"c1:2" + usual}},
		{"the target before the split, no spans, common fields first",
			at(1) + `  INFO codex_otel::otel_event_manager: event.name="codex.sse_event" event.timestamp=` + at(1) + ` conversation.id=c1 app.version=0.40.0 terminal.type=Apple Terminal model=gpt-x slug=gpt-x event.kind=response.completed input_token_count=5 output_token_count=6 cached_token_count=4 tool_token_count=11` + "\n",
			[]string{"c1:1 ok out=6 gpt-x 0.40.0"}},
		{"another crate's target", strings.ReplaceAll(sent(0.503, loop)+got(5.05, loop), "codex_otel.trace_safe", "codex_otelx.trace"), nil},
		{"not one of the levels", strings.ReplaceAll(got(5.05, loop), " INFO ", " NOTE "), nil},
		{"an error message with fields in it",
			at(1) + "  INFO " + loop + `codex_otel.log_only: event.name="codex.sse_event" error.message=stream disconnected before completion: conversation.id=c9 output_token_count=7` + common(1),
			[]string{"c1:1 failed error=0disconnected gpt-x 0.157.1"}},
		{"conversation and turn from the spans",
			sent(0.503, inTurn("t7")) + got(5.05, loop),
			[]string{"c1:2 ok ttft=2400/measured total=4550 out=210 t7 gpt-x high 0.157.1"}},
		{"no telemetry: spans of the model client, of a warm-up, of a connection, of a turn",
			at(0) + "  INFO " + strings.Replace(inTurn("t1"), ":run_turn", "", 1) + "codex_core::tasks: new\n" +
				at(0.1) + "  INFO " + inTurn("t1")[:len(inTurn("t1"))-2] + ":model_client.stream_responses_websocket{model=gpt-x websocket.warmup=true}: codex_core::client: new\n" +
				at(0.2) + "  INFO " + inTurn("t1")[:len(inTurn("t1"))-2] + ":model_client.stream_responses_websocket{model=gpt-x websocket.warmup=true}: codex_core::client: close time.busy=1.00ms time.idle=99.0ms\n" +
				at(1) + "  INFO " + inTurn("t1")[:len(inTurn("t1"))-2] + ":model_client.stream_responses_websocket{model=gpt-x}: codex_core::client: new\n" +
				at(1.1) + "  INFO " + inTurn("t1")[:len(inTurn("t1"))-2] + ":model_client.stream_responses_websocket{model=gpt-x}:model_client.websocket_connection{x=1}: codex_core::client: new\n" +
				at(1.2) + "  INFO " + inTurn("t1")[:len(inTurn("t1"))-2] + ":model_client.stream_responses_websocket{model=gpt-x}:model_client.websocket_connection{x=1}: codex_core::client: close time.busy=1.00ms time.idle=99.0ms\n" +
				at(4.9) + " TRACE " + inTurn("t1")[:len(inTurn("t1"))-2] + ":handle_responses{otel.name=\"x\"}: codex_core::session::turn: close time.busy=514µs time.idle=3.00µs\n" +
				at(5) + " TRACE " + inTurn("t1")[:len(inTurn("t1"))-2] + ":handle_responses{otel.name=\"completed\" gen_ai.usage.input_tokens=12000 gen_ai.usage.cache_read.input_tokens=8000 gen_ai.usage.output_tokens=210 codex.usage.reasoning_output_tokens=128}: codex_core::session::turn: close time.busy=514µs time.idle=3.00µs\n" +
				at(5.5) + "  INFO " + inTurn("t1")[:len(inTurn("t1"))-2] + ":model_client.stream_responses_websocket{model=gpt-x}: codex_core::client: close time.busy=514µs time.idle=4.50s\n" +
				at(5.6) + "  INFO " + inTurn("t1") + "codex_core::session::turn: post sampling token usage turn_id=t1 total_usage_tokens=12210 needs_follow_up=false\n" +
				at(6) + "  INFO " + strings.Replace(inTurn("t1"), ":run_turn", "", 1) + "codex_core::tasks: close time.busy=1ms time.idle=5.9s\n",
			[]string{"c1:9 ok total=4500 out=210 t1 gpt-x", "c1:11 turn ok requests=1 tools=0 duration=6000"}},
		{"no telemetry: nothing but the end of a request",
			at(5.6) + "  INFO " + loop + "codex_core::codex: post sampling token usage turn_id=t1 total_usage_tokens=12210\n", []string{":1 dropped no_time"}},
		{"telemetry and spans tell of one request",
			at(0.5) + "  INFO session_loop{thread_id=c1}:model_client.stream_responses_websocket{model=gpt-x}: codex_core::client: new\n" + sent(0.503, loop) + got(5.05, loop) +
				at(5.051) + "  INFO session_loop{thread_id=c1}:model_client.stream_responses_websocket{model=gpt-x}: codex_core::client: close time.busy=1ms time.idle=4.5s\n",
			[]string{"c1:3" + usual}},
		{"the oldest builds: tokens, no time",
			at(5) + "  INFO handle_codex_event: TokenCount(TokenUsage { input_tokens: 1000, cached_input_tokens: Some(200), output_tokens: 300, reasoning_output_tokens: Some(0), total_tokens: 1300 })\n" +
				at(5) + `  INFO FunctionCall: {"project_root":"TokenCount(TokenUsage"}` + "\n",
			[]string{":1 dropped no_time"}},
		{"json lines",
			`{"timestamp":"` + at(0.503) + `","level":"INFO","fields":{"event.name":"codex.websocket_request","duration_ms":"3","success":"true","event.timestamp":"` + at(0.503) + `","conversation.id":"c1"},"target":"codex_otel.trace_safe","span":{"turn.id":"t1","name":"turn"},"spans":[{"thread_id":"c1","name":"session_loop"}]}` + "\n" +
				`{"timestamp":"` + at(3) + `","level":"INFO","fields":{"message":"ToolCall: \"event.name\"","event.name":"codex.sse_event","event.kind":"response.completed","output_token_count":"7"},"target":"codex_core::tools"}` + "\n" +
				`{"target":"codex_otel.log_only","fields":{"event.kind":"response.completed","output_token_count":"210","input_token_count":9,"ttft_ms":2400,"event.name":"codex.sse_event","conversation.id":"c1"},"level":"INFO","timestamp":"` + at(5.05) + `"}` + "\n" +
				`{"timestamp":"` + at(9) + `","fields":{"event.name":"codex.sse_event"` + "\n" +
				`{"timestamp":"yesterday","fields":{"event.name":"codex.sse_event"}}` + "\n" +
				`{"timestamp":"` + at(10) + `","fields":{"message":"new"},"target":"codex_core::client","span":{"name":"model_client.stream_responses_websocket"},"spans":[{"name":"session_loop","thread_id":"c1"}]}` + "\n" +
				`{"timestamp":"` + at(14) + `","fields":{"message":"close","time.busy":"1ms","time.idle":"2s"},"target":"codex_core::client","span":{"name":"model_client.stream_responses_websocket"},"spans":[{"name":"session_loop","thread_id":"c1"}]}` + "\n",
			[]string{"c1:3 ok ttft=2400/measured total=4550 out=210 t1", ":4 dropped bad_json", ":5 dropped bad_time", "c1:7 ok total=4000"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := decode(t, test.log); !slices.Equal(got, test.want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// The rows of a database have the time, the target and the thread in columns.
func TestRow(t *testing.T) {
	var out []string
	d := NewFormat(record.FormatSQLite, "f", func(r record.Record) {
		out = append(out, show(r)+" "+string(r.(*record.Request).Format))
	})
	row := func(s float64, target, body string) {
		when, err := time.Parse(time.RFC3339Nano, at(s))
		if err != nil {
			t.Fatal(err)
		}
		d.Row(Row{Pos: record.Pos{File: "f", Line: int64(s * 1000)}, Time: when, Target: []byte(target), Thread: []byte("c1"), Body: []byte(body)})
	}
	row(0.503, "codex_otel.log_only", `run_turn: event.name="codex.websocket_request" duration_ms=3 success="true"`)
	row(2, "codex_core::tools", `run_turn: event.name="codex.sse_event" event.kind=response.completed input_token_count=1 output_token_count=77 conversation.id=c1`)
	row(3, "codex_core::tools", `codex_otel.log_only: event.name="codex.sse_event" event.kind=response.completed input_token_count=1 output_token_count=77 conversation.id=c1`)
	row(5.05, "codex_otel.trace_safe", at(5.05)+`  INFO event.name="codex.sse_event" event.kind=response.completed input_token_count=1 output_token_count=21 ttft_ms=2400 conversation.id=c1`)
	d.End()
	if want := []string{"c1:5050 ok ttft=2400/measured total=4550 out=21 sqlite"}; !slices.Equal(out, want) {
		t.Errorf("got %q, want %q", out, want)
	}
}

func TestNeedWhole(t *testing.T) {
	head := func(s string) []byte { return []byte(s + strings.Repeat("x", lines.Window)) }
	for _, test := range []struct {
		name string
		head []byte
		want bool
	}{
		{"a tool call", head(at(1) + "  INFO " + loop + "codex_core::tools: ToolCall: shell "), false},
		{"an event with long output", head(at(1) + "  INFO " + loop + `codex_otel.log_only: event.name="codex.tool_result" duration_ms=3 output=`), false},
		{"spans without end", []byte(at(1) + "  INFO " + strings.Repeat("turn{a=1}:", lines.Window/10)), true},
		{"a span value without end", head(at(1) + "  INFO a{b="), true},
		{"no line of a trace", head("xxx"), false},
		{"json event", head(`{"timestamp":"","fields":{"event.name":"codex.tool_result","output":"`), true},
		{"json noise", head(`{"timestamp":"","fields":{"message":"\"event.name\":\"codex.`), false},
		{"nothing", nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := New("f", func(record.Record) {}).NeedWhole(test.head); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestInfo(t *testing.T) {
	d := New("f", func(record.Record) {})
	for i, s := range strings.SplitAfter(sent(0.503, loop)+sent(0.504, loop)+got(5.05, loop), "\n") {
		d.Line(lines.Line{N: int64(i + 1), Text: []byte(strings.TrimSuffix(s, "\n")), Size: int64(len(s))})
	}
	d.End()
	if i := d.Info(); i.Version != "0.157.1" || i.Events != 3 || i.Copies != 1 || i.Requests != 1 || !i.HasTTFT {
		t.Errorf("got %+v", i)
	}
}

// noise makes the lines that fill such a log.
func noise(n int) []byte {
	var b strings.Builder
	spans := `session_loop{thread_id=01a08a8b-9a80-7000-8000-0000000000a1}:turn{otel.name="session_task.turn" thread.id=01a08a8b-9a80-7000-8000-0000000000a1 turn.id=01a08a8b-9af8-7000-8000-0000000000b1 model=gpt-x}:run_turn:run_sampling_request: `
	for b.Len() < n {
		s := float64(b.Len()) / 1000
		fmt.Fprintf(&b, "%s  INFO %scodex_core::tools: ToolCall: exec_command {\"cmd\":\"rg -n needle src | head -%d\",\"workdir\":\"/w\"}\n", at(s), spans, b.Len())
		fmt.Fprintf(&b, "%s DEBUG %scodex_core::exec: the quick event of some eventual evening with even events and sampling in it %s\n", at(s), spans, strconv.Itoa(b.Len()))
		fmt.Fprintf(&b, "%s TRACE %shyper::proto: flushed 128 bytes\n", at(s), spans)
		fmt.Fprintf(&b, "%s  INFO thread_spawn{otel.name=\"thread_spawn\"}:get_model_info{model=\"gpt-x\"}: codex_core::models_manager::manager: close time.busy=21.3µs time.idle=3.00µs\n", at(s))
	}
	return []byte(b.String())
}

func events(n int) []byte {
	var b strings.Builder
	for s := 1.0; b.Len() < n; s += 10 {
		for range 2 {
			b.WriteString(sent(s, loop) + got(s+5, loop))
		}
	}
	return []byte(b.String())
}

func bench(b *testing.B, log []byte) {
	var all []lines.Line
	for i, text := range strings.Split(strings.TrimSuffix(string(log), "\n"), "\n") {
		all = append(all, lines.Line{N: int64(i + 1), Text: []byte(text), Size: int64(len(text))})
	}
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	for b.Loop() {
		d := New("f", func(record.Record) {})
		for _, l := range all {
			d.Line(l)
		}
		d.End()
	}
	b.ReportMetric(float64(len(all)), "lines/op")
}

func BenchmarkNoise(b *testing.B)  { bench(b, noise(1<<20)) }
func BenchmarkEvents(b *testing.B) { bench(b, events(1<<20)) }

func TestNoiseMakesNoGarbage(t *testing.T) {
	d := New("f", func(r record.Record) { t.Errorf("noise made %s", show(r)) })
	var all []lines.Line
	for _, text := range strings.Split(string(noise(1<<16)), "\n") {
		all = append(all, lines.Line{Text: []byte(text), Size: int64(len(text))})
	}
	n := testing.AllocsPerRun(3, func() {
		for _, l := range all {
			d.Line(l)
		}
	})
	if n > 0 {
		t.Errorf("%g allocations", n)
	}
}

func FuzzTrace(f *testing.F) {
	whole := sent(0.503, loop) + got(5.05, loop)
	f.Add([]byte(whole))
	f.Add([]byte(whole[:len(whole)/2]))                // truncated
	f.Add([]byte(strings.ReplaceAll(whole, "\n", ""))) // glued
	f.Add([]byte(got(5.05, loop) + sent(0.503, loop))) // reordered
	f.Add([]byte(strings.ReplaceAll(whole, "}", "")))  // spans without end
	f.Add([]byte(strings.ReplaceAll(whole, " ", "\x1b[2m ")))
	f.Add([]byte(at(1) + "  INFO a{b=\"\\\"}:c{d=Some(\"e\")}: f::g: close time.busy=1.00ms time.idle=2s\n"))
	f.Add([]byte(at(1) + "  INFO a{}:model_client.stream_responses_websocket{}: close time.busy=1.00ms time.idle=2s\n" + at(1) + "  INFO x: post sampling token usage turn_id=\n"))
	f.Add([]byte(`{"timestamp":"` + at(1) + `","fields":{"message":"close","event.name":"codex.tool_result","time.idle":"1s"},"target":"codex_otel.log_only","spans":[{"name":"turn"},{]}` + "\n"))
	f.Fuzz(func(t *testing.T, log []byte) {
		n := int64(0)
		d := New("f", func(r record.Record) {
			if w := r.Where(); w.Line < 1 || w.Line > n {
				t.Errorf("record of line %d, %d read", w.Line, n)
			}
			if q, ok := r.(*record.Request); ok && (q.TTFT < 0 || q.Total < 0 || len(q.Model) > 512 || len(q.Session) > 512) {
				t.Errorf("bad request: %s", show(q))
			}
			if u, ok := r.(*record.Turn); ok && (u.Duration < 0 || len(u.Requests) == 0) {
				t.Errorf("bad turn: %s", show(u))
			}
		})
		for _, text := range strings.Split(string(log), "\n") {
			n++
			d.NeedWhole([]byte(text))
			d.Line(lines.Line{N: n, Text: []byte(text), Size: int64(len(text))})
		}
		d.End()
	})
}

// What a log tells does not hang on how its sessions are mixed.
func TestInterleaving(t *testing.T) {
	var a, b []string
	for i := range 30 {
		s := float64(i) * 10
		a = append(a, sent(s+1, loop), got(s+6, loop), got(s+6.001, loop))
		b = append(b, strings.ReplaceAll(sent(s+2.2, loop), "=c1", "=c2"), strings.ReplaceAll(got(s+8, loop), "=c1", "=c2"))
	}
	bare := func(records []string) []string {
		for i, r := range records {
			session, rest, _ := strings.Cut(r, ":")
			_, rest, _ = strings.Cut(rest, " ")
			records[i] = session + " " + rest
		}
		slices.Sort(records)
		return records
	}
	want := bare(decode(t, strings.Join(slices.Concat(a, b), "")))
	if len(want) != 60 {
		t.Fatalf("%d requests, want 60", len(want))
	}
	random := rand.New(rand.NewPCG(5, 6))
	for range 10 {
		var mixed strings.Builder
		x, y := a, b
		for len(x)+len(y) > 0 {
			if len(y) == 0 || len(x) > 0 && random.IntN(2) == 0 {
				mixed.WriteString(x[0])
				x = x[1:]
			} else {
				mixed.WriteString(y[0])
				y = y[1:]
			}
		}
		if got := bare(decode(t, mixed.String())); !slices.Equal(got, want) {
			t.Fatalf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

var _ record.Decoder = (*Decoder)(nil)
