package otlp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"codexlag/parse/lines"
	"codexlag/parse/record"
)

func show(r record.Record) string {
	switch r := r.(type) {
	case *record.Request:
		s := fmt.Sprintf("%s %s", r.Session, r.Status)
		if r.Quality != record.None {
			s += fmt.Sprintf(" ttft=%d/%s", r.TTFT.Milliseconds(), r.Quality)
		}
		if r.Total != 0 {
			s += fmt.Sprint(" total=", r.Total.Milliseconds())
		}
		if r.Output.Known {
			s += fmt.Sprint(" out=", r.Output.N)
		}
		if r.Turn != "" {
			s += " turn=" + r.Turn
		}
		return s
	case *record.Turn:
		return fmt.Sprintf("%s turn %s requests=%d", r.Session, r.Status, len(r.Requests))
	case *record.Dropped:
		return "dropped " + string(r.Reason)
	}
	return "?"
}

func decode(log string) []string {
	var got []string
	d := New("f", func(r record.Record) { got = append(got, show(r)) })
	for i, text := range strings.SplitAfter(log, "\n") {
		d.Line(lines.Line{N: int64(i + 1), Text: []byte(text), Size: int64(len(text))})
	}
	d.End()
	return got
}

var base = time.Date(2026, 9, 10, 9, 0, 0, 0, time.UTC)

func nano(s float64) string {
	return strconv.FormatInt(base.Add(time.Duration(s*1e9)).Round(time.Millisecond).UnixNano(), 10)
}

// rec makes a log record at s seconds from "key=value" attributes: values that
// start with # are an intValue, all others are strings.
func rec(s float64, attrs ...string) string {
	return fmt.Sprintf(`{"timeUnixNano":"0","observedTimeUnixNano":"%s","severityNumber":9,"body":null,"attributes":[%s]}`, nano(s), attrList(attrs))
}

func attrList(attrs []string) string {
	var list []string
	for _, a := range attrs {
		k, v, _ := strings.Cut(a, "=")
		value := fmt.Sprintf(`{"stringValue":%q}`, v)
		if n, ok := strings.CutPrefix(v, "#"); ok {
			value = fmt.Sprintf(`{"intValue":"%s"}`, n)
		}
		list = append(list, fmt.Sprintf(`{"key":%q,"value":%s}`, k, value))
	}
	return strings.Join(list, ",")
}

func logs(records ...string) string {
	return `{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"codex-tui"}}]},"scopeLogs":[{"scope":{},"logRecords":[` +
		strings.Join(records, ",") + `]}]}]}` + "\n"
}

func sent(s float64) string {
	return rec(s, "event.name=codex.websocket_request", "duration_ms=3", "success=true", "conversation.id=c1", "user.email=me@example.org")
}

func completed(s float64, out int) string {
	return rec(s, "conversation.id=c1", "output_token_count="+strconv.Itoa(out), "cached_token_count=#80", "input_token_count=100", "ttft_ms=#2400", "event.kind=response.completed", "event.name=codex.sse_event")
}

func TestCaptures(t *testing.T) {
	const usual = "c1 ok ttft=2400/measured total=4550 out=210"
	for _, test := range []struct {
		name string
		log  string
		want []string
	}{
		{"body null, time 0, numbers as strings and as ints", logs(sent(0.503), completed(5.05, 210)), []string{usual}},
		{"records not in time order", logs(completed(5.05, 210)) + logs(completed(15.05, 211), sent(10.503)) + logs(sent(0.503)), []string{usual, "c1 ok ttft=2400/measured total=4550 out=211"}},
		{"event.timestamp before the record's times",
			logs(rec(99, "event.name=codex.websocket_request", "duration_ms=3", "conversation.id=c1", "event.timestamp=2026-09-10T09:00:00.503Z"), completed(5.05, 210)),
			[]string{usual}},
		{"a time of its own before the observed one",
			logs(sent(0.503), strings.Replace(strings.Replace(completed(5.05, 210), nano(5.05), nano(77), 1), `"timeUnixNano":"0"`, `"timeUnixNano":"`+nano(5.05)+`"`, 1)), []string{usual}},
		{"no time", logs(strings.Replace(completed(5.05, 210), nano(5.05), "0", 1)), []string{"dropped no_time"}},
		{"the name as the record's eventName", logs(sent(0.503), strings.Replace(strings.Replace(completed(5.05, 210), `"event.name"`, `"x"`, 1), `"body"`, `"eventName":"codex.sse_event","body"`, 1)), []string{usual}},
		{"doubles and bools", logs(strings.Replace(sent(0.503), `{"stringValue":"3"}`, `{"doubleValue":3.0}`, 1), completed(5.05, 210)), []string{usual}},
		{"success false as a bool", logs(strings.Replace(sent(0.503), `{"stringValue":"true"}`, `{"boolValue":false}`, 1)), []string{"c1 failed total=3"}},
		{"copies, and spans that tell the same",
			logs(sent(0.503), completed(5.05, 210), completed(5.051, 210)) +
				`{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"turn","attributes":[` + attrList([]string{"turn.id=t1", "thread.id=c1"}) + `],"events":[{"timeUnixNano":"` + nano(0.504) + `","attributes":[` +
				attrList([]string{"event.name=codex.websocket_request", "duration_ms=3"}) + `]}]}]}]}]}` + "\n",
			[]string{usual}},
		{"events of spans alone, turn and thread from the span",
			`{"resourceSpans":[{"scopeSpans":[{"spans":[{"events":[{"timeUnixNano":"` + nano(5.05) + `","attributes":[` +
				attrList([]string{"event.name=codex.sse_event", "event.kind=response.completed", "output_token_count=7", "ttft_ms=5"}) +
				`]}],"attributes":[` + attrList([]string{"turn.id=t1", "thread.id=c1"}) + `]},{}]}]}]}` + "\n",
			[]string{"c1 ok ttft=5/measured out=7 turn=t1"}},
		{"metrics", `{"resourceMetrics":[]}` + "\n", []string{"dropped unknown_type"}},
		{"cut short", logs(sent(0.503), completed(5.05, 210)) + logs(completed(9, 8))[:300] + "\n", []string{"dropped bad_json", usual}},
		{"cut short behind a whole record", logs(sent(0.503), completed(5.05, 210), completed(9, 8))[:len(logs(sent(0.503), completed(5.05, 210)))+9] + "\n", []string{"dropped bad_json", usual}},
		{"glued", strings.TrimSuffix(logs(sent(0.503), completed(5.05, 210)), "\n") + logs(completed(9, 8)), []string{"dropped bad_json", usual}},
		{"not even that", "[]\nnull\n\n{}\n", []string{"dropped bad_json", "dropped bad_json", "dropped unknown_type"}},
		{"wrong types everywhere", `{"resourceLogs":{"a":1}}` + "\n" + `{"resourceLogs":[1,{"scopeLogs":[null,{"logRecords":[[],{"attributes":[{"key":1,"value":2},{"value":{}}]}]}]}]}` + "\n", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := decode(test.log); !slices.Equal(got, test.want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestLineTooLong(t *testing.T) {
	text := logs(sent(0.503), completed(5.05, 210), completed(9, 8))
	head := text[:len(logs(sent(0.503), completed(5.05, 210)))+9]
	var got []string
	d := New("f", func(r record.Record) { got = append(got, show(r)) })
	d.Line(lines.Line{N: 1, Text: []byte(head), Size: int64(len(text))})
	d.End()
	if want := []string{"dropped too_long", "c1 ok ttft=2400/measured total=4550 out=210"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A long capture is passed on as it comes, and what is put in order is bounded.
func TestOrderIsBounded(t *testing.T) {
	var got []string
	d := New("f", func(r record.Record) { got = append(got, show(r)) })
	line := func(s string) { d.Line(lines.Line{N: 1, Text: []byte(s), Size: int64(len(s))}) }
	line(logs(completed(5.05, 210), sent(0.503)))
	if len(got) != 0 {
		t.Fatalf("passed on at once: %q", got)
	}
	line(logs(sent(3000)))
	if len(got) != 1 || len(d.held) != 1 {
		t.Fatalf("after 50 minutes: %q, %d held", got, len(d.held))
	}
	for i := range maxHeld + 10 {
		e := rec(3001+float64(i)/1000, "event.name=codex.tool_result", "duration_ms=1", "call_id="+strconv.Itoa(i), "conversation.id=c1")
		line(logs(e))
		if len(d.held) > maxHeld {
			t.Fatalf("%d events held", len(d.held))
		}
	}
	if i := d.Info(); i.Events < maxHeld/2 {
		t.Errorf("%d events passed on, want at least %d", i.Events, maxHeld/2)
	}
}

func TestShuffledRecords(t *testing.T) {
	var records []string
	for i := range 30 {
		s := float64(i) * 10
		records = append(records, sent(s+0.5), completed(s+5, 10+i), completed(s+5.002, 10+i))
	}
	want := decode(logs(records...))
	if len(want) != 30 {
		t.Fatalf("%d records, want 30", len(want))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 10 {
		random.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		var log strings.Builder
		for _, r := range records {
			log.WriteString(logs(r))
		}
		if got := decode(log.String()); !slices.Equal(got, want) {
			t.Fatalf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestWhole(t *testing.T) {
	log := logs(sent(0.503), completed(5.05, 210)) + logs(sent(10.503), completed(15.05, 211)) + `{"resourceSpans":null,"x":[{}]}`
	var pretty bytes.Buffer
	for _, line := range strings.SplitAfter(log, "\n") {
		if err := json.Indent(&pretty, []byte(line), "", "  "); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"c1 ok ttft=2400/measured total=4550 out=210", "c1 ok ttft=2400/measured total=4550 out=211"}
	fault := errors.New("disk")
	for _, test := range []struct {
		name string
		r    io.Reader
		want []string
		err  error
	}{
		{"pretty-printed", bytes.NewReader(pretty.Bytes()), want, nil},
		{"byte by byte", iotest.OneByteReader(bytes.NewReader(pretty.Bytes())), want, nil},
		{"one a line", strings.NewReader(log), want, nil},
		{"empty", strings.NewReader(""), nil, nil},
		{"cut short", bytes.NewReader(pretty.Bytes()[:pretty.Len()-20]), append([]string{"dropped bad_json"}, want...), nil},
		{"not an object", strings.NewReader(`[1,2]`), []string{"dropped bad_json"}, nil},
		{"wrong shape", strings.NewReader(`{"resourceLogs":7}`), []string{"dropped bad_json"}, nil},
		{"a reader that fails", io.MultiReader(strings.NewReader(log), iotest.ErrReader(fault)), want, fault},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			err := Whole(test.r, "f", func(r record.Record) { got = append(got, show(r)) })
			if !slices.Equal(got, test.want) || !errors.Is(err, test.err) {
				t.Errorf("got %q, %v; want %q, %v", got, err, test.want, test.err)
			}
		})
	}
}

func FuzzOTLP(f *testing.F) {
	whole := logs(sent(0.503), completed(5.05, 210))
	f.Add([]byte(whole))
	f.Add([]byte(whole[:len(whole)/2]))                    // truncated
	f.Add([]byte(strings.TrimSpace(whole) + whole))        // glued
	f.Add([]byte(logs(completed(5.05, 210), sent(0.503)))) // reordered
	f.Add([]byte(strings.ReplaceAll(whole, `"`, `\"`)))    // no strings
	f.Add([]byte(`{"resourceSpans":[{"scopeSpans":[{"spans":[{"events":[{"timeUnixNano":"1","attributes":[{"key":"event.name","value":{"stringValue":"codex.turn_ttft"}}]}]}]}]}]}`))
	f.Fuzz(func(t *testing.T, log []byte) {
		check := func(r record.Record) {
			if q, ok := r.(*record.Request); ok && (q.TTFT < 0 || q.Total < 0 || len(q.Session) > 512) {
				t.Errorf("bad request: %s", show(q))
			}
		}
		d := New("f", check)
		for i, text := range bytes.SplitAfter(log, []byte("\n")) {
			d.Line(lines.Line{N: int64(i + 1), Text: text, Size: int64(len(text))})
		}
		d.End()
		if err := Whole(bytes.NewReader(log), "f", check); err != nil {
			t.Error(err)
		}
	})
}

func bench(b *testing.B, line string) {
	l := lines.Line{N: 1, Text: []byte(line), Size: int64(len(line))}
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		d := New("f", func(record.Record) {})
		d.Line(l)
		d.End()
	}
}

func BenchmarkEvents(b *testing.B) {
	var records []string
	for i := range 500 {
		records = append(records, sent(float64(i)*10), completed(float64(i)*10+5, 300))
	}
	bench(b, logs(records...))
}

func BenchmarkNoise(b *testing.B) {
	var records []string
	for i := range 1000 {
		records = append(records, rec(float64(i), "event.name=codex.sse_event", "event.kind=response.output_text.delta", "duration_ms=12", "conversation.id=c1", "app.version=0.157.1"))
	}
	bench(b, logs(records...))
}

var _ record.Decoder = (*Decoder)(nil)
