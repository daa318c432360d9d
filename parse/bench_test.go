package parse

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codexlag/parse/record"
)

// BenchmarkReader reads a megabyte or more of each kind of log, as one stream.
func BenchmarkReader(b *testing.B) {
	noise := "INFO  connection accepted from 10.0.0.1 port=443 keepalive=true\n"
	stamped := "2026-11-01T00:00:01.208Z INFO model=gpt-x [request] first_token_ms=4243 total_tokens=124 total_ms=5416 tokens_per_sec=105.7\n"
	logs := map[string]string{
		"noise":        noise,
		"dated noise":  "2026-11-01T00:00:01.720Z TRACE flush batch id=223 rows=46614 table=events ok\n",
		"request":      requestLine,
		"request time": stamped,
		"request json": `{"ts":"2026-11-01T00:00:01.208Z","model":"gpt-x","first_token_ms":4243,"total_tokens":124,"total_ms":5416}` + "\n",
		"trace":        completed,
		"exec":         `{"type":"thread.started","thread_id":"a"}` + "\n" + `{"type":"turn.completed","usage":{"input_tokens":24300,"cached_input_tokens":20000,"output_tokens":510}}` + "\n",
		"rollout":      readFile(b, rolloutFile(b)),
	}
	for name, text := range logs {
		text = strings.Repeat(text, 1+(1<<20)/len(text))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				r := NewReader("x", strings.NewReader(text), time.UTC)
				for r.Scan() {
				}
			}
		})
	}
}

// BenchmarkSplit reads request lines and noise as big files are read. It makes
// no garbage per line.
func BenchmarkSplit(b *testing.B) {
	text := strings.Repeat("INFO  connection accepted from 10.0.0.1 port=443 keepalive=true\n"+requestLine, 100_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		o := Options{Jobs: 1, Location: time.UTC, WorkerSink: func() func(record.Record) { return func(record.Record) {} }}
		if info := readSplit("x", strings.NewReader(text), o, func(record.Record) {}); info.Requests != 100_000 {
			b.Fatal(info)
		}
	}
}

// A line of a big log, noise or request, must not cost an allocation.
func TestSplitMakesNoGarbage(t *testing.T) {
	read := func(lines int) float64 {
		text := strings.Repeat("INFO  connection accepted\n"+requestLine, lines)
		return testing.AllocsPerRun(3, func() {
			o := Options{Jobs: 1, Location: time.UTC, WorkerSink: func() func(record.Record) { return func(record.Record) {} }}
			readSplit("x", strings.NewReader(text), o, func(record.Record) {})
		})
	}
	few, many := read(20_000), read(200_000)
	if many-few > 100 {
		t.Errorf("%v allocations for 40,000 lines, %v for 400,000", few, many)
	}
}

func readFile(b *testing.B, path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

func rolloutFile(b *testing.B) string {
	l, err := filepath.Glob("../testdata/codexhome/sessions/2026/09/*/*.jsonl")
	if err != nil || len(l) == 0 {
		b.Fatal("no session file to read")
	}
	return l[0]
}
