package parse

import (
	"context"
	"database/sql"
	"fmt"

	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codexlag/parse/record"
)

// scan returns what a Reader makes of text, a line for each record.
func scan(text string) ([]string, Info) {
	r := NewReader("x", strings.NewReader(text), time.UTC)
	var out []string
	for r.Scan() {
		out = append(out, describeRecord(r.Record()))
	}
	return out, r.Info()
}

func describeRecord(r record.Record) string {
	switch r := r.(type) {
	case *record.Request:
		return fmt.Sprintf("%s:%d %s", r.Format, r.Line, r.Status)
	case *record.Turn:
		return fmt.Sprintf("turn:%d %s of %d", r.Line, r.Status, len(r.Requests))
	case *record.Dropped:
		return fmt.Sprintf("dropped:%d %s", r.Line, r.Reason)
	}
	return "?"
}

const (
	requestLine = "[request] first_token_ms=1 total_tokens=2 total_ms=3\n"
	traceHead   = "2026-09-10T09:00:00.000001Z  INFO session_loop{thread_id=t}: "
	completed   = traceHead + `codex_otel.log_only: event.name="codex.sse_event" event.kind=response.completed input_token_count=5 output_token_count=7 ttft_ms=9 event.timestamp=2026-09-10T09:00:00.000Z conversation.id=t model=m` + "\n"
	meta        = `{"timestamp":"2026-09-10T09:00:00.000Z","type":"session_meta","payload":{"id":"01a08a8b-9a80-7000-8000-0000000000a1","cli_version":"0.157.1"}}` + "\n"
)

// The format is recognised line by line.
func TestReaderRecognises(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
		format     record.Format
	}{
		{"nothing", "", nil, record.FormatUnknown},
		{"prose", "hello\nworld\n", nil, record.FormatUnknown},
		{"request lines among noise", "noise\n" + requestLine + "more\n" + requestLine, []string{"request:2 ok", "request:4 ok"}, record.FormatRequest},
		{"a trace", completed, []string{"trace:1 ok"}, record.FormatTrace},
		{"request lines between trace lines", completed + requestLine, []string{"trace:1 ok", "request:2 ok"}, record.FormatTrace},
		{"a request line inside a tool's output", traceHead + `codex_otel.log_only: event.name="codex.tool_result" tool_name=shell duration_ms=1 success=true output=` + "\n" + requestLine + completed,
			[]string{"trace:3 ok"}, record.FormatTrace},
		{"a request line inside a prompt", traceHead + `codex_otel.log_only: event.name="codex.user_prompt" prompt_length=9 prompt=look:` + "\n" + requestLine + completed,
			[]string{"trace:3 ok"}, record.FormatTrace},
		{"session lines inside a tool's output", traceHead + `codex_otel.log_only: event.name="codex.tool_result" tool_name=shell duration_ms=1 success=true output=` + "\n" + meta + `{"first_token_ms":1,"total_ms":2}` + "\n" + completed,
			[]string{"trace:4 ok"}, record.FormatTrace},
		{"a request line inside a coloured output", "\x1b[2m2026-09-10T09:00:00.000001Z\x1b[0m \x1b[32m INFO\x1b[0m \x1b[2mcodex_otel.log_only\x1b[0m: \x1b[3mevent.name\x1b[0m\x1b[2m=\x1b[0m\"codex.tool_result\" \x1b[3moutput\x1b[0m\x1b[2m=\x1b[0m\n" + requestLine + completed,
			[]string{"trace:3 ok"}, record.FormatTrace},
		{"a gateway that uses the same tracing library", "2026-09-10T09:00:00.000001Z  INFO gateway: model=gpt-5.2-codex " + requestLine, []string{"request:1 ok"}, record.FormatRequest},
		{"codex exec --json", `{"type":"thread.started","thread_id":"t"}` + "\n" + `{"type":"turn.started"}` + "\n", nil, record.FormatExec},
		{"exec and its trace in one file", `{"type":"thread.started","thread_id":"t"}` + "\n" + completed, []string{"trace:2 ok"}, record.FormatTrace},
		{"a session file", meta, nil, record.FormatRollout},
		{"a session file with broken lines", meta + "\xe6\x87\n[]\n\n{\"timestamp\":\"2026\n\x00\x00\n" + requestLine,
			[]string{"dropped:2 not_text", "dropped:3 not_an_object", "dropped:5 bad_json", "dropped:6 not_text", "request:7 ok"}, record.FormatRequest},
		{"request objects", `{"ts":1789030800,"first_token_ms":1,"total_ms":2}` + "\n", []string{"request:1 ok"}, record.FormatRequest},
		{"a request object with other members", `{"type":"request","id":"r","msg":"done","first_token_ms":1,"total_ms":2}` + "\n", []string{"request:1 ok"}, record.FormatRequest},
		{"a marked message", `{"time":"2026-09-10T09:00:00Z","level":"INFO","msg":"[request] first_token_ms=1 total_ms=2"}` + "\n", []string{"request:1 ok"}, record.FormatRequest},
		{"a recorder of the screen", `{"ts":"2026-09-10T09:00:01.000Z","dir":"to_tui","kind":"app_event","variant":"CommitTick"}` + "\n", nil, record.FormatUnknown},
		{"rubbish", "\x00\x01\x02{\xff\n{{{\n[[[\n{\"a\":\n", nil, record.FormatUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, info := scan(c.text)
			got = slices.DeleteFunc(got, func(s string) bool { return strings.HasSuffix(s, string(record.NoTime)) })
			if strings.Join(got, "|") != strings.Join(c.want, "|") || info.Format != c.format {
				t.Errorf("got %q, format %s; want %q, %s", got, info.Format, c.want, c.format)
			}
			if info.Bytes != int64(len(c.text)) || info.Lines != int64(strings.Count(c.text, "\n")) {
				t.Errorf("%d bytes, %d lines", info.Bytes, info.Lines)
			}
		})
	}
}

// Key order is no part of a format.
func TestKeyOrderDoesNotMatter(t *testing.T) {
	for _, c := range []struct {
		line string
		want kind
	}{
		{`{"payload":{"type":"token_count"},"timestamp":"2026-09-10T09:00:00.000Z","type":"event_msg"}`, kindRollout},
		{`{"ordinal":3,"payload":{"type":"x"},"timestamp":"2026-09-10T09:00:00.000Z","type":"event_msg"}`, kindRollout},
		{`{"target":"codex_otel","level":"INFO","timestamp":"2026-09-10T09:00:00Z","fields":{"message":"x"}}`, kindTrace},
		{`{"wall_time_unix_ms":1,"payload":{"type":"x"},"schema_version":1,"seq":1}`, kindBundle},
		{`{"resourceLogs":[]}`, kindOTLP},
		{`{"kind":"op","dir":"from_tui","ts":"2026-09-10T09:00:00Z"}`, kindRecorder},
		{`{"id":"0","msg":{"type":"task_started"}}`, kindExec},
		{`{"usage":{},"type":"turn.completed"}`, kindExec},
		{`{"feedback_log_body":"x","ts":1}`, kindRows},
		{`{"instructions":null,"timestamp":"2025-08-20T10:00:00.000Z","id":"5f3c2c60-1111-4222-8333-444455556666"}`, kindRollout},
		{`{"record_type":"state"}`, kindRollout},
		{`{"role":"user","type":"message","content":[]}`, kindRollout},
		{`{"call_id":"c","type":"function_call","timestamp":"2026-09-10T09:00:00.000Z"}`, kindRollout},
		{`{"total_ms":3,"first_token_ms":1}`, kindRequest},
		{`{"session":{"id":"x"},"items":[]}`, kindRollout},
		{`{"a":1}`, kindNone},
		{`{"type":7}`, kindNone},
	} {
		if got := jsonKind([]byte(c.line)); got != c.want {
			t.Errorf("%s: kind %d, want %d", c.line, got, c.want)
		}
	}
}

// read returns what Read makes of the files, in order.
func read(t *testing.T, o Options, paths ...string) ([]record.Record, *Summary) {
	t.Helper()
	var out []record.Record
	s := Read(t.Context(), paths, o, func(r record.Record) { out = append(out, keep(r)) })
	return out, s
}

func requests(records []record.Record) (out []*record.Request) {
	for _, r := range records {
		if q, ok := r.(*record.Request); ok {
			out = append(out, q)
		}
	}
	return out
}

func dropped(records []record.Record, why record.Reason) (n int) {
	for _, r := range records {
		if d, ok := r.(*record.Dropped); ok && d.Reason == why {
			n++
		}
	}
	return n
}

// A trace and a session file tell of the same request: the TTFT is the trace's
// measured one, the rest the session file's, and it counts once.
func TestTraceAndSessionFileMerge(t *testing.T) {
	records, s := read(t, Options{}, "testdata/merge")
	if len(s.Logs) != 2 || len(s.Problems) != 0 {
		t.Fatalf("%+v", s)
	}
	q := requests(records)
	if len(q) != 3 {
		t.Fatalf("%d requests, want 3", len(q))
	}
	first, second, only := q[0], q[1], q[2]
	if !first.Merged || first.Format != record.FormatRollout || first.Quality != record.Measured || first.TTFT != 1400*time.Millisecond || first.Total != 4600*time.Millisecond || first.Turn == "" {
		t.Errorf("merged: %+v", first)
	}
	if second.Merged || second.Quality != record.Estimated {
		t.Errorf("in the session file only: %+v", second)
	}
	if only.Merged || only.Format != record.FormatTrace || only.Output.N != 77 {
		t.Errorf("in the trace only: %+v", only)
	}
	for _, r := range records {
		if turn, ok := r.(*record.Turn); ok && (len(turn.Requests) != 2 || turn.Requests[0].TTFT != first.TTFT) {
			t.Errorf("the turn does not know the merged TTFT: %+v", turn)
		}
	}
}

// The result depends on the logs, not on their order on the command line nor on
// how many are read at once.
func TestOrderOfLogsDoesNotMatter(t *testing.T) {
	want := ""
	for _, jobs := range []int{1, 2, 8} {
		for _, paths := range [][]string{{"testdata/merge"}, {"testdata/merge/log", "testdata/merge/sessions"}, {"testdata/merge/sessions", "testdata/merge/log"}} {
			records, _ := read(t, Options{Jobs: jobs}, paths...)
			got := ""
			for _, q := range requests(records) {
				got += fmt.Sprintf("%v %v %v %v\n", q.Pos, q.TTFT, q.Quality, q.Total)
			}
			if want == "" {
				want = got
			} else if got != want {
				t.Errorf("%v, %d jobs:\n%s\nwant\n%s", paths, jobs, got, want)
			}
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Copies of a log count once, the others as duplicates.
func TestCopiesCountOnce(t *testing.T) {
	dir := t.TempDir()
	session, _ := filepath.Glob("testdata/merge/sessions/*")
	name := filepath.Base(session[0])
	copyFile(t, session[0], filepath.Join(dir, "sessions", "2026", "09", "10", name))
	copyFile(t, session[0], filepath.Join(dir, "archived_sessions", name))
	copyFile(t, "testdata/merge/log/codex-tui.log", filepath.Join(dir, "log", "codex-tui.log"))
	copyFile(t, "testdata/merge/log/codex-tui.log", filepath.Join(dir, "log", "codex-tui.log.1"))
	records, _ := read(t, Options{}, dir)
	q := requests(records)
	if len(q) != 3 || dropped(records, record.Duplicate) != 4 {
		t.Errorf("%d requests, %d duplicates, want 3 and 4", len(q), dropped(records, record.Duplicate))
	}
	if !strings.Contains(q[0].File, "/sessions/") {
		t.Errorf("%s counts, not the copy in sessions/", q[0].File)
	}
}

// A request line that names itself counts once, one that does not counts always.
func TestRequestLinesWithAnID(t *testing.T) {
	dir := t.TempDir()
	with := "[request] id=r1 first_token_ms=1 total_tokens=2 total_ms=3\n"
	for _, name := range []string{"a.log", "b.log"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(with+requestLine), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	records, _ := read(t, Options{}, dir)
	if n := len(requests(records)); n != 3 || dropped(records, record.Duplicate) != 1 {
		t.Errorf("%d requests, %d duplicates, want 3 and 1", n, dropped(records, record.Duplicate))
	}
}

// A database of Codex's log is read like a trace; its other databases are not logs.
func TestDatabases(t *testing.T) {
	dir := t.TempDir()
	create := func(name string, statements ...string) {
		db, err := sql.Open("sqlite", filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		for _, s := range statements {
			if _, err := db.Exec(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	create("logs_2.sqlite",
		`CREATE TABLE logs (id INTEGER PRIMARY KEY AUTOINCREMENT, ts INTEGER, ts_nanos INTEGER, level TEXT, target TEXT, feedback_log_body TEXT, thread_id TEXT)`,
		`INSERT INTO logs (ts, ts_nanos, level, target, feedback_log_body, thread_id) VALUES (1789030805, 0, 'INFO', 'codex_otel.trace_safe', 'event.name="codex.sse_event" event.kind=response.completed input_token_count=5 output_token_count=7 ttft_ms=9 event.timestamp=2026-09-10T09:00:05.000Z conversation.id=t model=m', 't')`)
	create("state_5.sqlite", `CREATE TABLE threads (id TEXT)`)
	records, s := read(t, Options{}, dir)
	q := requests(records)
	if len(q) != 1 || q[0].Format != record.FormatSQLite || q[0].TTFT != 9*time.Millisecond || len(s.Logs) != 2 {
		t.Fatalf("%v, %+v", q, s.Logs)
	}
	if s.Logs[0].Format != record.FormatSQLite || s.Logs[1].Format != record.FormatUnknown || s.Logs[1].Err != nil {
		t.Errorf("%+v", s.Logs)
	}
	if _, s := read(t, Options{}, filepath.Join(dir, "state_5.sqlite")); s.Logs[0].Err == nil {
		t.Error("a database without a log, named by the user, is no error")
	}
}

// The stream of codex exec is joined to its session file by the thread's id.
func TestExecStreamsKnowTheirSessionFile(t *testing.T) {
	dir := t.TempDir()
	stream := filepath.Join(dir, "exec.jsonl")
	session, _ := filepath.Glob("testdata/merge/sessions/*")
	if err := os.WriteFile(stream, []byte(`{"type":"thread.started","thread_id":"01a08b00-0000-7000-8000-00000000aaaa"}`+"\n"+`{"type":"turn.completed","usage":{"output_tokens":5}}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	hint := func(paths ...string) string {
		_, s := read(t, Options{}, paths...)
		for i := range s.Logs {
			if s.Logs[i].Format == record.FormatExec {
				return s.Hint(&s.Logs[i].Info)
			}
		}
		t.Fatalf("no exec stream among %+v", s.Logs)
		return ""
	}
	if h := hint(stream, session[0]); h != "" {
		t.Errorf("with its session file: %q", h)
	}
	if h := hint(stream); !strings.Contains(h, "RUST_LOG") {
		t.Errorf("alone: %q", h)
	}
}

// Captures that are printed over many lines, and the oldest session files.
func TestObjectsOverManyLines(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pretty := write("otlp.json", `{
  "resourceLogs": [
    {"scopeLogs": [{"logRecords": [{"observedTimeUnixNano": "1789030805000000000", "attributes": [
      {"key": "event.name", "value": {"stringValue": "codex.sse_event"}},
      {"key": "event.kind", "value": {"stringValue": "response.completed"}},
      {"key": "conversation.id", "value": {"stringValue": "t"}},
      {"key": "output_token_count", "value": {"stringValue": "7"}},
      {"key": "ttft_ms", "value": {"intValue": "9"}}
    ]}]}]}
  ]
}
`)
	records, s := read(t, Options{}, pretty)
	if q := requests(records); len(q) != 1 || q[0].TTFT != 9*time.Millisecond || s.Logs[0].Format != record.FormatOTLP {
		t.Errorf("%v %+v", q, s.Logs)
	}
	for _, text := range []string{`{"session":{"id":"x"},"items":[{"type":"message","role":"user","content":[]}]}`, "{\n  \"session\": {\n    \"id\": \"x\"\n  },\n  \"items\": [\n    {\n      \"type\": \"message\"\n    }\n  ]\n}\n"} {
		records, s := read(t, Options{}, write("old.json", text))
		if len(records) != 0 || s.Logs[0].Format != record.FormatRollout || s.Logs[0].Era != "typescript" {
			t.Errorf("%q: %v %+v", text, records, s.Logs)
		}
	}
}

// One log far ahead of another must wait, and nobody waits for ever.
func TestTurnstile(t *testing.T) {
	dir := t.TempDir()
	for i := range 5 {
		text := strings.Repeat(requestLine, []int{10, 3 * maxHeld, 0, 2 * maxHeld, 1}[i])
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.log", i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	records, _ := read(t, Options{Jobs: 4}, dir)
	if len(records) != 11+5*maxHeld {
		t.Fatalf("%d records", len(records))
	}
	if !slices.IsSortedFunc(records, func(a, b record.Record) int {
		return strings.Compare(fmt.Sprintf("%s %9d", a.Where().File, a.Where().Line), fmt.Sprintf("%s %9d", b.Where().File, b.Where().Line))
	}) {
		t.Error("records are out of order")
	}
}

// When all is read, the meter stands at the end, whatever the way of reading.
func TestMeterArrives(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"small.log": requestLine, "empty.log": "", "big.log": strings.Repeat(requestLine, 8*unitSize/len(requestLine)+1), "trace.log": completed} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m := new(Meter)
	_, s := read(t, Options{Meter: m}, dir, "../testdata/codexhome")
	var size int64
	for _, l := range s.Logs {
		info, err := os.Stat(l.Path)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if m.Total() != size || m.Done() != size {
		t.Errorf("%d of %d bytes, want %d", m.Done(), m.Total(), size)
	}
}

func TestReadStopsWhenInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	src := endless{strings.NewReader("")}
	Read(ctx, []string{"-"}, Options{Stdin: &src}, func(record.Record) {
		if n++; n == 10 {
			cancel()
		}
	})
	if n < 10 {
		t.Errorf("%d records", n)
	}
}

// endless repeats request lines for ever.
type endless struct{ r *strings.Reader }

func (e *endless) Read(b []byte) (int, error) {
	if e.r.Len() == 0 {
		e.r = strings.NewReader(requestLine)
	}
	return e.r.Read(b)
}

// FuzzReader reads mixed logs: no input may stop it, and what it counts adds up.
func FuzzReader(f *testing.F) {
	for _, s := range []string{requestLine + completed + meta, meta + "[]\n{\"type\":7}\n", `[{"ts":1,"feedback_log_body":"x"},` + "\n{\"ts\":2,\"feedback_log_body\":\"y\"}]",
		`{"type":"turn.completed","usage":{"output_tokens":1}}`, `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{}]}]}]}`, "{\n \"session\": {\"id\":\"x\"},\n \"items\": []\n}\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader("x", strings.NewReader(string(b)), time.UTC)
		n := 0
		for r.Scan() {
			if q, ok := r.Record().(*record.Request); ok {
				n++
				if q.TTFT < 0 || q.Total < 0 || !q.Start.IsZero() && !q.End.IsZero() && q.End.Before(q.Start) {
					t.Errorf("impossible request %+v", q)
				}
			}
		}
		if info := r.Info(); info.Requests != n || info.Err != nil || info.Bytes != int64(len(b)) {
			t.Errorf("%d requests, info %+v", n, info)
		}
	})
}

func BenchmarkReadRequestLines(b *testing.B) {
	text := strings.Repeat("INFO  connection accepted from 10.0.0.1 port=443 keepalive=true\n"+requestLine, 10_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader("x", strings.NewReader(text), time.UTC)
		for r.Scan() {
		}
		if r.Info().Requests != 10_000 {
			b.Fatal(r.Info())
		}
	}
}
