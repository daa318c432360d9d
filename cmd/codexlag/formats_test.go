package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	_ "modernc.org/sqlite"
)

// everyFormat makes a log of each format below dir. prose is in every place where
// people, models and programs write what they like; name is part of each name
// that a report may show. What is returned are lines of the formats that can be
// followed, by the file that holds them.
func everyFormat(t *testing.T, dir, prose, name string) (lines map[string]string) {
	t.Helper()
	fill := strings.NewReplacer("PROSE", prose, "NAME", name)
	lines = map[string]string{
		"wrapper.log": `2026-09-10T09:00:00Z [request] first_token_ms=900 total_tokens=600 total_ms=9000 model=m-NAME session=s-NAME-1 prompt="PROSE tell me" reply='PROSE' authorization="Bearer sk-PROSE" email=PROSE@example.org cwd=/home/PROSE/x` + "\n" +
			`2026-09-10T09:00:10Z [request] status=500 model=m-NAME error="PROSE went wrong" output=PROSE` + "\nPROSE\n",
		"objects.jsonl": `{"first_token_ms":910,"total_tokens":600,"total_ms":9100,"model":"m-NAME","prompt":"PROSE","messages":[{"role":"user","content":"PROSE first_token_ms=1"}],"headers":{"authorization":"Bearer sk-PROSE"},"user":{"email":"PROSE@example.org"}}` + "\n",
		"tui.log": `2026-09-10T09:01:00.000001Z  INFO session_loop{thread_id=t-NAME}: codex_otel.log_only: event.name="codex.user_prompt" prompt="PROSE" user.email="PROSE@example.org" user.account_id="PROSE" conversation.id=t-NAME model=m-NAME` + "\n" +
			`2026-09-10T09:01:05.000001Z  INFO session_loop{thread_id=t-NAME}: codex_otel.log_only: event.name="codex.tool_result" tool_name=shell duration_ms=1 success=true arguments={"command":["PROSE"]} output=PROSE` + "\nPROSE\n" +
			`2026-09-10T09:01:09.000001Z  INFO session_loop{thread_id=t-NAME}: codex_otel.log_only: event.name="codex.sse_event" event.kind=response.completed input_token_count=5 output_token_count=700 ttft_ms=920 event.timestamp=2026-09-10T09:01:09.000Z conversation.id=t-NAME user.email="PROSE@example.org" model=m-NAME slug=m-NAME` + "\n" +
			`2026-09-10T09:01:10.000001Z  INFO session_loop{thread_id=t-NAME}: codex_otel.log_only: event.name="codex.api_request" duration_ms=77 http.response.status_code=500 error.message="PROSE" event.timestamp=2026-09-10T09:01:10.000Z conversation.id=t-NAME model=m-NAME` + "\n",
		"capture.json": `{"resourceLogs":[{"resource":{"attributes":[{"key":"host.name","value":{"stringValue":"PROSE"}}]},"scopeLogs":[{"logRecords":[{"timeUnixNano":"1789031000000000000","body":{"stringValue":"PROSE"},"attributes":[` +
			`{"key":"event.name","value":{"stringValue":"codex.sse_event"}},{"key":"event.kind","value":{"stringValue":"response.completed"}},{"key":"ttft_ms","value":{"intValue":"930"}},{"key":"output_token_count","value":{"intValue":"800"}},` +
			`{"key":"input_token_count","value":{"intValue":"5"}},{"key":"conversation.id","value":{"stringValue":"o-NAME"}},{"key":"model","value":{"stringValue":"m-NAME"}},{"key":"user.email","value":{"stringValue":"PROSE@example.org"}},{"key":"prompt","value":{"stringValue":"PROSE"}}]}]}]}]}` + "\n",
		"rollout-2026-09-10T09-02-00-01a08a8b-9a80-7000-8000-0000000000a1.jsonl": `{"timestamp":"2026-09-10T09:02:00.000Z","type":"session_meta","payload":{"id":"r-NAME","cli_version":"0.157.1","cwd":"/home/PROSE","source":"cli","model_provider":"p-NAME","base_instructions":{"text":"PROSE"},"git":{"branch":"PROSE","repository_url":"PROSE"}}}
{"timestamp":"2026-09-10T09:02:00.100Z","type":"turn_context","payload":{"turn_id":"u-NAME","model":"m-NAME","effort":"high","cwd":"/home/PROSE"}}
{"timestamp":"2026-09-10T09:02:01.000Z","type":"event_msg","payload":{"type":"task_started","turn_id":"u-NAME"}}
{"timestamp":"2026-09-10T09:02:01.000Z","type":"event_msg","payload":{"type":"user_message","message":"PROSE"}}
{"timestamp":"2026-09-10T09:02:05.000Z","type":"response_item","payload":{"type":"function_call","name":"shell","call_id":"c","arguments":"{\"command\":[\"PROSE\"]}"}}
{"timestamp":"2026-09-10T09:02:06.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"/home/PROSE: PROSE"}}
{"timestamp":"2026-09-10T09:02:09.000Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":5,"output_tokens":900,"total_tokens":905},"last_token_usage":{"input_tokens":5,"output_tokens":900,"total_tokens":905}}}}
{"timestamp":"2026-09-10T09:02:10.000Z","type":"event_msg","payload":{"type":"task_complete","turn_id":"u-NAME","duration_ms":9000,"time_to_first_token_ms":940,"last_agent_message":"PROSE","error":{"message":"PROSE"}}}
`,
		"exec.jsonl": `{"type":"thread.started","thread_id":"e-NAME"}` + "\n" + `{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"PROSE"}}` + "\n" +
			`{"type":"turn.completed","usage":{"input_tokens":5,"cached_input_tokens":0,"output_tokens":9}}` + "\n",
		"bundle/trace.jsonl": `{"schema_version":1,"seq":1,"wall_time_unix_ms":1789032000000,"rollout_id":"b-NAME","thread_id":"b-NAME","codex_turn_id":"v-NAME","payload":{"type":"inference_started","inference_call_id":"i-NAME","thread_id":"b-NAME","codex_turn_id":"v-NAME","model":"m-NAME","provider_name":"p-NAME","request_payload":{"raw_payload_id":"p1","kind":{"type":"inference_request"},"path":"payloads/1.json"}}}` + "\n" +
			`{"schema_version":1,"seq":2,"wall_time_unix_ms":1789032009000,"rollout_id":"b-NAME","thread_id":"b-NAME","codex_turn_id":"v-NAME","payload":{"type":"inference_completed","inference_call_id":"i-NAME","response_id":"resp","response_payload":{"raw_payload_id":"p2","kind":{"type":"inference_response"},"path":"payloads/2.json"}}}` + "\n" +
			`{"schema_version":1,"seq":3,"wall_time_unix_ms":1789032010000,"rollout_id":"b-NAME","thread_id":"b-NAME","codex_turn_id":"v-NAME","payload":{"type":"inference_started","inference_call_id":"j-NAME","thread_id":"b-NAME","codex_turn_id":"v-NAME","model":"m-NAME","provider_name":"p-NAME"}}` + "\n" +
			`{"schema_version":1,"seq":4,"wall_time_unix_ms":1789032011000,"rollout_id":"b-NAME","thread_id":"b-NAME","codex_turn_id":"v-NAME","payload":{"type":"inference_failed","inference_call_id":"j-NAME","error":"PROSE"}}` + "\n",
	}
	for file, text := range lines {
		lines[file] = fill.Replace(text)
		write(t, dir, file, lines[file])
	}
	write(t, dir, "bundle/payloads/1.json", fill.Replace(`{"input":["PROSE"]}`))
	write(t, dir, "bundle/payloads/2.json", fill.Replace(`{"response_id":"resp","token_usage":{"input_tokens":5,"output_tokens":950,"total_tokens":955},"output_items":["PROSE"]}`))
	write(t, dir, "broken.jsonl", lines["objects.jsonl"]+fill.Replace(`{"first_token_ms":1,"prompt":"PROSE`+"\n"))

	var gz, zst bytes.Buffer
	g := gzip.NewWriter(&gz)
	g.Write([]byte(strings.ReplaceAll(lines["wrapper.log"], "09:00:", "09:30:")))
	g.Close()
	z, _ := zstd.NewWriter(&zst, zstd.WithEncoderConcurrency(1))
	z.Write([]byte(strings.ReplaceAll(lines["objects.jsonl"], "910", "911")))
	z.Close()
	write(t, dir, "old.log.gz", gz.String())
	write(t, dir, "old.jsonl.zst", zst.String())
	write(t, dir, "cut.log.gz", gz.String()[:gz.Len()-9])

	db, err := sql.Open("sqlite", filepath.Join(dir, "logs_2.sqlite"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	statements := []string{`CREATE TABLE logs (id INTEGER PRIMARY KEY AUTOINCREMENT, ts INTEGER NOT NULL, ts_nanos INTEGER NOT NULL, level TEXT NOT NULL, target TEXT NOT NULL, feedback_log_body TEXT, thread_id TEXT)`}
	for i, event := range []string{`{"type":"response.created","response":{"id":"r1","instructions":"PROSE"}}`, `{"type":"response.output_text.delta","delta":"PROSE"}`,
		`{"type":"response.completed","response":{"id":"r1","model":"m-NAME","output":[{"text":"PROSE"}],"usage":{"input_tokens":5,"output_tokens":990}}}`,
		`{"type":"response.created","response":{"id":"r2"}}`, `{"type":"response.failed","response":{"id":"r2","error":{"code":"server_error","message":"PROSE"}}}`} {
		body := "session_loop{thread_id=q-NAME}:turn{turn.id=w-NAME model=m-NAME}: SSE event: " + event
		statements = append(statements, fmt.Sprintf(`INSERT INTO logs(ts, ts_nanos, level, target, feedback_log_body, thread_id) VALUES (%d, 0, 'TRACE', 'codex_api::sse::responses', '%s', 'q-NAME')`, 1789033000+3*i, body))
	}
	for _, s := range statements {
		if _, err := db.Exec(fill.Replace(s)); err != nil {
			t.Fatal(err)
		}
	}
	return lines
}

// Each format is read as what it is, with all of its requests: else the tests
// that use these logs would prove nothing.
func TestEveryFormatIsRead(t *testing.T) {
	dir := t.TempDir()
	everyFormat(t, dir, "prose", "name")
	files := codexlag(t, "", "files", "--format", "json", dir)
	for _, format := range []string{"request", "rollout", "trace", "otlp", "exec", "sqlite", "bundle"} {
		if !strings.Contains(files.stdout, fmt.Sprintf(`"format": %q`, format)) && !strings.Contains(files.stdout, fmt.Sprintf(`"format":%q`, format)) {
			t.Errorf("no %s: %s", format, files.stdout)
		}
	}
	got := codexlag(t, "", "requests", "--format", "csv", dir).stdout
	for _, figures := range []string{",900,", ",910,", ",911,", ",920,", ",930,", ",940,", ",950,", ",990,"} {
		if !strings.Contains(got, figures) {
			t.Errorf("no request with %s in\n%s", figures, got)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "logs_2.sqlite-wal")); err == nil {
		t.Error("reading a database left files beside it")
	}
}
