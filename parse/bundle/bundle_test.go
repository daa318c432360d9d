package bundle

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codexlag/parse/lines"
	"codexlag/parse/record"
)

func show(r record.Record) string {
	switch r := r.(type) {
	case *record.Request:
		s := fmt.Sprintf("%d %s %s %s", r.Line, r.Session, r.Turn, r.Status)
		if r.Quality != record.None {
			s += " has a TTFT"
		}
		if r.Total != 0 {
			s += fmt.Sprint(" total=", r.Total.Milliseconds())
		}
		for i, n := range []record.Tokens{r.Input, r.Cached, r.Output, r.Reasoning} {
			if n.Known {
				s += fmt.Sprintf(" %s=%d", []string{"in", "cached", "out", "reasoning"}[i], n.N)
			}
		}
		for _, v := range []string{r.ID, r.Model, r.Provider, r.Error.Kind} {
			if v != "" {
				s += " " + v
			}
		}
		return s
	case *record.Turn:
		s := fmt.Sprintf("%d %s %s turn %s requests=%d", r.Line, r.Session, r.ID, r.Status, len(r.Requests))
		if r.Duration != 0 {
			s += fmt.Sprint(" duration=", r.Duration.Milliseconds())
		}
		for _, t := range r.Tools {
			s += fmt.Sprintf(" %s=%d", t.Tool, t.End.Sub(t.Start).Milliseconds())
		}
		return s
	case *record.Dropped:
		return fmt.Sprintf("%d %s dropped %s", r.Line, r.Session, r.Reason)
	}
	return "?"
}

func decode(file, log string) (got []string) {
	d := New(file, func(r record.Record) { got = append(got, show(r)) })
	r := lines.NewReader(strings.NewReader(log))
	r.NeedWhole = d.NeedWhole
	for r.Scan() {
		d.Line(r.Line())
	}
	d.End()
	return got
}

// ev is one line; ms count from an arbitrary moment.
func ev(ms int, payload string) string {
	return fmt.Sprintf(`{"schema_version":1,"seq":1,"wall_time_unix_ms":%d,"rollout_id":"r","thread_id":"t","codex_turn_id":"u","payload":{%s}}`+"\n", 1789030800000+ms, payload)
}

func began(ms int, id string) string {
	return ev(ms, `"type":"inference_started","inference_call_id":"`+id+`","thread_id":"t","codex_turn_id":"u","model":"gpt-x","provider_name":"OpenAI","request_payload":{"raw_payload_id":"p1","kind":{"type":"inference_request"},"path":"payloads/1.json"}`)
}

func completed(ms int, id, path string) string {
	return ev(ms, `"type":"inference_completed","inference_call_id":"`+id+`","response_id":"resp_`+id+`","upstream_request_id":null,"response_payload":{"raw_payload_id":"p2","path":"`+path+`"}`)
}

var lineTests = []struct {
	name, log string
	want      []string
}{
	{"a request", began(500, "i1") + completed(5050, "i1", "payloads/none.json"),
		[]string{"2 t u ok total=4550 resp_i1 gpt-x OpenAI"}},
	{"two at once", began(0, "i1") + began(10, "i2") + completed(100, "i2", "") + completed(200, "i1", ""),
		[]string{"3 t u ok total=90 resp_i2 gpt-x OpenAI", "4 t u ok total=200 resp_i1 gpt-x OpenAI"}},
	{"failed", began(0, "i1") + ev(1000, `"type":"inference_failed","inference_call_id":"i1","error":"secret: stream disconnected before completion"`),
		[]string{"2 t u failed total=1000 gpt-x OpenAI disconnected"}},
	{"failed by a timeout", began(0, "i1") + ev(1000, `"type":"inference_failed","inference_call_id":"i1","error":"request timed out"`),
		[]string{"2 t u failed total=1000 gpt-x OpenAI timeout"}},
	{"failed, who knows why", began(0, "i1") + ev(1000, `"type":"inference_failed","inference_call_id":"i1","error":{"code":7}`),
		[]string{"2 t u failed total=1000 gpt-x OpenAI other"}},
	{"cancelled", began(0, "i1") + ev(1000, `"type":"inference_cancelled","inference_call_id":"i1","reason":"secret"`),
		[]string{"2 t u aborted total=1000 gpt-x OpenAI"}},
	{"never ended", began(0, "i1") + began(5, "i2"),
		[]string{"1 t dropped outside_turn", "2 t dropped outside_turn"}},
	{"begun twice", began(0, "i1") + began(5, "i1") + completed(10, "i1", ""),
		[]string{"1 t dropped outside_turn", "3 t u ok total=5 resp_i1 gpt-x OpenAI"}},
	{"never begun", completed(10, "i1", ""),
		[]string{"1 t dropped outside_turn"}},
	{"the clock was set back", began(1000, "i1") + completed(10, "i1", ""),
		[]string{"2 t u ok resp_i1 gpt-x OpenAI"}},
	{"a turn", ev(0, `"type":"codex_turn_started","codex_turn_id":"u","thread_id":"t"`) +
		began(100, "i1") + completed(1100, "i1", "") +
		ev(1110, `"type":"tool_call_started","tool_call_id":"c1","kind":{"type":"exec_command"},"requester":{"type":"model"}`) +
		ev(1120, `"type":"tool_call_started","tool_call_id":"c2","kind":{"type":"mcp","server":"files","tool":"read_file"}`) +
		ev(1125, `"type":"tool_call_started","tool_call_id":"c3","kind":"web"`) +
		ev(1620, `"type":"tool_call_ended","tool_call_id":"c2","status":"completed","result_payload":null`) +
		ev(2110, `"type":"tool_call_ended","tool_call_id":"c1","status":"failed"`) +
		ev(2125, `"type":"tool_call_ended","tool_call_id":"c3","status":"failed"`) +
		ev(2130, `"type":"tool_call_ended","tool_call_id":"c4","status":"failed"`) +
		began(2150, "i2") + completed(3000, "i2", "") +
		ev(3010, `"type":"codex_turn_ended","codex_turn_id":"u","status":"completed"`),
		[]string{"3 t u ok total=1000 resp_i1 gpt-x OpenAI", "12 t u ok total=850 resp_i2 gpt-x OpenAI",
			"13 t u turn ok requests=2 duration=3010 read_file=500 exec_command=1000 web=1000"}},
	{"a turn that was interrupted", ev(0, `"type":"codex_turn_started"`) + began(100, "i1") + ev(200, `"type":"inference_cancelled","inference_call_id":"i1"`) + ev(210, `"type":"codex_turn_ended","status":"cancelled"`),
		[]string{"3 t u aborted total=100 gpt-x OpenAI", "4 t u turn aborted requests=1 duration=210"}},
	{"a turn that failed", ev(0, `"type":"codex_turn_started"`) + began(100, "i1") + ev(200, `"type":"inference_failed","inference_call_id":"i1","error":"x"`) + ev(210, `"type":"codex_turn_ended","status":"failed"`),
		[]string{"3 t u failed total=100 gpt-x OpenAI other", "4 t u turn failed requests=1 duration=210"}},
	{"a turn that goes on", ev(0, `"type":"codex_turn_started"`) + began(100, "i1") + completed(200, "i1", ""),
		[]string{"3 t u ok total=100 resp_i1 gpt-x OpenAI", "1 t u turn unfinished requests=1"}},
	{"a turn without anything", ev(0, `"type":"codex_turn_started"`) + ev(9, `"type":"codex_turn_ended","status":"completed"`), nil},
	{"a turn that began before", ev(9, `"type":"codex_turn_ended","status":"completed"`), nil},
	{"events of no interest", ev(0, `"type":"rollout_started"`) + ev(0, `"type":"tool_call_runtime_started","tool_call_id":"c1"`) + ev(0, `"type":"protocol_event_observed","event_type":"inference_started"`), nil},
	{"an event of the future", ev(0, `"type":"inference_paused"`), []string{"1  dropped unknown_type"}},
	{"members in another order", `{"payload":{"inference_call_id":"i1","type":"inference_started"},"wall_time_unix_ms":1000,"schema_version":1}` + "\n" + `{"payload":{"inference_call_id":"i1","type":"inference_completed"},"wall_time_unix_ms":3000}`,
		[]string{"2   ok total=2000"}},
	{"no time", `{"schema_version":1,"wall_time_unix_ms":"soon","thread_id":"t","payload":{"type":"inference_started","inference_call_id":"i1"}}`,
		[]string{"1 t dropped bad_time"}},
	{"time in microseconds", `{"schema_version":1,"wall_time_unix_ms":1789030800000000,"thread_id":"t","payload":{"type":"inference_started","inference_call_id":"i1"}}`,
		[]string{"1 t dropped bad_time"}},
	{"no payload", `{"schema_version":1,"wall_time_unix_ms":1000}`, []string{"1  dropped not_an_object"}},
	{"cut short", began(0, "i1")[:150], []string{"1  dropped bad_json"}},
	{"cut within an event of no interest", `{"wall_time_unix_ms":1,"payload":{"type":"other","summary":"x`, nil},
	{"glued", strings.TrimSpace(began(0, "i1")) + began(0, "i2"), []string{"1  dropped bad_json"}},
	{"long, of no interest", ev(0, `"type":"other","summary":"`+strings.Repeat("x", 2*lines.Window)+`"`), nil},
	{"long, of interest", began(0, "i1") + ev(5, `"type":"inference_failed","inference_call_id":"i1","error":"`+strings.Repeat("x", 2*lines.Window)+`"`),
		[]string{"2 t u failed total=5 gpt-x OpenAI other"}},
}

func TestLines(t *testing.T) {
	for _, tt := range lineTests {
		t.Run(tt.name, func(t *testing.T) {
			got := decode(filepath.Join(t.TempDir(), "trace.jsonl"), tt.log)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(tt.want, "\n\t"))
			}
		})
	}
}

func TestTimesAreExact(t *testing.T) {
	var r *record.Request
	d := New("trace.jsonl", func(rec record.Record) { r = rec.(*record.Request) })
	for i, line := range strings.Split(strings.TrimSpace(began(500, "i1")+completed(5050, "i1", "")), "\n") {
		d.Line(lines.Line{N: int64(i + 1), Text: []byte(line), Size: int64(len(line))})
	}
	start := time.UnixMilli(1789030800500).UTC()
	if !r.Start.Equal(start) || !r.End.Equal(start.Add(4550*time.Millisecond)) || r.Format != record.FormatBundle {
		t.Errorf("got %v to %v, format %s", r.Start, r.End, r.Format)
	}
}

const usage = `{"response_id":"resp_1","token_usage":{"input_tokens":12000,"cached_input_tokens":8000,"output_tokens":210,"reasoning_output_tokens":128,"total_tokens":12210},"output_items":["secret"]}`

func TestPayloads(t *testing.T) {
	const all, none = " in=12000 cached=8000 out=210 reasoning=128", ""
	put := func(name, text string) func(dir string) {
		return func(dir string) {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	link := func(target, name string) func(dir string) {
		return func(dir string) {
			if err := os.Symlink(filepath.FromSlash(strings.ReplaceAll(target, "DIR", filepath.ToSlash(dir))), filepath.Join(dir, name)); err != nil {
				t.Skip(err)
			}
		}
	}
	both := func(make ...func(string)) func(string) {
		return func(dir string) {
			for _, m := range make {
				m(dir)
			}
		}
	}
	long := strings.Repeat("x", maxPayload)
	// The bundle lies in DIR/b; what lies beside it must not be read.
	tests := []struct {
		name, path string
		make       func(dir string)
		want       string
	}{
		{"as Codex writes it", "payloads/2.json", put("b/payloads/2.json", usage), all},
		{"as the API has it", "p.json", put("b/p.json", `{"token_usage":{"input_tokens":5,"input_tokens_details":{"cached_tokens":4},"output_tokens":3,"output_tokens_details":{"reasoning_tokens":2}}}`), " in=5 cached=4 out=3 reasoning=2"},
		{"some counts only", "p.json", put("b/p.json", `{"token_usage":{"output_tokens":3}}`), " out=3"},
		{"counts that are none", "p.json", put("b/p.json", `{"token_usage":{"input_tokens":-1,"cached_input_tokens":"x","output_tokens":1e300,"reasoning_output_tokens":null}}`), none},
		{"counts within an item", "p.json", put("b/p.json", `{"output_items":[{"token_usage":{"output_tokens":3}}]}`), none},
		{"no usage", "p.json", put("b/p.json", `{"token_usage":null,"output_items":[]}`), none},
		{"missing", "p.json", put("b/other.json", usage), none},
		{"empty", "p.json", put("b/p.json", ""), none},
		{"no JSON", "p.json", put("b/p.json", "token_usage"), none},
		{"cut behind the usage", "p.json", put("b/p.json", usage[:len(usage)-12]), all},
		{"long, usage in front", "p.json", put("b/p.json", strings.Replace(usage, "secret", long, 1)), all},
		{"long, usage behind", "p.json", put("b/p.json", `{"output_items":["`+long+`"],`+usage[1:]), none},
		{"no path", "", put("b/p.json", usage), none},
		{"the folder itself", ".", put("b/p.json", usage), none},
		{"a folder", "payloads", put("b/payloads/p.json", usage), none},
		{"beside the bundle", "../p.json", put("p.json", usage), none},
		{"beside the bundle, roundabout", "payloads/../../p.json", both(put("p.json", usage), put("b/payloads/1.json", "")), none},
		{"within the bundle, roundabout", "payloads/../p.json", both(put("b/p.json", usage), put("b/payloads/1.json", "")), all},
		{"absolute", "DIR/b/p.json", put("b/p.json", usage), none},
		{"a link within", "l.json", both(put("b/p.json", usage), link("p.json", "b/l.json")), all},
		{"a link out", "l.json", both(put("p.json", usage), put("b/1", ""), link("../p.json", "b/l.json")), none},
		{"an absolute link out", "l.json", both(put("p.json", usage), put("b/1", ""), link("DIR/p.json", "b/l.json")), none},
		{"a folder that is a link out", "l/p.json", both(put("p.json", usage), put("b/1", ""), link("..", "b/l")), none},
		{"the user's keys", "auth.json", put("b/auth.json", usage), none},
		{"a pipe", "pipe", both(put("b/1", ""), makePipe), none},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			tt.make(dir)
			path := strings.ReplaceAll(tt.path, "DIR", filepath.ToSlash(dir))
			got := decode(filepath.Join(dir, "b", "trace.jsonl"), began(0, "1")+completed(100, "1", path))
			want := []string{"2 t u ok total=100" + tt.want + " resp_1 gpt-x OpenAI"}
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestNoPayloadsBesideStandardInput(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("p.json", []byte(usage), 0o600); err != nil {
		t.Fatal(err)
	}
	log := began(0, "1") + completed(100, "1", "p.json")
	if got := decode("-", log); strings.Contains(got[0], "out=") {
		t.Errorf("got %q: nobody knows whose p.json that is", got)
	}
	if got := decode("trace.jsonl", log); !strings.Contains(got[0], "out=210") {
		t.Errorf("got %q, want the tokens", got)
	}
}

func TestAnAnswerWithoutTokensIsAWarmUp(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.json"), []byte(`{"token_usage":{"output_tokens":0}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	got := decode(filepath.Join(dir, "trace.jsonl"), ev(0, `"type":"codex_turn_started"`)+began(0, "1")+completed(100, "1", "p.json")+ev(9, `"type":"codex_turn_ended"`))
	if want := []string{"3 t u warmup total=100 out=0 resp_1 gpt-x OpenAI"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What a trace never ends must not fill the memory.
func TestMemoryIsBounded(t *testing.T) {
	dropped := 0
	d := New("-", func(record.Record) { dropped++ })
	for i := range maxOpen + 10 {
		for _, s := range []string{
			began(i, fmt.Sprint(i)),
			ev(i, fmt.Sprintf(`"type":"tool_call_started","tool_call_id":"%d"`, i)),
			ev(i, fmt.Sprintf(`"type":"codex_turn_started","codex_turn_id":"%d"`, i)),
		} {
			d.Line(lines.Line{Text: []byte(s), Size: int64(len(s))})
		}
	}
	if len(d.requests) > maxOpen || len(d.tools) > maxOpen || len(d.turns) > maxOpen {
		t.Errorf("%d requests, %d tools, %d turns are kept", len(d.requests), len(d.tools), len(d.turns))
	}
	if d.End(); dropped != maxOpen+10 {
		t.Errorf("%d requests were counted as dropped, want %d", dropped, maxOpen+10)
	}
}

func TestNoTextIsKept(t *testing.T) {
	for _, tt := range lineTests {
		d := New("trace.jsonl", func(r record.Record) {
			if s := fmt.Sprintf("%+v", r); strings.Contains(s, "secret") || strings.Contains(s, "stream") {
				t.Errorf("%s: a record holds text: %s", tt.name, s)
			}
		})
		for _, line := range strings.Split(tt.log, "\n") {
			d.Line(lines.Line{Text: []byte(line), Size: int64(len(line))})
		}
		d.End()
	}
}

func FuzzBundle(f *testing.F) {
	for _, tt := range lineTests {
		if len(tt.log) < 4096 {
			f.Add(tt.log)
		}
	}
	f.Fuzz(func(t *testing.T, log string) {
		started := strings.Count(log, "inference")
		d := New("-", func(r record.Record) {
			switch r := r.(type) {
			case *record.Request:
				if started--; started < 0 {
					t.Error("more requests than events")
				}
				if r.Total < 0 || r.Quality != record.None || r.End.IsZero() {
					t.Errorf("impossible: %s", show(r))
				}
			case *record.Turn:
				if r.Duration < 0 {
					t.Errorf("impossible: %s", show(r))
				}
				for _, i := range r.Tools {
					if i.End.Before(i.Start) {
						t.Errorf("a tool that ends before it begins: %s", show(r))
					}
				}
			}
		})
		r := lines.NewReader(strings.NewReader(log))
		r.NeedWhole = d.NeedWhole
		for r.Scan() {
			d.Line(r.Line())
		}
		d.End()
	})
}

func makePipe(dir string) { mkfifo(filepath.Join(dir, "b", "pipe")) }

func BenchmarkLines(b *testing.B) {
	var log strings.Builder
	for i := range 1000 {
		id := fmt.Sprint("r", i)
		log.WriteString(began(10*i, id) + "\n" + completed(10*i+5, id, "") + "\n")
	}
	b.SetBytes(int64(log.Len()))
	b.ReportAllocs()
	for b.Loop() {
		decode("trace.jsonl", log.String())
	}
}
