package execjson

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"codexlag/parse/lines"
	"codexlag/parse/record"
)

func decode(log string) (got, threads []string) {
	d := New("f", func(r record.Record) {
		x := r.(*record.Dropped)
		got = append(got, strings.TrimSpace(fmt.Sprintf("%d %s %s", x.Line, x.Reason, x.Session)))
	})
	r := lines.NewReader(strings.NewReader(log))
	r.NeedWhole = d.NeedWhole
	for r.Scan() {
		d.Line(r.Line())
	}
	d.End()
	return got, d.Threads()
}

const counts = `{"input_tokens":10,"cached_input_tokens":0,"output_tokens":%d,"total_tokens":99}`

func tokenCount(n int) string {
	c := fmt.Sprintf(counts, n)
	return `{"id":"0","msg":{"type":"token_count","info":{"total_token_usage":` + c + `,"last_token_usage":` + c + `},"rate_limits":{"primary":null}}}`
}

var tests = []struct {
	name    string
	log     []string
	want    []string
	threads []string
}{
	{"today", []string{
		`{"type":"thread.started","thread_id":"a"}`,
		`{"type":"turn.started"}`,
		`{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"secret {\"type\":\"turn.completed\"}"}}`,
		`{"type":"turn.completed","usage":{"input_tokens":24300,"cached_input_tokens":20000,"output_tokens":510}}`,
		`{"type":"turn.completed","usage":{"input_tokens":24300,"cached_input_tokens":20000,"output_tokens":510}}`,
	}, []string{"4 no_time a", "5 no_time a"}, []string{"a"}},
	{"two runs in one file, one resumed", []string{
		`{"type":"thread.started","thread_id":"a"}`, `{"type":"turn.completed"}`,
		`{"type":"thread.started","thread_id":"b"}`, `{"type":"turn.completed"}`,
		`{"type":"thread.started","thread_id":"a"}`, `{"type":"turn.completed"}`,
	}, []string{"2 no_time a", "4 no_time b", "6 no_time a"}, []string{"a", "b"}},
	{"no thread", []string{`{"type":"turn.completed","usage":{}}`}, []string{"1 no_time"}, nil},
	{"a turn that failed", []string{`{"type":"thread.started","thread_id":"a"}`, `{"type":"turn.failed","error":{"message":"secret"}}`}, nil, []string{"a"}},
	{"a turn that failed and cost", []string{`{"type":"turn.failed","error":{"message":"secret"},"usage":{"output_tokens":1}}`}, []string{"1 no_time"}, nil},
	{"September 2025", []string{
		`{"type":"session.created","session_id":"a"}`,
		`{"type":"item.completed","item":{"id":"itm_0","item_type":"assistant_message","text":"secret"}}`,
	}, nil, []string{"a"}},
	{"before", []string{
		`{"id":"","msg":{"type":"session_configured","session_id":"a","model":"gpt-x"}}`,
		`{"id":"0","msg":{"type":"task_started"}}`,
		`{"id":"0","msg":{"type":"token_count","info":null}}`,
		tokenCount(1), tokenCount(1), tokenCount(2),
		`{"id":"0","msg":{"type":"agent_message","message":"secret"}}`,
	}, []string{"4 no_time a", "5 repeat a", "6 no_time a"}, []string{"a"}},
	{"before, counts without info", []string{
		`{"id":"0","msg":{"type":"token_count","input_tokens":10,"output_tokens":5,"total_tokens":15}}`,
		`{"id":"0","msg":{"type":"token_count","input_tokens":10,"output_tokens":7,"total_tokens":32}}`,
	}, []string{"1 no_time", "2 no_time"}, nil},
	{"before, last usage only", []string{
		`{"id":"0","msg":{"type":"token_count","info":{"last_token_usage":{"output_tokens":5}}}}`,
		`{"id":"0","msg":{"type":"token_count","info":{"last_token_usage":{"output_tokens":5}}}}`,
	}, []string{"1 no_time", "2 no_time"}, nil},
	{"the same totals in another session", []string{
		`{"id":"","msg":{"type":"session_configured","session_id":"a"}}`, tokenCount(1),
		`{"id":"","msg":{"type":"session_configured","session_id":"b"}}`, tokenCount(1),
	}, []string{"2 no_time a", "4 no_time b"}, []string{"a", "b"}},
	{"unknown", []string{`{"type":"turn.paused"}`, `{"type":7}`, `{"msg":[]}`, `{}`, `{"type":"thread.started","thread_id":7}`}, nil, nil},
	{"cut short", []string{`{"type":"thread.started","thread_id":"a"}`, `{"type":"turn.comp`}, []string{"2 bad_json a"}, []string{"a"}},
	{"glued", []string{`{"type":"turn.started"}{"type":"turn.completed"}`}, []string{"1 bad_json"}, nil},
	{"glued within", []string{`{"id":"0","msg":{"type":"token_count" "info":{}}}`}, []string{"1 bad_json"}, nil},
	{"a long item", []string{`{"type":"item.completed","item":{"text":"` + strings.Repeat("x", 2*lines.Window) + `"}}`, `{"type":"turn.completed"}`}, []string{"2 no_time"}, nil},
	{"control characters in an id", []string{`{"type":"thread.started","thread_id":"a\u001b[31m"}`}, nil, []string{"a\ufffd[31m"}},
}

func TestLines(t *testing.T) {
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, threads := decode(strings.Join(tt.log, "\n"))
			if !slices.Equal(got, tt.want) || !slices.Equal(threads, tt.threads) {
				t.Errorf("got %q, threads %q; want %q, %q", got, threads, tt.want, tt.threads)
			}
		})
	}
}

func TestThreadsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 2 * maxThreads {
		fmt.Fprintf(&b, `{"type":"thread.started","thread_id":"%d"}`+"\n", i)
	}
	_, threads := decode(b.String())
	if len(threads) != maxThreads || threads[0] != "0" {
		t.Errorf("%d threads are kept, want the first %d", len(threads), maxThreads)
	}
}

func TestIrrelevantLinesCostNoGarbage(t *testing.T) {
	d := New("f", func(record.Record) {})
	text := []byte(`{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"secret"}}`)
	if n := testing.AllocsPerRun(100, func() { d.Line(lines.Line{N: 1, Text: text, Size: int64(len(text))}) }); n > 0 {
		t.Errorf("%v allocations a line", n)
	}
}

func FuzzExec(f *testing.F) {
	for _, tt := range tests {
		if s := strings.Join(tt.log, "\n"); len(s) < 4096 {
			f.Add(s)
		}
	}
	f.Fuzz(func(t *testing.T, log string) {
		got, threads := decode(log)
		if n := strings.Count(log, "\n") + 1; len(got) > n || len(threads) > n {
			t.Errorf("%d records and %d threads from %d lines", len(got), len(threads), n)
		}
	})
}
