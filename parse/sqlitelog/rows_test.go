package sqlitelog

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codexlag/parse/lines"
	"codexlag/parse/record"
)

func line(r record.Record) string {
	switch r := r.(type) {
	case *record.Request:
		s := fmt.Sprintf("%d %s %s", r.Line, r.Session, r.Status)
		if r.Quality != record.None {
			s += fmt.Sprintf(" ttft=%d/%s", r.TTFT.Milliseconds(), r.Quality)
		}
		if r.Total != 0 {
			s += fmt.Sprint(" total=", r.Total.Milliseconds())
		}
		for i, n := range []record.Tokens{r.Input, r.Cached, r.Output, r.Reasoning} {
			if n.Known {
				s += fmt.Sprintf(" %s=%d", []string{"in", "cached", "out", "reasoning"}[i], n.N)
			}
		}
		for _, v := range []string{r.ID, r.Turn, r.Model, r.Effort, r.Error.Kind} {
			if v != "" {
				s += " " + v
			}
		}
		if r.Merged {
			s += " merged"
		}
		if r.Format != record.FormatSQLite {
			s += " format=" + string(r.Format)
		}
		return s
	case *record.Turn:
		return fmt.Sprintf("%d %s turn %s requests=%d", r.Line, r.Session, r.Status, len(r.Requests))
	case *record.Dropped:
		return fmt.Sprintf("%d %s dropped %s", r.Line, r.Session, r.Reason)
	}
	return "?"
}

// A testRow is one row; at is in ms.
type testRow struct {
	at           int
	thread       string
	target, body string
}

const start = 1789030800 // seconds

func sse(at int, thread, json string) testRow {
	return testRow{at, thread, streamTarget, "session_loop{thread_id=" + thread + "}:turn{turn.id=u1 model=slug}: SSE event: " + json}
}

func begin(at int, thread, id string) testRow {
	return sse(at, thread, `{"type":"response.created","response":{"id":"`+id+`"}}`)
}

func delta(at int, thread string) testRow {
	return sse(at, thread, `{"type":"response.output_text.delta","delta":"SSE event: {\"type\":\"response.completed\"}"}`)
}

func complete(at int, thread, id string, tokens int) testRow {
	return sse(at, thread, fmt.Sprintf(`{"type":"response.completed","response":{"id":"%s","model":"gpt-x","usage":{"input_tokens":1000,"output_tokens":%d}}}`, id, tokens))
}

func otel(at int, thread, fields string) testRow {
	return testRow{at, thread, "codex_otel.log_only", "run_turn: " + fields + " conversation.id=" + thread + " model=gpt-x"}
}

func otelCompleted(at int, thread string, tokens int, more string) testRow {
	return otel(at, thread, fmt.Sprintf(`event.name="codex.sse_event" event.kind=response.completed input_token_count=1000 output_token_count=%d tool_token_count=1%s`, tokens, more))
}

func postSampling(at int, thread string) testRow {
	return testRow{at, thread, "codex_core::session::turn", "turn{turn.id=u1}: post sampling token usage turn_id=u1 total_usage_tokens=9"}
}

var rowTests = []struct {
	name string
	rows []testRow
	want []string
}{
	{"an answer", []testRow{
		begin(0, "a", "r1"),
		sse(400, "a", `{"type":"response.in_progress","response":{"id":"r1"}}`),
		sse(900, "a", `{"type":"response.output_item.added","item":{"type":"reasoning"}}`),
		delta(1500, "a"),
		sse(4000, "a", `{"type":"response.completed","response":{"usage":{"input_tokens":12000,"input_tokens_details":{"cached_tokens":8000},"output_tokens":210,"output_tokens_details":{"reasoning_tokens":128},"total_tokens":12210},"reasoning":{"effort":"high"},"model":"gpt-x","id":"r1"}}`),
	}, []string{"5 a ok ttft=900/estimated total=4000 in=12000 cached=8000 out=210 reasoning=128 r1 u1 gpt-x high"}},
	{"a delta is first", []testRow{begin(0, "a", "r1"), delta(1500, "a"), delta(1600, "a"), complete(4000, "a", "r1", 50)},
		[]string{"4 a ok ttft=1500/estimated total=4000 in=1000 out=50 r1 u1 gpt-x"}},
	{"nothing between the ends", []testRow{begin(0, "a", "r1"), complete(4000, "a", "r1", 50)},
		[]string{"2 a ok total=4000 in=1000 out=50 r1 u1 gpt-x"}},
	{"two threads at once", []testRow{
		begin(0, "a", "r1"), begin(100, "b", "r2"), delta(1000, "b"), delta(2000, "a"), complete(3000, "b", "r2", 5), complete(4000, "a", "r1", 6)},
		[]string{"5 b ok ttft=900/estimated total=2900 in=1000 out=5 r2 u1 gpt-x", "6 a ok ttft=2000/estimated total=4000 in=1000 out=6 r1 u1 gpt-x"}},
	{"two answers of one thread at once", []testRow{
		begin(0, "a", "r1"), delta(50, "a"), begin(100, "a", "r2"), delta(1000, "a"), complete(3000, "a", "r2", 5), complete(4000, "a", "r1", 6),
		begin(5000, "a", "r3"), delta(5300, "a"), complete(6000, "a", "r3", 7)},
		[]string{"5 a ok total=2900 in=1000 out=5 r2 u1 gpt-x", "6 a ok total=4000 in=1000 out=6 r1 u1 gpt-x", "9 a ok ttft=300/estimated total=1000 in=1000 out=7 r3 u1 gpt-x"}},
	{"an answer whose end was lost", []testRow{
		begin(0, "a", "r1"), begin(100, "a", "r2"), complete(3000, "a", "r2", 5),
		begin(5000, "a", "r3"), delta(5300, "a"), complete(6000, "a", "r3", 7)},
		[]string{"1 a dropped outside_turn", "3 a ok total=2900 in=1000 out=5 r2 u1 gpt-x", "6 a ok ttft=300/estimated total=1000 in=1000 out=7 r3 u1 gpt-x"}},
	{"an answer that goes on when the other has ended", []testRow{
		begin(0, "a", "r1"), begin(100, "a", "r2"), complete(3000, "a", "r2", 5), delta(3500, "a"),
		begin(5000, "a", "r3"), delta(5300, "a"), complete(6000, "a", "r3", 7), complete(9000, "a", "r1", 8)},
		[]string{"3 a ok total=2900 in=1000 out=5 r2 u1 gpt-x", "7 a ok total=1000 in=1000 out=7 r3 u1 gpt-x", "8 a ok total=9000 in=1000 out=8 r1 u1 gpt-x"}},
	{"only the end", []testRow{delta(0, "a"), complete(1000, "a", "r1", 5), postSampling(1100, "a")},
		[]string{"2 a dropped outside_turn"}},
	{"only the beginning", []testRow{begin(0, "a", "r1"), delta(1000, "a")},
		[]string{"1 a dropped outside_turn"}},
	{"a beginning told twice", []testRow{begin(0, "a", "r1"), begin(1, "a", "r1"), delta(1000, "a"), complete(2000, "a", "r1", 5)},
		[]string{"4 a ok ttft=1000/estimated total=2000 in=1000 out=5 r1 u1 gpt-x"}},
	{"failed", []testRow{begin(0, "a", "r1"), delta(500, "a"), sse(1000, "a", `{"type":"response.failed","response":{"id":"r1","error":{"code":"rate_limit_exceeded","message":"secret"}}}`)},
		[]string{"3 a failed ttft=500/estimated total=1000 r1 u1 other"}},
	{"an error without a name", []testRow{begin(0, "a", "r1"), sse(1000, "a", `{"type":"error","error":{"message":"secret"}}`)},
		[]string{"2 a failed total=1000 r1 u1 other"}},
	{"a warm-up", []testRow{begin(0, "a", "r1"), complete(100, "a", "r1", 0)},
		[]string{"2 a warmup total=100 in=1000 out=0 r1 u1 gpt-x"}},
	{"post sampling tells nothing new of a stream", []testRow{begin(0, "a", "r1"), complete(100, "a", "r1", 5), postSampling(9000, "a"), postSampling(9900, "a")},
		[]string{"2 a ok total=100 in=1000 out=5 r1 u1 gpt-x", "4 a dropped no_time"}},
	{"telemetry alone, in two targets", []testRow{
		otel(0, "a", `event.name="codex.websocket_request" duration_ms=3 success="true"`),
		otelCompleted(4000, "a", 50, " ttft_ms=1200"), {4001, "a", "codex_otel.trace_safe", otelCompleted(4000, "a", 50, " ttft_ms=1200").body}},
		[]string{"2 a ok ttft=1200/measured total=4003 in=1000 out=50 gpt-x"}},
	{"telemetry and stream", []testRow{
		otel(100, "a", `event.name="codex.api_request" duration_ms=100 http.response.status_code=200 endpoint=/responses`),
		begin(200, "a", "r1"), delta(900, "a"), complete(3999, "a", "r1", 50), otelCompleted(4000, "a", 50, "")},
		[]string{"5 a ok ttft=900/estimated total=4000 in=1000 out=50 r1 u1 gpt-x merged"}},
	{"telemetry with its own TTFT and stream", []testRow{
		otel(100, "a", `event.name="codex.api_request" duration_ms=100 http.response.status_code=200 endpoint=/responses`),
		begin(200, "a", "r1"), delta(900, "a"), complete(3999, "a", "r1", 50), otelCompleted(4000, "a", 50, " ttft_ms=850")},
		[]string{"5 a ok ttft=950/measured total=4000 in=1000 out=50 r1 u1 gpt-x merged"}},
	{"telemetry without a start, and stream", []testRow{
		begin(200, "a", "r1"), delta(900, "a"), complete(3999, "a", "r1", 50), otelCompleted(4200, "a", 50, ""), postSampling(4300, "a")},
		[]string{"4 a ok ttft=700/estimated total=4000 in=1000 out=50 r1 u1 gpt-x merged"}},
	{"telemetry before the stream's row", []testRow{
		begin(200, "a", "r1"), delta(900, "a"), otelCompleted(4000, "a", 50, ""), complete(4001, "a", "r1", 50)},
		[]string{"3 a ok in=1000 out=50 gpt-x", "4 a dropped merged"}},
	{"telemetry of another request", []testRow{
		begin(200, "a", "r1"), delta(900, "a"), complete(3999, "a", "r1", 50), otelCompleted(4000, "b", 50, ""), otelCompleted(4000, "a", 51, "")},
		[]string{"3 a ok ttft=700/estimated total=3799 in=1000 out=50 r1 u1 gpt-x", "4 b ok in=1000 out=50 gpt-x", "5 a ok in=1000 out=51 gpt-x"}},
	{"the first layout keeps the whole line", []testRow{
		{0, "a", streamTarget, `2026-02-10T09:00:00.000000Z TRACE run_turn: SSE event: {"type":"response.created","response":{"id":"r1"}}`},
		{3000, "", streamTarget, `2026-02-10T09:00:03.000000Z TRACE session{thread_id="a"}:x{thread.id=a n=1}: SSE event: {"type":"response.completed","response":{"id":"r1"}}`}},
		[]string{"2 a ok total=3000 r1"}},
	{"broken event", []testRow{begin(0, "a", "r1"), sse(500, "a", `{"type":"response.completed","response":{"id":"r`), sse(600, "a", `nothing`), sse(700, "a", `{"type":"response.completed","response":{"id":"r1"}}{}`)},
		[]string{"1 a dropped outside_turn", "2 a dropped bad_json", "3  dropped bad_json", "4 a dropped bad_json"}},
	{"rows of no interest", []testRow{
		{0, "a", "codex_core::codex", `ToolCall: shell {"cmd":"codex_otel"}`},
		{0, "a", "log", `SSE event: {"type":"response.created"}`},
		{0, "a", streamTarget, `Stream closed`},
		{0, "a", "codex_core::client", `close time.busy=1ms time.idle=2ms`}},
		nil},
}

// exportRows writes rows as sqlite3 -json does.
func exportRows(rows []testRow) string {
	var b strings.Builder
	for i, r := range rows {
		open, end := "", ",\n"
		if i == 0 {
			open = "["
		}
		if i == len(rows)-1 {
			end = "]\n"
		}
		thread := "null"
		if r.thread != "" {
			thread = quote(r.thread)
		}
		fmt.Fprintf(&b, `%s{"ts":%d,"ts_nanos":%d,"level":"TRACE","target":%s,"feedback_log_body":%s,"thread_id":%s}%s`,
			open, start+r.at/1000, r.at%1000*1_000_000, quote(r.target), quote(r.body), thread, end)
	}
	return b.String()
}

func quote(s string) string {
	b, err := json.Marshal(s)
	must(err)
	return string(b)
}

func decode(export string) (got []string, info Info) {
	d := NewRows("f", func(r record.Record) { got = append(got, line(r)) })
	r := lines.NewReader(strings.NewReader(export))
	r.NeedWhole = d.NeedWhole
	for r.Scan() {
		d.Line(r.Line())
	}
	d.End()
	return got, d.Info()
}

func TestRows(t *testing.T) {
	for _, tt := range rowTests {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := decode(exportRows(tt.rows))
			slices.Sort(got) // streams wait for telemetry, the order is not the point
			if !slices.Equal(got, tt.want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(tt.want, "\n\t"))
			}
		})
	}
}

// TestRowsInOneLine: jq and others print the array anew. A first row of no
// interest, longer than what is kept of a line by default, hides none after it.
func TestRowsInOneLine(t *testing.T) {
	for _, tt := range rowTests {
		t.Run(tt.name, func(t *testing.T) {
			dull := testRow{0, "", "log", strings.Repeat("x", 2*lines.Window)}
			got, _ := decode(strings.ReplaceAll(exportRows(append([]testRow{dull}, tt.rows...)), ",\n", ","))
			for i, r := range got {
				_, got[i], _ = strings.Cut(r, " ")
			}
			var want []string
			for _, r := range tt.want {
				_, r, _ = strings.Cut(r, " ")
				want = append(want, r)
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
			}
		})
	}
}

// TestRead reads the same rows from databases of both layouts, written in
// reverse: only their times give the order.
func TestRead(t *testing.T) {
	layouts := []struct {
		name, create, body string
		schema             int
	}{
		{"logs_2.sqlite", schema2, "feedback_log_body", 2},
		{"logs_1.sqlite", "CREATE TABLE logs(id INTEGER PRIMARY KEY, ts INTEGER, ts_nanos INTEGER, level TEXT, target TEXT, message TEXT, thread_id TEXT)", "message", 1},
		{"state.sqlite", "CREATE TABLE threads(id); CREATE TABLE Logs(ID INTEGER PRIMARY KEY, ts INTEGER, ts_nanos INTEGER, level TEXT, target TEXT, MESSAGE TEXT, thread_id TEXT)", "message", 1},
	}
	for _, layout := range layouts {
		t.Run(layout.name, func(t *testing.T) {
			if layout.name == "state.sqlite" {
				layout.create = strings.ReplaceAll(layout.create, "Logs", "logs")
			}
			for _, tt := range rowTests {
				t.Run(tt.name, func(t *testing.T) {
					path := filepath.Join(t.TempDir(), layout.name)
					db := openForTest(path)
					write(db, layout.create)
					for i, r := range slices.Backward(tt.rows) {
						_, err := db.Exec(`INSERT INTO logs(id,ts,ts_nanos,level,target,`+layout.body+`,thread_id) VALUES(?,?,?,'TRACE',?,?,?)`,
							i+1, start+r.at/1000, r.at%1000*1_000_000, r.target, r.body, sql.NullString{String: r.thread, Valid: r.thread != ""})
						must(err)
					}
					db.Close()
					var got []string
					requests := int64(0)
					info, err := Read(context.Background(), path, func(r record.Record) {
						if _, ok := r.(*record.Request); ok {
							requests++
						}
						got = append(got, line(r))
					})
					if err != nil {
						t.Fatal(err)
					}
					slices.Sort(got)
					if !slices.Equal(got, tt.want) {
						t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(tt.want, "\n\t"))
					}
					hasTTFT := strings.Contains(strings.Join(tt.want, ""), "ttft=")
					if info.Schema != layout.schema || info.Requests != requests || info.HasTTFT != hasTTFT {
						t.Errorf("Info = %+v, want schema %d, %d requests, TTFT %v", info, layout.schema, requests, hasTTFT)
					}
				})
			}
		})
	}
}

func TestReadBadRows(t *testing.T) {
	tests := []struct{ name, values string }{
		{"no time", "NULL,0,'codex_api::sse::responses','SSE event: {}','a'"},
		{"time is text", "'now',0,'codex_api::sse::responses','SSE event: {}','a'"},
		{"time is a fraction", "1.5,0,'codex_api::sse::responses','SSE event: {}','a'"},
		{"time is negative", "-1,0,'codex_api::sse::responses','SSE event: {}','a'"},
		{"time beyond all calendars", "9223372036854775807,0,'codex_api::sse::responses','SSE event: {}','a'"},
		{"no nanoseconds", "1,NULL,'codex_api::sse::responses','SSE event: {}','a'"},
		{"too many nanoseconds", "1,1000000000,'codex_api::sse::responses','SSE event: {}','a'"},
		{"no target", "1,0,NULL,'SSE event: {}','a'"},
		{"target is bytes", "1,0,x'00ff','SSE event: {}','a'"},
		{"no text", "1,0,'codex_api::sse::responses',NULL,'a'"},
		{"text is bytes", "1,0,'codex_otel.log_only',x'00ff','a'"},
		{"thread is bytes", "1,0,'codex_otel.log_only','x',x'00ff'"},
		{"everything is missing", "NULL,NULL,NULL,NULL,NULL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "logs_2.sqlite")
			db := openForTest(path)
			write(db, "CREATE TABLE logs(ts, ts_nanos, target, feedback_log_body, thread_id)")
			writeAnswerAt := `INSERT INTO logs VALUES(1789030800,0,'codex_api::sse::responses','SSE event: {"type":"response.created","response":{"id":"r"}}',NULL)`
			write(db, writeAnswerAt, "INSERT INTO logs VALUES("+tt.values+")",
				`INSERT INTO logs VALUES(1789030801,0,'codex_api::sse::responses','SSE event: {"type":"response.completed","response":{"id":"r"}}',NULL)`)
			db.Close()
			var got []string
			_, err := Read(context.Background(), path, func(r record.Record) { got = append(got, line(r)) })
			if err != nil {
				t.Fatal(err)
			}
			want := []string{"2  dropped bad_row", "3  ok total=1000 r"}
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestRowsThatCannotBeRead(t *testing.T) {
	const target = `"target":"codex_api::sse::responses"`
	tests := []struct{ name, line, want string }{
		{"blank", "  ", ""},
		{"an empty array", "[]", ""},
		{"the array's ends", "[", ""},
		{"no object", `[1,2],`, "1  dropped not_an_object"},
		{"cut short", `{"ts":1,` + target, "1  dropped bad_json"},
		{"glued", `{"ts":1}{"ts":2}`, "1  dropped bad_json"},
		{"no target", `{"ts":1,"ts_nanos":0,"feedback_log_body":"x"}`, "1  dropped bad_row"},
		{"target is null", `{"ts":1,"ts_nanos":0,"target":null,"feedback_log_body":"x"}`, "1  dropped bad_row"},
		{"body is null", `{"ts":1,"ts_nanos":0,` + target + `,"feedback_log_body":null}`, "1  dropped bad_row"},
		{"time is null", `{"ts":null,"ts_nanos":0,` + target + `,"feedback_log_body":"x"}`, "1  dropped bad_row"},
		{"time is text", `{"ts":"1","ts_nanos":0,` + target + `,"feedback_log_body":"x"}`, "1  dropped bad_row"},
		{"thread is a number", `{"ts":1,"ts_nanos":0,` + target + `,"feedback_log_body":"x","thread_id":7}`, "1  dropped bad_row"},
		{"too long", `{` + target + `,"ts":1,"ts_nanos":0,"feedback_log_body":"` + strings.Repeat("x", lines.MaxLine) + `"}`, "1  dropped too_long"},
		{"too long, of no interest", `{"target":"log","ts":1,"feedback_log_body":"` + strings.Repeat("x", lines.Window) + `"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := decode(tt.line + "\n")
			if s := strings.Join(got, "; "); s != tt.want {
				t.Errorf("got %q, want %q", s, tt.want)
			}
		})
	}
}

// No text of a session gets into a record, wherever in a row it stands.
func TestNoTextIsKept(t *testing.T) {
	for _, tt := range rowTests {
		var b strings.Builder
		d := NewRows("f", func(r record.Record) { fmt.Fprintf(&b, "%+v %s", r, line(r)) })
		for i, line := range strings.Split(exportRows(tt.rows), "\n") {
			d.Line(lines.Line{N: int64(i + 1), Text: []byte(line), Size: int64(len(line))})
		}
		d.End()
		for _, text := range []string{"secret", "SSE event", "delta", "rate_limit"} {
			if strings.Contains(b.String(), text) {
				t.Errorf("%s: a record holds %q", tt.name, text)
			}
		}
	}
}

func FuzzRows(f *testing.F) {
	for _, tt := range rowTests {
		f.Add(exportRows(tt.rows))
	}
	f.Fuzz(func(t *testing.T, export string) {
		d := NewRows("f", func(r record.Record) {
			q, ok := r.(*record.Request)
			if !ok {
				return
			}
			if q.Total < 0 || q.Quality != record.None && q.TTFT < 0 || q.Quality == record.Estimated && q.Total > 0 && q.TTFT > q.Total {
				t.Errorf("impossible times: %s", line(r))
			}
			for _, n := range []record.Tokens{q.Input, q.Cached, q.Output, q.Reasoning} {
				if n.N < 0 || !n.Known && n.N != 0 {
					t.Errorf("impossible counts: %s", line(r))
				}
			}
		})
		r := lines.NewReader(strings.NewReader(export))
		r.NeedWhole = d.NeedWhole
		for r.Scan() {
			d.Line(r.Line())
		}
		d.End()
	})
}

func BenchmarkRows(b *testing.B) {
	var rows []testRow
	for i := range 1000 {
		id := fmt.Sprint("r", i)
		rows = append(rows, begin(100*i, "t", id), delta(100*i+40, "t"), complete(100*i+90, "t", id, 500))
	}
	export := exportRows(rows)
	b.SetBytes(int64(len(export)))
	b.ReportAllocs()
	for b.Loop() {
		decode(export)
	}
}
