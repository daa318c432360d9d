package parse

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"codexlag/parse/lines"
	"codexlag/parse/record"
)

// sequential is what a single Reader makes of text.
func sequential(text string) (out []record.Record, info Info) {
	r := NewReader("x", strings.NewReader(text), time.UTC)
	for r.Scan() {
		out = append(out, keep(r.Record()))
	}
	return out, r.Info()
}

// split is what several workers make of it.
func split(text string, unit int, o Options) (out []record.Record, info Info) {
	o.Location = time.UTC
	s := newSplitter("x", iotest.HalfReader(strings.NewReader(text)), unit, o)
	info = s.read(func(r record.Record) {
		out = append(out, keep(r))
	})
	return out, info
}

// byLine orders records as they lie in the log: units tell of their requests
// before what they dropped.
func byLine(l []record.Record) {
	slices.SortStableFunc(l, func(a, b record.Record) int { return int(a.Where().Line - b.Where().Line) })
}

// Splitting a file at any place gives what reading it in one go gives, also
// where lines of other logs or lines longer than a window turn up.
func TestSplitIsWhole(t *testing.T) {
	kinds := []string{"noise here", "", "[request] first_token_ms=%d total_tokens=2 total_ms=3000", "[request] nothing", `{"first_token_ms":%d,"total_ms":9000}`, "\r",
		"2026-09-10T09:00:00.500Z  INFO gateway: [request] first_token_ms=%d total_tokens=900 total_ms=3120\r", "2026-09-10T09:00:00.5Z INFO model=a/b-1 [request] total_ms=3120 total_tokens=900 tokens_per_sec=10.7 first_token_ms=%d",
		`{"ts":"2026-09-10T09:00:00.5Z", "level":"INFO","model":"m","first_token_ms":%d,"total_tokens":3,"total_ms":9000,"n":1.5}`, "[request] id=r%d first_token_ms=7 total_ms=9"}
	rare := []string{strings.TrimSpace(completed), traceHead + `codex_otel.log_only: event.name="codex.tool_result" output=`, strings.TrimSpace(meta), strings.Repeat("x", 2*lines.Window), `{"type":"turn.started"}`}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 5))
		var b strings.Builder
		for i := range r.IntN(120) {
			line := kinds[r.IntN(len(kinds))]
			if seed%3 == 0 && r.IntN(60) == 0 {
				line = rare[r.IntN(len(rare))]
			}
			if strings.Contains(line, "%d") {
				line = fmt.Sprintf(line, i)
			}
			b.WriteString(line)
			if i < 119 || r.IntN(2) == 0 {
				b.WriteString("\n")
			}
		}
		text := b.String()
		want, wantInfo := sequential(text)
		byLine(want)
		for _, unit := range []int{1, 64, 150, 400, 5000} {
			got, info := split(text, unit, Options{Jobs: 1 + r.IntN(4)})
			byLine(got)
			if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(info, wantInfo) {
				t.Fatalf("seed %d, units of %d bytes:\n%v %+v\nwant\n%v %+v", seed, unit, got, info, want, wantInfo)
			}
		}
	}
}

// With sinks of their own, workers pass on every record once.
func TestSplitWithWorkerSinks(t *testing.T) {
	text := strings.Repeat(requestLine+"noise\n"+"[request]\n", 5000) + "[request] id=a first_token_ms=1 total_ms=2\n"
	var mu sync.Mutex
	lines := map[int64]int{}
	count := func(r record.Record) {
		mu.Lock()
		defer mu.Unlock()
		rows, ok := r.(*record.Rows)
		if !ok {
			lines[r.Where().Line]++
			return
		}
		for i := range rows.List {
			var q record.Request
			rows.Request(i, &q)
			lines[q.Line]++
		}
	}
	named := 0
	o := Options{Jobs: 4, Location: time.UTC, WorkerSink: func() func(record.Record) { return count }}
	s := newSplitter("x", strings.NewReader(text), 1000, o)
	info := s.read(func(r record.Record) {
		count(r)
		if q, ok := r.(*record.Request); ok && q.ID != "" {
			named++
		}
	})
	if len(lines) != 10_001 || named != 1 || info.Requests != 5001 || info.Dropped[record.NoNumbers] != 5000 || info.Lines != 15_001 {
		t.Errorf("%d lines, %d named, %+v", len(lines), named, info)
	}
	for n, times := range lines {
		if times != 1 {
			t.Fatalf("line %d came %d times", n, times)
		}
	}
}

// A fault in a worker costs the log, not the program.
func TestSplitSurvivesAFault(t *testing.T) {
	text := strings.Repeat(requestLine, 1000)
	o := Options{Jobs: 3, Location: time.UTC, WorkerSink: func() func(record.Record) { return func(record.Record) { panic("broken") } }}
	info := newSplitter("x", strings.NewReader(text), 500, o).read(func(record.Record) {})
	if info.Err == nil || !strings.Contains(info.Err.Error(), "broken") || !strings.Contains(info.Err.Error(), "reading x") {
		t.Errorf("error %v", info.Err)
	}
}
