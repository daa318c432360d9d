package metrics

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"codexlag/analyze"
	"codexlag/parse/record"
)

func observed(requests ...*record.Request) *Metrics {
	o := analyze.DefaultOptions()
	m := New(&o, "v0 (test)")
	for _, r := range requests {
		m.Observe(analyze.NewRequest(r, &o))
	}
	return m
}

func (m *Metrics) text(t *testing.T) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

func ok(model string, ttft, total time.Duration, tokens int64, q record.Quality) *record.Request {
	return &record.Request{Model: model, TTFT: ttft, Total: total, Output: record.Count(tokens), Quality: q}
}

// What counts where is what metrics.md and the report say.
func TestObserve(t *testing.T) {
	const s = time.Second
	failed := ok("m", s, 2*s, 900, record.Measured)
	failed.Status = record.Failed
	warm := ok("m", s, 2*s, 0, record.Measured)
	warm.Status = record.Warmup
	for _, c := range []struct {
		name                              string
		r                                 *record.Request
		ttft, tpot, duration, tokens, slo int
		part                              string
	}{
		{"clean", ok("m", s, 21*s, 1000, record.Measured), 1, 1, 1, 1, 1, "prefill"},
		{"few tokens", ok("m", s, 2*s, 30, record.Estimated), 1, 0, 1, 1, 1, "decode"},
		{"upper bound", ok("m", s, 21*s, 1000, record.Bound), 0, 0, 1, 1, 1, "unsplit"},
		{"in one piece", ok("m", 21*s, 21*s, 1000, record.Measured), 0, 0, 1, 1, 1, "unsplit"},
		{"no TTFT", ok("m", 0, 21*s, 1000, record.None), 0, 0, 1, 1, 1, "unsplit"},
		{"no total", ok("m", s, 0, 1000, record.Measured), 1, 0, 0, 1, 1, ""},
		{"first token after the end", ok("m", 3*s, 2*s, 1000, record.Measured), 0, 0, 0, 1, 1, ""},
		{"failed", failed, 0, 0, 0, 0, 1, ""},
		{"warm-up", warm, 0, 0, 0, 0, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := observed(c.r)
			text := m.text(t)
			for name, want := range map[string]int{
				"gen_ai_server_time_to_first_token_seconds_count":   c.ttft,
				"gen_ai_server_time_per_output_token_seconds_count": c.tpot,
				"gen_ai_client_operation_duration_seconds_count":    c.duration,
				"gen_ai_client_token_usage_count":                   c.tokens,
				"codexlag_slo_requests_total":                       c.slo,
				"codexlag_requests_total":                           1,
			} {
				if got := strings.Count(text, "\n"+name+"{"); got != want {
					t.Errorf("%d series of %s, want %d", got, name, want)
				}
			}
			if got := strings.Contains(text, `codexlag_request_time_seconds_total{model="m",part="`+c.part); got != (c.part != "") {
				t.Errorf("time not under %q:\n%s", c.part, text)
			}
		})
	}
}

func TestObserveTurn(t *testing.T) {
	m := observed()
	m.ObserveTurn(nil)
	m.ObserveTurn(&analyze.LiveTurns{Count: 1, Prefill: 1000, Tool: 2500})
	text := m.text(t)
	for _, want := range []string{"\ncodexlag_turns_total 1\n", `{part="prefill"} 1` + "\n", `{part="tools"} 2.5` + "\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q in\n%s", want, text)
		}
	}
}

// However many models a log names, and however, the series stay few and sound.
func TestModelsAreBounded(t *testing.T) {
	m := observed(ok("", time.Second, 9*time.Second, 900, record.Measured), ok("bad\xff\n\"name", time.Second, 9*time.Second, 900, record.Measured),
		ok(strings.Repeat("ä", 5000), time.Second, 9*time.Second, 900, record.Measured))
	o := analyze.DefaultOptions()
	for i := range 3 * MaxModels {
		m.Observe(analyze.NewRequest(ok(fmt.Sprint("model ", i), time.Second, 9*time.Second, 900, record.Measured), &o))
	}
	if n := testutil.CollectAndCount(m.requests); n != MaxModels+2 {
		t.Errorf("%d series of requests, want %d models, other and unknown", n, MaxModels)
	}
	text := m.text(t)
	for _, want := range []string{`model="other"`, `model="unknown"`} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %s", want)
		}
	}
	for line := range strings.Lines(text) {
		if len(line) > 400 {
			t.Errorf("line of %d bytes: %.80s…", len(line), line)
		}
	}
}

// The names are those that Prometheus' own linter asks for.
func TestNames(t *testing.T) {
	m := observed(ok("m", time.Second, 9*time.Second, 900, record.Measured))
	m.ObserveTurn(&analyze.LiveTurns{Count: 1, Prefill: 1})
	problems, err := testutil.GatherAndLint(m.registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if !bytes.Contains([]byte(m.text(t)), []byte(`codexlag_build_info{version="v0 (test)"} 1`)) {
		t.Error("lacks the version")
	}
}
