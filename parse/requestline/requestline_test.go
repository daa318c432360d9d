package requestline

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"codexlag/parse/lines"
	"codexlag/parse/record"
)

// read returns what the decoder makes of the lines of text.
func read(text string) (out []record.Record) {
	d := New("x.log", time.FixedZone("here", 2*3600), func(r record.Record) {
		if q, ok := r.(*record.Request); ok {
			c := *q
			r = &c
		}
		out = append(out, r)
	})
	s := lines.NewReader(strings.NewReader(text))
	s.NeedWhole = d.NeedWhole
	for s.Scan() {
		d.Line(s.Line())
	}
	d.End()
	return out
}

// describe writes the known figures of a request in one line.
func describe(r record.Record) string {
	q, ok := r.(*record.Request)
	if !ok {
		return "dropped " + string(r.(*record.Dropped).Reason)
	}
	var b strings.Builder
	if q.Quality != record.None {
		fmt.Fprintf(&b, "ttft=%v(%v) ", q.TTFT, q.Quality)
	}
	if q.Total > 0 {
		fmt.Fprintf(&b, "total=%v ", q.Total)
	}
	for _, t := range []struct {
		name string
		n    record.Tokens
	}{{"out", q.Output}, {"in", q.Input}, {"cached", q.Cached}, {"reasoning", q.Reasoning}} {
		if t.n.Known {
			fmt.Fprintf(&b, "%s=%d ", t.name, t.n.N)
		}
	}
	if q.HasReportedTPS {
		fmt.Fprintf(&b, "tps=%g ", q.ReportedTPS)
	}
	for _, s := range []struct{ name, v string }{{"model", q.Model}, {"provider", q.Provider}, {"effort", q.Effort}, {"session", q.Session},
		{"turn", q.Turn}, {"label", q.Label}, {"id", q.ID}, {"version", q.Version}, {"error", q.Error.Kind}} {
		if s.v != "" {
			fmt.Fprintf(&b, "%s=%s ", s.name, s.v)
		}
	}
	if !q.End.IsZero() {
		fmt.Fprintf(&b, "end=%s ", q.End.UTC().Format(time.RFC3339Nano))
	}
	if q.Status != record.OK {
		fmt.Fprintf(&b, "%v ", q.Status)
	}
	if q.Error.HTTPStatus != 0 {
		fmt.Fprintf(&b, "http=%d ", q.Error.HTTPStatus)
	}
	return strings.TrimSpace(b.String())
}

func TestShapes(t *testing.T) {
	const usual = "ttft=120ms(measured) total=3.12s out=900"
	for _, c := range []struct{ name, line, want string }{
		{"as the mission writes it", "[request] first_token_ms=120 total_tokens=900 total_ms=3120 tokens_per_sec=300.0", usual + " tps=300"},
		{"other order", "[request] total_ms=3120 first_token_ms=120 total_tokens=900", usual},
		{"key: value", "[request] first_token_ms: 120, total_tokens: 900, total_ms: 3120", usual},
		{"colon after the mark", "[request]: first_token_ms: 120 | total_tokens: 900 | total_ms: 3120", usual},
		{"blanks around =", "[request] first_token_ms = 120 total_tokens = 900 total_ms = 3120", usual},
		{"double-quoted values", `[request] first_token_ms="120" total_tokens="900" total_ms="3120"`, usual},
		{"single-quoted values", `[request] first_token_ms='120' total_tokens='900' total_ms='3120'`, usual},
		{"in backticks", "- `[request] first_token_ms=120 total_tokens=900 total_ms=3120`", usual},
		{"values in backticks", "[request] first_token_ms=`120` total_tokens=`900` total_ms=`3120`", usual},
		{"commas without blanks", "[request] first_token_ms=120,total_tokens=900,total_ms=3120", usual},
		{"bars without blanks", "[request] first_token_ms=120|total_tokens=900|total_ms=3120", usual},
		{"decimals", "[request] first_token_ms=120.0 total_tokens=900 total_ms=3120.00", usual},
		{"units", "[request] first_token_ms=0.12s total_tokens=900 total_ms=3120ms", usual},
		{"microseconds", "[request] first_token_ms=120000µs total_tokens=900 total_ms=3120000us", usual},
		{"total twice", "[request] first_token_ms=120 total_tokens=900 total=3120ms total_ms=3120", usual},
		{"total without a unit is no time", "[request] first_token_ms=120 total_tokens=900 total=3120", "ttft=120ms(measured) out=900"},
		{"duration_ms", "[request] first_token_ms=120 total_tokens=900 duration_ms=3120", usual},
		{"elapsed_ms", "[request] first_token_ms=120 total_tokens=900 elapsed_ms=3120", usual},
		{"latency_ms", "[request] first_token_ms=120 total_tokens=900 latency_ms=3120", usual},
		{"total_ms wins over duration_ms", "[request] duration_ms=9 first_token_ms=120 total_tokens=900 total_ms=3120", usual},
		{"seconds in the key", "[request] ttft_s=0.12 total_tokens=900 total_s=3.12", usual},
		{"other names of TTFT", "time_to_first_token_ms=120 total_tokens=900 total_ms=3120", usual},
		{"colours", "\x1b[2m[request]\x1b[0m \x1b[32mfirst_token_ms=120\x1b[0m total_tokens=\x1b[1m900\x1b[0m total_ms=3120", usual},
		{"logfmt message", `time=2026-09-10T09:00:00Z level=info msg="[request] first_token_ms=120 total_tokens=900 total_ms=3120"`, usual + " end=2026-09-10T09:00:00Z"},
		{"completion tokens beside total tokens", "[request] first_token_ms=120 prompt_tokens=9000 completion_tokens=900 total_tokens=9900 total_ms=3120", usual + " in=9000"},
		{"output tokens after total tokens", "[request] first_token_ms=120 total_tokens=9900 output_tokens=900 total_ms=3120", usual},
		{"every name", "[request] first_token_ms=120 total_tokens=900 total_ms=3120 cached_tokens=8 reasoning_tokens=7 model=m provider=p effort=high session=s turn=t label=l id=i version=0.1",
			usual + " cached=8 reasoning=7 model=m provider=p effort=high session=s turn=t label=l id=i version=0.1"},
		{"time and level before", "2026-09-10T09:00:00.500Z  INFO gateway: [request] first_token_ms=120 total_tokens=900 total_ms=3120", usual + " end=2026-09-10T09:00:00.5Z"},
		{"time with offset", "2026-09-10T11:00:00+02:00 [request] first_token_ms=120 total_tokens=900 total_ms=3120", usual + " end=2026-09-10T09:00:00Z"},
		{"time in brackets", "[2026-09-10T09:00:00Z] [request] first_token_ms=120 total_tokens=900 total_ms=3120", usual + " end=2026-09-10T09:00:00Z"},
		{"date and time as two words, comma, no zone", "2026-09-10 11:00:00,250 INFO [request] first_token_ms=120 total_tokens=900 total_ms=3120", usual + " end=2026-09-10T09:00:00.25Z"},
		{"Unix seconds", "[request] ts=1789030800 first_token_ms=120 total_tokens=900 total_ms=3120", usual + " end=2026-09-10T09:00:00Z"},
		{"Unix milliseconds", "[request] ts=1789030800500 first_token_ms=120 total_tokens=900 total_ms=3120", usual + " end=2026-09-10T09:00:00.5Z"},
		{"Unix seconds with fraction", "[request] ts=1789030800.25 first_token_ms=120 total_tokens=900 total_ms=3120", usual + " end=2026-09-10T09:00:00.25Z"},
		{"model before the mark", "INFO model=gpt-x [request] first_token_ms=120 total_tokens=900 total_ms=3120", usual + " model=gpt-x"},
		{"numbers before the mark are not the request's", "queue total_ms=9 [request] first_token_ms=120 total_tokens=900", "ttft=120ms(measured) out=900"},
		{"JSON", `{"first_token_ms":120,"total_tokens":900,"total_ms":3120}`, usual},
		{"JSON in any order with blanks and more", ` { "x": {"first_token_ms": 5}, "total_ms": 3120, "y": [1], "first_token_ms": "120", "total_tokens": 900, "model": "gpt-y", "ts": "2026-09-10T09:00:01Z" } `, usual + " model=gpt-y end=2026-09-10T09:00:01Z"},
		{"JSON with a marked message", `{"level":"info","msg":"[request] first_token_ms=120 total_tokens=900 total_ms=3120"}`, usual},
		{"JSON behind text", `2026-09-10T09:00:00Z INFO request {"first_token_ms":120,"total_tokens":900,"total_ms":3120}`, usual + " end=2026-09-10T09:00:00Z"},
		{"no mark needed", "first_token_ms=120 total_tokens=900 total_ms=3120", usual},
		{"rate instead of TTFT", "[request] total_tokens=300 total_ms=7000 tokens_per_sec=60", "ttft=2s(derived) total=7s out=300 tps=60"},
		{"rate that does not fit", "[request] total_tokens=300 total_ms=1000 tokens_per_sec=60", "total=1s out=300 tps=60"},
		{"0 is a time", "[request] first_token_ms=0 total_tokens=900 total_ms=3120", "ttft=0s(measured) total=3.12s out=900"},
		{"thousands", "[request] first_token_ms=1,200 total_tokens=1,024, total_ms=9,500.5", "ttft=1.2s(measured) total=9.5005s out=1024"},
		{"commas that part pairs", "[request] first_token_ms=120,total_tokens=900,total_ms=3120", usual},
		{"a failure without a number", "[request] status=429 model=m", "model=m failed http=429"},
		{"an error without a number", "[request] error=timeout", "error=timeout failed"},
		{"HTTP status", "[request] first_token_ms=None total_ms=90 status=401", "total=90ms failed http=401"},
		{"status 200", "[request] first_token_ms=120 total_tokens=900 total_ms=3120 status=200", usual},
		{"timeout", "[request] total_ms=300000 error=\"read timed out\"", "total=5m0s error=timeout failed"},
		{"aborted", "[request] first_token_ms=120 total_tokens=900 total_ms=3120 status=cancelled", usual + " aborted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := read(c.line)
			if len(got) != 1 || describe(got[0]) != c.want {
				t.Errorf("%s\n got %q\nwant %q", c.line, got, c.want)
				for _, g := range got {
					t.Log(describe(g))
				}
			}
		})
	}
}

func TestUnknownValues(t *testing.T) {
	for _, v := range []string{"None", "n/a", "null", `""`, "", "-1", "-1.00", "-", "nan", "NaN", "inf", "-Infinity", "NULL", "N/A"} {
		got := read("[request] first_token_ms=" + v + " total_tokens=700 total_ms=7000")
		if len(got) != 1 || describe(got[0]) != "total=7s out=700" {
			t.Errorf("first_token_ms=%s: got %q", v, describe(got[0]))
		}
	}
}

// A value that says nothing leaves its figure unknown, and is told.
func TestUnreadableValues(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"[request] first_token_ms=abc total_tokens=700 total_ms=7000", "total=7s out=700"},
		{"[request] first_token_ms=1e400 total_tokens=700 total_ms=7000", "total=7s out=700"},
		{"[request] first_token_ms=0x10 total_tokens=700 total_ms=7000", "total=7s out=700"},
		{"[request] first_token_ms=1_000 total_tokens=700 total_ms=7000", "total=7s out=700"},
		{"[request] first_token_ms=99999999999999999999999 total_tokens=700 total_ms=7000", "total=7s out=700"},
		{"[request] first_token_ms=2592000001 total_tokens=700 total_ms=7000", "total=7s out=700"}, // more than 30 days
		{"[request] ttft_s=soon total_tokens=700 total_s=7", "total=7s out=700"},
		{"[request] total_tokens=12.5 first_token_ms=120 total_ms=7000", "ttft=120ms(measured) total=7s"},
		{"[request] total_tokens=99999999999999 first_token_ms=120 total_ms=7000", "ttft=120ms(measured) total=7s"},
		{"[request] tokens_per_sec=fast first_token_ms=120 total_ms=7000", "ttft=120ms(measured) total=7s"},
		{"[request] tokens_per_sec=1000001 first_token_ms=120 total_ms=7000", "ttft=120ms(measured) total=7s"},
		{"[request] prompt_tokens=many cached_tokens=x reasoning_tokens=y first_token_ms=120 total_ms=7000", "ttft=120ms(measured) total=7s"},
		{`{"first_token_ms":"abc","total_tokens":700,"total_ms":true}`, "out=700"},
	} {
		got := read(c.line)
		if len(got) != 2 || describe(got[0]) != c.want || describe(got[1]) != "dropped bad_value" {
			t.Errorf("%s: got %d records, %s", c.line, len(got), describe(got[0]))
		}
	}
	for _, line := range []string{
		"[request] ttft=early first_token_ms=120 total=high latency=low", // keys that count only with a unit
		`{"first_token_ms":120,"total_ms":7000,"total_tokens":{"sum":3}}`,
		"[request] first_token_ms=120 total_ms=7000 status=x model=abc",
	} {
		if got := read(line); len(got) != 1 {
			t.Errorf("%s: got %d records", line, len(got))
		}
	}
}

func TestNotARequest(t *testing.T) {
	for _, c := range []struct{ name, line string }{
		{"other fields that end in the same name", "llm_first_token_ms=5 avg_first_token_ms=7 agent_first_token_ms=9 has_first_token_ms=1 total_ms=9"},
		{"a limit", `wait limit {"wait":{"first_token_ms":120000}} reached`},
		{"a limit and a total", `{"wait":{"first_token_ms":120000},"total_ms":5}`},
		{"prose", "first_token_ms is the time to first token, total_ms the whole"},
		{"a dotted path", "set wait.first_token_ms=120000 total_ms=5"},
		{"the mark as a quotation", `ToolCall: shell {"cmd":"echo [request] first_token_ms=1 total_tokens=9 total_ms=2"}`},
		{"the mark far inside a line", strings.Repeat("word ", 400) + "[request] first_token_ms=1 total_tokens=9 total_ms=2"},
		{"only one field", "first_token_ms=120"},
		{"another program's totals", "total_ms=3 total_tokens=9"},
		{"blank", "   "},
		{"JSON without a first token", `{"total_ms":3,"total_tokens":9}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := read(c.line); len(got) != 0 {
				t.Errorf("got %s", describe(got[0]))
			}
		})
	}
}

func TestBrokenRequestLinesAreTold(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"nothing behind the mark", "[request]", "dropped no_numbers"},
		{"a status that is no failure, and no number", "[request] status=ok", "dropped no_numbers"},
		{"no usable number", "[request] first_token_ms=1e400 total_tokens=x total_ms=-", "dropped no_numbers"},
		{"truncated JSON", `{"first_token_ms":120,"total_tokens":900,"total_`, "dropped bad_json"},
		{"two objects glued", `{"first_token_ms":120,"total_ms":9}{"first_token_ms":120}`, "dropped bad_json"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := read(c.line)
			if len(got) != 1 || describe(got[0]) != c.want {
				t.Errorf("got %v, want %s", got, c.want)
			}
		})
	}
}

func TestNamesAreSafeToKeep(t *testing.T) {
	got := read("{\"first_token_ms\":1,\"total_ms\":2,\"model\":\"a\\u001b[31m\\nb\xff" + strings.Repeat("ü", 100) + "\"}")
	m := got[0].(*record.Request).Model
	if strings.ContainsAny(m, "\x1b\n") || !utf8.ValidString(m) || len(m) > 130 || !strings.HasPrefix(m, "a\uFFFD[31m\uFFFDb") {
		t.Errorf("model %q", m)
	}
}

func FuzzLine(f *testing.F) {
	for _, s := range []string{
		"[request] first_token_ms=2840 total_tokens=3 total_ms=3120 tokens_per_sec=10.7",
		`{"first_token_ms":120,"total_tokens":900,"total_ms":3120,"model":"\ud83d\ude00"}`,
		"\x1b[2m[request]\x1b", "[request] first_token_ms: \"12", "2026-09-10 09:00:00,5 [request] total=5s ttft='1", "[request]{\"ttft\":",
		"first_token_ms=\"\\", "[request] ts=1e9 total_ms=0", "ttft_ms=`", "{\"msg\":\"[request] ttft=1s\"",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range read(s) {
			q, ok := r.(*record.Request)
			if !ok {
				continue
			}
			if q.TTFT < 0 || q.TTFT > maxDuration || q.Total < 0 || q.Total > maxDuration || q.Output.N < 0 || q.Output.N >= maxTokens {
				t.Errorf("%q: implausible %s", s, describe(q))
			}
			if strings.ContainsAny(q.Model+q.Label+q.ID, "\x1b\n\r\x00") {
				t.Errorf("%q: control characters kept", s)
			}
		}
	})
}

func benchmark(b *testing.B, line string) {
	d := New("x.log", time.UTC, func(record.Record) {})
	l := lines.Line{N: 1, Text: []byte(line), Size: int64(len(line))}
	b.SetBytes(int64(len(line)) + 1)
	b.ReportAllocs()
	for b.Loop() {
		if Match(l.Text) {
			d.Line(l)
		}
	}
}

func BenchmarkRequest(b *testing.B) {
	benchmark(b, "2026-09-10T09:00:00.500Z INFO model=gpt-5.4 [request] first_token_ms=2840 total_tokens=30 total_ms=3120 tokens_per_sec=107.1")
}

func BenchmarkJSON(b *testing.B) {
	benchmark(b, `{"ts":"2026-09-10T09:00:00.500Z","model":"gpt-5.4","first_token_ms":2840,"total_tokens":30,"total_ms":3120}`)
}

func BenchmarkNoise(b *testing.B) {
	benchmark(b, "INFO  connection accepted from 10.0.0.1 port=443 keepalive=true")
}
