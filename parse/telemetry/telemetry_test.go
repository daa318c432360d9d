package telemetry

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"codexlag/parse/intern"
	"codexlag/parse/record"
)

var base = time.Date(2026, 9, 10, 9, 0, 0, 0, time.UTC)

// ev makes an event from "SECONDS event-name key=value …", in conversation c1
// unless it says otherwise. A name in capitals is a span mark.
func ev(t testing.TB, line string) Event {
	t.Helper()
	words := strings.Fields(line)
	s, err := strconv.ParseFloat(words[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	e := Event{Time: base.Add(time.Duration(s * float64(time.Second))).Round(time.Millisecond)}
	marks := map[string]Kind{
		"MODEL_NEW": ModelSpanOpened, "MODEL_CLOSE": ModelSpanClosed, "TURN_NEW": TurnSpanOpened, "TURN_CLOSE": TurnSpanClosed,
		"USAGE": Usage, "SAMPLED": Sampled,
	}
	var names intern.Table
	if k, ok := marks[words[1]]; ok {
		e.Kind = k
	} else {
		e.Field(&names, []byte("event.name"), []byte("codex."+words[1]))
	}
	for _, w := range words[2:] {
		k, v, _ := strings.Cut(w, "=")
		if long, ok := map[string]string{"in": "input_token_count", "out": "output_token_count", "kind": "event.kind", "ms": "duration_ms",
			"conv": "conversation.id", "status": "http.response.status_code", "turn": "turn_id", "err": "error.message"}[k]; ok {
			k = long
		}
		e.Field(&names, []byte(k), []byte(strings.ReplaceAll(v, "_", " ")))
		if k == "event.kind" || k == "tool_name" {
			e.Field(&names, []byte(k), []byte(v))
			if k == "event.kind" {
				e.part([]byte(v))
			}
		}
	}
	if e.Conversation == "" {
		e.Conversation = "c1"
	}
	return e
}

func done(s string) string { return s + " sse_event kind=response.completed " }

func show(r record.Record) string {
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	switch r := r.(type) {
	case *record.Request:
		s := "request " + r.Session + " " + r.Status.String()
		if r.Quality != record.None {
			s += " ttft=" + ms(r.TTFT) + "/" + r.Quality.String()
		}
		if r.FirstVisible {
			s += " visible"
		}
		if r.Total != 0 {
			s += " total=" + ms(r.Total)
		}
		if r.Output.Known {
			s += fmt.Sprint(" out=", r.Output.N)
		}
		if r.Retries > 0 {
			s += fmt.Sprint(" retries=", r.Retries)
		}
		if r.Error != (record.Error{}) {
			s += fmt.Sprint(" error=", r.Error.HTTPStatus, r.Error.Kind)
		}
		if r.Turn != "" {
			s += " turn=" + r.Turn
		}
		return s
	case *record.Turn:
		s := fmt.Sprintf("turn %s %s requests=%d tools=%d", r.Session, r.Status, len(r.Requests), len(r.Tools))
		if r.Duration != 0 {
			s += " duration=" + ms(r.Duration)
		}
		if r.HasTTFT {
			s += " ttft=" + ms(r.TTFT)
		}
		if r.ID != "" {
			s += " id=" + r.ID
		}
		return s
	case *record.Dropped:
		return "dropped " + string(r.Reason)
	}
	return "?"
}

func run(events []Event) []string {
	var got []string
	x := New(record.FormatTrace, func(r record.Record) { got = append(got, show(r)) })
	for i := range events {
		x.Add(&events[i])
	}
	x.End()
	return got
}

func TestReconstruction(t *testing.T) {
	for _, test := range []struct {
		name   string
		events []string
		want   []string
	}{
		{"websocket: ttft_ms is the whole prefill",
			[]string{"0.503 websocket_request ms=3 success=true", done("5.05") + "out=210 ttft_ms=2400"},
			[]string{"request c1 ok ttft=2400/measured total=4550 out=210"}},
		{"http: the wait for the headers is added",
			[]string{"10.8 api_request ms=800 status=200 attempt=0", done("22") + "out=900 ttft_ms=1200"},
			[]string{"request c1 ok ttft=2000/measured total=12000 out=900"}},
		{"warm-up without a start",
			[]string{done("1") + "in=12000 out=0 ttft_ms=37"},
			[]string{"request c1 warmup ttft=37/measured out=0"}},
		{"start not in the log: TTFT known, total not",
			[]string{done("1") + "out=5 ttft_ms=37"},
			[]string{"request c1 ok ttft=37/measured out=5"}},
		{"401 alone fails",
			[]string{"30 api_request ms=90 status=401 err=Unauthorized attempt=0"},
			[]string{"request c1 failed total=90 error=401"}},
		{"retries belong to the request that succeeds",
			[]string{"1 api_request ms=100 status=503 attempt=0", "3 api_request ms=200 status=429 attempt=1", "6 api_request ms=1000 status=200 attempt=2", done("16") + "out=50 ttft_ms=500"},
			[]string{"request c1 ok ttft=5600/derived total=15100 out=50 retries=2"}},
		{"retries that all fail are one failure",
			[]string{"1 api_request ms=100 status=503 attempt=0", "3 api_request ms=200 status=429 attempt=1"},
			[]string{"request c1 failed total=2100 retries=1 error=429"}},
		{"attempt 0 after a failure is another request",
			[]string{"1 api_request ms=100 status=503 attempt=0", "3 api_request ms=200 status=200 attempt=0", done("4") + "out=9"},
			[]string{"request c1 failed total=100 error=503", "request c1 ok total=1200 out=9"}},
		{"no http status but an error: timeout",
			[]string{"1 api_request ms=100 err=operation_timed_out attempt=0"},
			[]string{"request c1 failed total=100 error=0timeout"}},
		{"stream disconnected, told twice by two layers",
			[]string{"1 api_request ms=100 status=200", "5 sse_event err=stream_disconnected_before_completion", "5.1 sse_event kind=response.failed"},
			[]string{"request c1 failed total=4100 error=0disconnected"}},
		{"two streams broken seconds apart are two",
			[]string{"5 sse_event err=idle_timeout", "9 sse_event err=idle_timeout"},
			[]string{"request c1 failed error=0timeout", "request c1 failed error=0timeout"}},
		{"an item that cannot be read does not end the stream",
			[]string{"1 api_request ms=100 status=200", "2 sse_event kind=response.output_item.done err=failed_to_parse", done("3") + "out=7"},
			[]string{"request c1 ok total=2100 out=7"}},
		{"websocket request and connect that fail",
			[]string{"1 websocket_connect ms=100 status=426 success=false", "9 websocket_request ms=5 success=false err=broken_pipe"},
			[]string{"request c1 failed total=100 error=426", "request c1 failed total=5 error=0disconnected"}},
		{"a request that another one replaces was aborted",
			[]string{"1 websocket_request ms=3", "9 websocket_request ms=3", done("12") + "out=40 ttft_ms=1000"},
			[]string{"request c1 aborted", "request c1 ok ttft=1000/measured total=3003 out=40"}},
		{"a request that the log ends in",
			[]string{"1 websocket_request ms=3"},
			[]string{"dropped outside_turn"}},
		{"other endpoints are no requests",
			[]string{"1 api_request ms=100 status=200 endpoint=/models", "2 api_request ms=100 status=200 endpoint=/responses", done("4") + "out=40"},
			[]string{"request c1 ok total=2100 out=40"}},
		{"a completion without counts is only a stream event",
			[]string{"1 websocket_request ms=0", "3 sse_event kind=response.completed ms=5", done("3.001") + "out=10"},
			[]string{"request c1 ok total=2001 out=10"}},
		{"without ttft_ms the first item's time gives an estimate",
			[]string{"1 websocket_request ms=0", "2 sse_event kind=response.created", "3 sse_event kind=response.output_item.added", "4 sse_event kind=response.output_item.added", done("5") + "out=10"},
			[]string{"request c1 ok ttft=2000/estimated total=4000 out=10"}},
		{"turn TTFT: its instant, not its clock, where the start is known",
			[]string{"2 websocket_request ms=0", "4 turn_ttft ms=4000", done("8") + "out=10"},
			[]string{"request c1 ok ttft=2000/estimated visible total=6000 out=10", "turn c1 unfinished requests=1 tools=0 ttft=4000"}},
		{"turn TTFT: the turn's start stands in for the request's",
			[]string{"4 turn_ttft ms=4000", done("8") + "out=10"},
			[]string{"request c1 ok ttft=4000/estimated visible total=8000 out=10", "turn c1 unfinished requests=1 tools=0 ttft=4000"}},
		{"turn TTFT does not belong to the second request",
			[]string{"4 turn_ttft ms=4000", done("8") + "out=10", done("12") + "out=11"},
			[]string{"request c1 ok ttft=4000/estimated visible total=8000 out=10", "request c1 ok out=11", "turn c1 unfinished requests=2 tools=0 ttft=4000"}},
		{"no time at all",
			[]string{"-1 sse_event kind=response.completed out=4"}, // -1: without a time
			[]string{"dropped no_time"}},
		{"a copy seconds later with another time is another event",
			[]string{done("1") + "out=4 ttft_ms=9", done("4") + "out=4 ttft_ms=9"},
			[]string{"request c1 ok ttft=9/measured out=4", "request c1 ok ttft=9/measured out=4"}},
		{"turn between two prompts",
			[]string{"0 user_prompt", "1 websocket_request ms=0", done("3") + "out=4 ttft_ms=9", "5 tool_result ms=1500 call_id=a tool_name=shell", "6 websocket_request ms=0", done("9") + "out=5 ttft_ms=9", "60 user_prompt"},
			[]string{"request c1 ok ttft=9/measured total=2000 out=4", "request c1 ok ttft=9/measured total=3000 out=5", "turn c1 ok requests=2 tools=1 duration=9000"}},
		{"a warm-up under way at the first prompt is no turn's",
			[]string{"0 websocket_request ms=0", "1 user_prompt", done("2") + "out=0", "2 websocket_request ms=0", done("3") + "out=4", "60 user_prompt"},
			[]string{"request c1 warmup total=2000 out=0", "request c1 ok total=1000 out=4", "turn c1 ok requests=1 tools=0 duration=2000"}},
		{"a prompt in the middle of a request makes both turns uncertain",
			[]string{"0 user_prompt", "1 websocket_request ms=0", "2 user_prompt", done("3") + "out=4", "60 user_prompt"},
			[]string{"request c1 ok total=2000 out=4"}},
		{"turn by its span, a hint in it",
			[]string{"0 user_prompt", "0.1 TURN_NEW turn=t1", "1 websocket_request ms=0 turn=t1", "2 user_prompt", done("3") + "out=4", "4 tool_result ms=500 call_id=a", "4.5 TURN_CLOSE turn=t1"},
			[]string{"request c1 ok total=2000 out=4 turn=t1", "turn c1 ok requests=1 tools=1 duration=4400 id=t1"}},
		{"a turn without requests is not told",
			[]string{"0 TURN_NEW turn=t1", "4.5 TURN_CLOSE turn=t1", "6 user_prompt", "8 user_prompt"},
			nil},
		{"a turn that fails",
			[]string{"0 user_prompt", "1 api_request ms=100 status=500 attempt=0", "60 user_prompt"},
			[]string{"request c1 failed total=100 error=500", "turn c1 failed requests=1 tools=0 duration=1000"}},
		{"interrupted in its span",
			[]string{"0 TURN_NEW turn=t1", "1 websocket_request ms=0", "3 TURN_CLOSE turn=t1"},
			[]string{"request c1 aborted turn=t1", "turn c1 aborted requests=1 tools=0 duration=3000 id=t1"}},
		{"span without telemetry",
			[]string{"1 MODEL_NEW", "5 USAGE in=10 out=77", "5.001 MODEL_CLOSE", "5.002 SAMPLED", "9 SAMPLED"},
			[]string{"request c1 ok total=4001 out=77", "dropped no_time"}},
		{"span closes before its usage comes",
			[]string{"1 MODEL_NEW", "5 MODEL_CLOSE", "5.001 USAGE in=10 out=77", "5.002 SAMPLED"},
			[]string{"request c1 ok total=4000 out=77"}},
		{"only span ends are traced: busy and idle add up to the total",
			[]string{"5 MODEL_CLOSE ms=4000", "5.001 USAGE in=10 out=77"},
			[]string{"request c1 ok total=4000 out=77"}},
		{"telemetry wins over the span, whichever comes first",
			[]string{"1 MODEL_NEW", "1.1 websocket_request ms=0", done("5") + "out=4 ttft_ms=9", "5.001 MODEL_CLOSE", "11 MODEL_NEW", "11.1 websocket_request ms=0", "15 MODEL_CLOSE", done("15.001") + "out=5 ttft_ms=9", "15.1 SAMPLED"},
			[]string{"request c1 ok ttft=9/measured total=3900 out=4", "request c1 ok ttft=9/measured total=3901 out=5"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var events []Event
			for _, s := range test.events {
				e := ev(t, s)
				if strings.HasPrefix(s, "-") {
					e.Time = time.Time{}
				}
				events = append(events, e)
			}
			if got := run(events); !slices.Equal(got, test.want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// session makes the events of n requests of one conversation, in order.
func session(t testing.TB, conv string, n int, at float64) []Event {
	var events []Event
	for i := range n {
		s := at + float64(i)*20
		for _, line := range []string{
			fmt.Sprintf("%g user_prompt", s),
			fmt.Sprintf("%g websocket_request ms=%d", s+1, i%3),
			fmt.Sprintf("%g turn_ttft ms=%d", s+2, 2000),
			fmt.Sprintf("%g sse_event kind=response.completed in=%d out=%d ttft_ms=%d", s+6, 100+i, 10+i, 900),
			fmt.Sprintf("%g tool_result ms=300 call_id=%d tool_name=shell", s+7, i),
			fmt.Sprintf("%g api_request ms=100 status=200 attempt=0", s+8),
			fmt.Sprintf("%g sse_event kind=response.completed in=%d out=%d ttft_ms=%d", s+12, 100+i, 20+i, 800),
		} {
			events = append(events, ev(t, line+" conv="+conv))
		}
	}
	return events
}

func TestOrderOfCopiesDoesNotMatter(t *testing.T) {
	once := session(t, "c1", 20, 0)
	want := run(once)
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var log, behind []Event
		for _, e := range once {
			second := e
			second.Time = e.Time.Add(time.Duration(random.IntN(5)) * time.Millisecond)
			log = append(log, e)
			behind = append(behind, second)
			for len(behind) > 0 && (behind[0].Time.Before(e.Time) || random.IntN(2) == 0) { // up to a few lines later
				log = append(log, behind[0])
				behind = behind[1:]
			}
		}
		log = append(log, behind...)
		if got := run(log); !slices.Equal(got, want) {
			t.Fatalf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if n := len(want); n != 60 { // 40 requests, 20 turns
		t.Errorf("%d records, want 60", n)
	}
}

// A tool that prints the log puts its lines into it once more.
func TestLogPrintedIntoItself(t *testing.T) {
	events := session(t, "c1", 20, 0)
	want := run(events)
	later := ev(t, "1000 websocket_request ms=3")
	end := ev(t, "1005 sse_event kind=response.completed out=5 ttft_ms=9")
	got := run(slices.Concat(events, []Event{later}, events, []Event{end}))
	repeats := 0
	got = slices.DeleteFunc(got, func(s string) bool {
		if s == "dropped repeat" {
			repeats++
		}
		return s == "dropped repeat"
	})
	i := slices.Index(got, "request c1 ok ttft=9/measured total=5003 out=5")
	if i < 0 {
		t.Fatalf("the request around the printed log is not there:\n%s", strings.Join(got, "\n"))
	}
	got = slices.DeleteFunc(slices.Delete(got, i, i+1), func(s string) bool { return strings.HasPrefix(s, "turn") })
	want = slices.DeleteFunc(want, func(s string) bool { return strings.HasPrefix(s, "turn") })
	if !slices.Equal(got, want) || repeats < 38 {
		t.Errorf("%d repeats, got:\n%s\nwant:\n%s", repeats, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestInterleavedConversations(t *testing.T) {
	a, b := session(t, "a", 20, 0), session(t, "b", 20, 3.7)
	want := append(run(a), run(b)...)
	var mixed []Event
	random := rand.New(rand.NewPCG(3, 4))
	for len(a)+len(b) > 0 {
		if len(b) == 0 || len(a) > 0 && random.IntN(2) == 0 {
			mixed, a = append(mixed, a[0]), a[1:]
		} else {
			mixed, b = append(mixed, b[0]), b[1:]
		}
	}
	got := run(mixed)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestMemoryIsBounded(t *testing.T) {
	requests := 0
	x := New(record.FormatTrace, func(r record.Record) {
		if q, ok := r.(*record.Request); ok && q.Status == record.Failed {
			requests++
		}
	})
	const n = maxLive + 500
	for i := range n {
		e := ev(t, fmt.Sprintf("1 api_request ms=90 status=500 conv=c%d", i))
		x.Add(&e)
	}
	if len(x.live) != maxLive || x.age.Len() != maxLive || requests != 500 {
		t.Errorf("%d conversations live, %d in age, %d failures told; want %d, %d, 500", len(x.live), x.age.Len(), requests, maxLive, maxLive)
	}
	e := ev(t, "999999 user_prompt")
	x.Add(&e)
	if len(x.live) != 1 || requests != n {
		t.Errorf("after days: %d live, %d told; want 1, %d", len(x.live), requests, n)
	}
}

func TestFields(t *testing.T) {
	var names intern.Table
	set := func(pairs ...string) Event {
		var e Event
		for i := 0; i < len(pairs); i += 2 {
			e.Field(&names, []byte(pairs[i]), []byte(pairs[i+1]))
		}
		return e
	}
	t.Run("the first of several counts", func(t *testing.T) {
		e := set("duration_ms", "3", "duration_ms", "900", "output_token_count", "5", "output_token_count", "6", "conversation.id", "a", "conversation.id", "b")
		if e.Duration != 3*time.Millisecond || e.Output != record.Count(5) || e.Conversation != "a" {
			t.Errorf("got %+v", e)
		}
	})
	t.Run("optional values", func(t *testing.T) {
		if e := set("cached_token_count", "Some(80)", "reasoning_effort", `Some("high")`); e.Cached != record.Count(80) || e.Effort != "high" {
			t.Errorf("got %+v", e)
		}
	})
	for _, v := range []string{"", "-1", "None", "null", "NaN", "1e400", "99999999999999999999999999", "12x", "."} {
		t.Run("no number: "+v, func(t *testing.T) {
			if e := set("output_token_count", v, "ttft_ms", v, "duration_ms", v); e.Output.Known || e.HasTTFT || e.HasDuration {
				t.Errorf("got %+v", e)
			}
		})
	}
	t.Run("nothing private is kept", func(t *testing.T) {
		e := set("user.email", "me@example.org", "user.account_id", "acc-1", "prompt", "secret", "output", "secret", "arguments", "secret", "error.message", "secret")
		if s := fmt.Sprintf("%+v", e); strings.Contains(s, "example") || strings.Contains(s, "acc-1") || strings.Contains(s, "secret") {
			t.Errorf("kept: %s", s)
		}
	})
}

func TestElements(t *testing.T) {
	for _, test := range []struct {
		in    string
		want  []string
		whole bool
	}{
		{`[]`, nil, true},
		{`[1, "a,]" ,{"b":[1,2]}]`, []string{"1", `"a,]"`, `{"b":[1,2]}`}, true},
		{`["a\"]\\", 2]`, []string{`"a\"]\\"`, "2"}, true},
		{`[{"a":1},{"b":`, []string{`{"a":1}`, `{"b":`}, false},
		{`["a`, []string{`"a`}, false},
		{`[}`, nil, false},
		{`{}`, nil, false},
		{``, nil, false},
	} {
		t.Run(test.in, func(t *testing.T) {
			var got []string
			whole := Elements([]byte(test.in), func(b []byte) { got = append(got, strings.TrimSpace(string(b))) })
			if !slices.Equal(got, test.want) || whole != test.whole {
				t.Errorf("got %q, %v; want %q, %v", got, whole, test.want, test.whole)
			}
		})
	}
}
